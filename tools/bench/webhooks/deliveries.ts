import { webhookDeliveries as deliveryStreams } from '../../../streams/webhook-delivery/aggregate.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { installPeers } from '../harness/install-peers.ts'
import { withScope } from '../harness/scope.ts'
import type { Webhook } from '../load/jobs.ts'
import type { BenchPlatform } from '../load/platform.ts'
import { startDriver, startGraphile } from '../load/start-driver.ts'
import { storedEvents } from '../load/stored-events.ts'
import { inFlight, startWebhookWorld, subscribed, type WebhookWorld } from './filling.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

/**
 * The cost of deliveries that are durable, signed, recorded and made once. The other sides include a queue of jobs on
 * Postgres.
 */
export const webhookDeliveries: Benchmark = {
  name: 'deliveries',
  goals: ['15'],
  about:
    'durable webhook deliveries over bare posts, over graphile-worker posting the same, and over bare posts between two bare appends',
  run: async ({ quick }, { compare }) => {
    const assessments = quick ? 60 : 1_500
    // The other sides take the same time for more webhooks. The measurement must contain whole batches of jobs.
    const count = quick ? 2_500 : 40_000
    await installPeers()
    await withScope(async (scope) => {
      const world = await startWebhookWorld(scope)
      const driver = await scope.started(startDriver())
      const graphile = await scope.started(startGraphile())
      const databaseUrl = await world.platform.otherDatabase('graphile')
      const loggedUrl = await world.platform.otherDatabase('graphile_logged')
      await world.deliver(quick ? 50 : 500)
      const { sample } = await world.receiver.run({ kind: 'arrived', count: (quick ? 50 : 500) * subscribed.length })
      const posts = { baseUrl: world.receiverUrl, paths: subscribed, sample, count, inFlight }
      const figure = { name: `webhooks delivered, ${inFlight} in flight`, unit: 'per second' }
      const ours = { name: 'platform', measure: () => world.deliver(assessments) }
      const shown = { kind: 'none' } as const
      const others = [
        { name: 'bare posts', goal: shown, send: () => driver.run({ kind: 'posts', ...posts }) },
        {
          name: 'graphile-worker',
          goal: shown,
          send: () => graphile.run({ kind: 'peer-deliveries', databaseUrl, keepsLog: false, ...posts }),
        },
        {
          name: 'graphile-worker with a log of attempts',
          goal: atLeast(0.5, { reached: 0.15 }),
          send: () => graphile.run({ kind: 'peer-deliveries', databaseUrl: loggedUrl, keepsLog: true, ...posts }),
        },
      ]
      // The quick form needs no figures without a goal.
      for (const { name, goal, send } of others.filter((other) => !quick || other.goal !== shown)) {
        const other = { name, measure: () => received(world, count, send) }
        await compare(single({ goalNumber: '15', ...figure, ours, other, goal }))
      }
      const appends = await appendsOf(world.platform, sample)
      await compare(
        single({
          goalNumber: '15',
          ...figure,
          ours,
          other: {
            name: 'bare posts between two bare appends',
            measure: () =>
              received(world, count / 4, () =>
                driver.run({ kind: 'durable-posts', appends, ...posts, count: count / 4 }),
              ),
          },
          goal: atLeast(0.5, { reached: 0.2 }),
        }),
      )
    })
  },
}

/** The events in the stream of a delivery that succeeded at its first attempt, before and after the post. */
async function appendsOf({ eventStoreUrl: url, credentials }: BenchPlatform, { headers }: Webhook) {
  const stream = deliveryStreams.of(tenantOfFact(credentials.org_id), headers['webhook-id'] ?? '').stream
  const events = await storedEvents(url, stream)
  const begin = events.slice(0, 2)
  const end = events.slice(2)
  if (begin.length !== 2 || end.length !== 1)
    throw new Error(`a delivery at its first attempt has ${events.length} events`)
  return { url, begin, end }
}

/** Deliveries per second by arrival, as for the platform. */
async function received({ receiver }: WebhookWorld, count: number, send: () => Promise<unknown>): Promise<number> {
  await receiver.run({ kind: 'begin' })
  await send()
  const { perSecond, repeated } = await receiver.run({ kind: 'arrived', count })
  if (repeated > 0) throw new Error(`${repeated} webhooks arrived twice`)
  return perSecond
}
