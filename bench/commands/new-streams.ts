import { createApiClient, textAt } from '../../platform/demo/api-client.ts'
import { expectStatus } from '../../platform/demo/steps.ts'
import { assessmentStream } from '../../streams/assessment/stream.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import type { AppendJob, HttpJob } from '../load/jobs.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'
import { storedEvents } from '../load/stored-events.ts'
import { assessmentRequests, inFlight } from './assessments.ts'

/** What token, validation, Idempotency-Key and the decision cost: requests over bare appends of the very same events. */
export const commandsOnNewStreams: Benchmark = {
  name: 'new-streams',
  goals: ['1'],
  about: 'POST → 202 on new streams over bare appends of the same events',
  run: async ({ quick }, { compare }) => {
    const count = quick ? 1_000 : 10_000
    await withScope(async ({ folder, started }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api'] }))
      const driver = await started(startDriver())
      const requests = await assessmentRequests(platform, count)
      const appends = await sameAppends(platform, requests)
      await compare(
        single({
          goalNumber: '1',
          name: `POST /assessments, ${inFlight} in flight`,
          unit: 'per second',
          ours: { name: 'platform', measure: async () => (await driver.run(requests)).perSecond },
          other: { name: 'bare append', measure: async () => (await driver.run(appends)).perSecond },
          goal: atLeast(0.55),
        }),
      )
    })
  },
}

async function sameAppends(platform: BenchPlatform, { headers, bodies, paths, count }: HttpJob): Promise<AppendJob> {
  const api = createApiClient(platform.baseUrl, headers['authorization']?.slice('Bearer '.length) ?? '')
  const body: unknown = JSON.parse(bodies[0] ?? '')
  const { body: record } = await expectStatus(202, api.call(paths[0] ?? '', { body, headers: { prefer: 'respond-async', 'idempotency-key': 'the-sample' } }))
  const stream = assessmentStream(platform.credentials.org_id, textAt(record, 'id'))
  return { kind: 'append', url: platform.eventStoreUrl, events: await storedEvents(platform.eventStoreUrl, stream), count, inFlight }
}
