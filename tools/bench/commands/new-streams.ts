import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startBenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'
import { assessmentRequests, eventsOfRequest, inFlight } from './assessments.ts'

/**
 * Compares requests with bare appends of the same events. The difference is the cost of token, validation,
 * Idempotency-Key and decision.
 */
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
      const events = await eventsOfRequest(platform, requests)
      const bare = async () =>
        (await driver.run({ kind: 'append', url: platform.eventStoreUrl, events, count, inFlight })).perSecond
      await compare(
        single({
          goalNumber: '1',
          name: `POST /assessments, ${inFlight} in flight`,
          unit: 'per second',
          ours: { name: 'platform', measure: async () => (await driver.run(requests)).perSecond },
          other: { name: 'bare append', measure: bare },
          goal: atLeast(0.55, { reached: 0.18 }),
        }),
      )
    })
  },
}
