import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { installPeers } from '../harness/install-peers.ts'
import { withScope } from '../harness/scope.ts'
import { startDriver, startGraphile } from '../load/start-driver.ts'
import { inFlight, startWebhookWorld, subscribed, type WebhookWorld } from './filling.ts'

/** What it costs that a delivery is durable, signed, recorded and made once; and what a queue of jobs on Postgres would do. */
export const webhookDeliveries: Benchmark = {
  name: 'deliveries',
  goals: ['15'],
  about: 'durable webhook deliveries over bare posts, and over graphile-worker posting the same',
  run: async ({ quick }, { compare }) => {
    const assessments = quick ? 100 : 5_000
    // The other sides take the same time for more: batches of jobs have to come to an end within what is measured.
    const count = quick ? 4_000 : 40_000
    await installPeers()
    await withScope(async (scope) => {
      const world = await startWebhookWorld(scope)
      const driver = await scope.started(startDriver())
      const graphile = await scope.started(startGraphile())
      const databaseUrl = await world.platform.otherDatabase('graphile')
      await world.deliver(quick ? 50 : 500)
      const { sample } = await world.receiver.run({ kind: 'arrived', count: (quick ? 50 : 500) * subscribed.length })
      const posts = { baseUrl: world.receiverUrl, paths: subscribed, sample, count, inFlight }
      const figure = { name: `webhooks delivered, ${inFlight} in flight`, unit: 'per second' }
      const ours = { name: 'platform', measure: () => world.deliver(assessments) }
      await compare(
        single({
          goalNumber: '15',
          ...figure,
          ours,
          other: { name: 'bare posts', measure: () => received(world, count, () => driver.run({ kind: 'posts', ...posts })) },
          goal: atLeast(0.25, { reached: 0.015 }),
        }),
      )
      await compare(
        single({
          goalNumber: '15',
          ...figure,
          ours,
          other: { name: 'graphile-worker', measure: () => received(world, count, () => graphile.run({ kind: 'peer-deliveries', databaseUrl, ...posts })) },
          goal: atLeast(1, { reached: 0.05 }),
        }),
      )
    })
  },
}

/** By when they arrived, as ours are measured. */
async function received({ receiver }: WebhookWorld, count: number, send: () => Promise<unknown>): Promise<number> {
  await receiver.run({ kind: 'begin' })
  await send()
  const { perSecond, repeated } = await receiver.run({ kind: 'arrived', count })
  if (repeated > 0) throw new Error(`${repeated} webhooks came again`)
  return perSecond
}
