import { textAt } from '../../../app/demo/members.ts'
import { createApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { bearerOf } from '../commands/assessments.ts'
import { gets, type SelectJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'

const inFlight = 16
const cases = 500

/** Compares a GET with a select of the row that answers it. */
export const readById: Benchmark = {
  name: 'get-by-id',
  goals: ['12'],
  about: 'GET by id over a select by primary key from Node.js, 16 connections',
  run: async ({ quick }, { compare }) => {
    const count = quick ? 1_000 : 20_000
    await withScope(async ({ folder, started }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'] }))
      const driver = await started(startDriver())
      const ids = await openCases(platform)
      const requests = gets({
        baseUrl: platform.baseUrl,
        paths: ids.map((id) => `/v1/clinical-api/cases/${id}`),
        headers: platform.headers,
        count,
        inFlight,
      })
      const sql = 'select * from cases.cases where case_id = $1'
      const selects: SelectJob = { kind: 'select', databaseUrl: platform.databaseUrl, sql, ids, count, inFlight }
      await compare(
        single({
          goalNumber: '12',
          name: `GET /cases/{id}, ${inFlight} connections`,
          unit: 'per second',
          ours: { name: 'platform', measure: async () => (await driver.run(requests)).perSecond },
          other: { name: 'select', measure: async () => (await driver.run(selects)).perSecond },
          goal: atLeast(0.3, { reached: 0.28 }),
        }),
      )
    })
  },
}

/** Opens cases and waits until the row of each exists. */
async function openCases(platform: BenchPlatform): Promise<readonly string[]> {
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const patient = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' }
  const { body: registered } = await expecting(201, api.call('/v1/clinical-api/patients', { body: patient }))
  const ids: string[] = []
  for (let number = 0; number < cases; number += 1) {
    const body = { patient_id: textAt(registered, 'id'), external_reference: `bench-${number}` }
    const headers = number === cases - 1 ? {} : { prefer: 'respond-async' }
    ids.push(textAt((await expecting(201, api.call('/v1/clinical-api/cases', { body, headers }))).body, 'id'))
  }
  return ids
}
