import type { Benchmark } from '../harness/benchmark.ts'
import { atMost } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { assessmentRequests, eventsOfRequest } from '../commands/assessments.ts'
import type { BareVisibleJob, VisibleJob } from '../load/jobs.ts'
import { startBenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'

/**
 * Time from the 202 until the record is readable, at half of the largest rate of requests and reads. It is the time to
 * the answer of a waiting GET. The other side is a subscription and one transaction at the same rate, without the
 * platform.
 */
export const visibleAfter: Benchmark = {
  name: 'visible',
  goals: ['13'],
  about: 'acknowledged → visible at half load over bare subscription delivery and one Postgres transaction',
  run: async ({ quick }, { compare }) => {
    const seconds = quick ? 1.5 : 15
    await withScope(async ({ folder, started }) => {
      const platform = await started(startBenchPlatform({ folder, roles: ['api', 'projector'] }))
      const driver = await started(startDriver())
      const requests = await assessmentRequests(platform, quick ? 500 : 5_000)
      const readPath = '/v1/clinical-api/assessments/{id}'
      const atOnce: VisibleJob = { kind: 'visible', requests, readPath, perSecond: Infinity }
      await driver.run(atOnce)
      const perSecond = (await driver.run(atOnce)).perSecond / 2
      const count = Math.max(10, Math.round(perSecond * seconds))
      const events = await eventsOfRequest(platform, requests)
      const databaseUrl = await platform.otherDatabase('bare')
      const visible: VisibleJob = { ...atOnce, requests: { ...requests, count }, perSecond }
      const append = { kind: 'append', url: platform.eventStoreUrl, events, count, inFlight: 1 } as const
      const bare: BareVisibleJob = { kind: 'bare-visible', append, databaseUrl, perSecond }
      const both = ({ p50, p99 }: { readonly p50: number; readonly p99: number }) => [p50, p99]
      const name = `acknowledged → visible at ${perSecond.toFixed(0)} per second`
      await compare({
        goal: '13',
        figures: [
          { name: `${name}, p50`, unit: 'ms', goal: atMost(2, { reached: 18 }) },
          { name: `${name}, p99`, unit: 'ms', goal: atMost(4, { reached: 25 }) },
        ],
        ours: { name: 'GET', measure: async () => both(await driver.run(visible)) },
        other: { name: 'subscription and transaction', measure: async () => both(await driver.run(bare)) },
      })
    })
  },
}
