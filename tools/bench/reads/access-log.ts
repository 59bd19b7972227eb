import { textAt } from '../../../app/demo/members.ts'
import { serviceClientOf } from '../../../app/credentials.ts'
import { createApiClient, requestToken } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { bearerOf } from '../commands/assessments.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { gets, type HttpJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'

const inFlight = 16
const cases = 200

/**
 * A GET by id that is recorded over one that is not. The service client's look-ups of cases are no accesses. Without a
 * window each answer is recorded, as if each showed another patient.
 */
export const accessLog: Benchmark = {
  name: 'access-log',
  goals: ['36'],
  about: 'GET by id with the access log over without, 16 connections: other patients each time, and the same ones',
  run: async ({ quick }, { compare }) => {
    const count = quick ? 2_000 : 20_000
    for (const { patients, window, goal } of [
      { patients: 'other patients each time', window: '0', goal: atLeast(0.6, { reached: 0.43 }) },
      { patients: 'the same patients', window: '3600', goal: atLeast(0.97) },
    ])
      await withScope(async ({ folder, started }) => {
        const env = { ACCESS_LOG_WINDOW_SECONDS: window }
        const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'], env }))
        const driver = await started(startDriver())
        const paths = (await openCases(platform)).map(
          (id) => `/v1/clinical-api/cases/${id}?org_id=${platform.credentials.org_id}`,
        )
        const requests = (headers: HttpJob['headers']) =>
          gets({
            baseUrl: platform.baseUrl,
            paths,
            headers,
            count,
            inFlight,
          })
        const own = await serviceHeaders(platform)
        await compare(
          single({
            goalNumber: '36',
            name: `GET /cases/{id}, ${patients}, ${inFlight} connections`,
            unit: 'per second',
            ours: { name: 'recorded', measure: async () => (await driver.run(requests(platform.headers))).perSecond },
            other: { name: 'not recorded', measure: async () => (await driver.run(requests(own))).perSecond },
            goal,
          }),
        )
      })
  },
}

async function serviceHeaders({ baseUrl, credentials }: BenchPlatform): Promise<HttpJob['headers']> {
  const { body } = await requestToken(baseUrl, serviceClientOf(credentials))
  return { authorization: `Bearer ${textAt(body, 'access_token')}` }
}

/** A case of a patient each, when the row of each exists. */
async function openCases(platform: BenchPlatform): Promise<readonly string[]> {
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const ids: string[] = []
  for (let number = 0; number < cases; number += 1) {
    const patient = { given_name: 'Ada', family_name: `Example ${number}`, dob: '1980-02-29' }
    const { body: registered } = await expecting(201, api.call('/v1/clinical-api/patients', { body: patient }))
    const body = { patient_id: textAt(registered, 'id'), external_reference: `bench-${number}` }
    ids.push(textAt((await expecting(201, api.call('/v1/clinical-api/cases', { body }))).body, 'id'))
  }
  return ids
}
