import { freePort } from '../../../embedded/children/free-port.ts'
import { createApiClient } from '../../../test/support/raw-api.ts'
import { expecting } from '../../../test/support/main-job.ts'
import { bearerOf } from '../commands/assessments.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startWebhookWorld, subscribed, until, type WebhookWorld } from './filling.ts'

/**
 * A hanging attempt is cancelled once its lease is over. At most this many may be left when the others are measured
 * alone.
 */
const mostHanging = 2 * subscribed.length

/**
 * The loss of deliveries to four endpoints when another endpoint accepts nothing. The full form also has as many such
 * endpoints as others.
 */
export const deadEndpoint: Benchmark = {
  name: 'dead-endpoint',
  goals: ['15'],
  about: 'webhook deliveries beside an endpoint that hangs, or that is not there, over without',
  run: async ({ quick }, { compare }) => {
    const assessments = quick ? 50 : 1_000
    await withScope(async (scope) => {
      const world = await startWebhookWorld(scope)
      await world.deliver(quick ? 50 : 500)
      const kinds = [
        { kind: 'that hangs', base: `${world.receiverUrl}/hang` },
        { kind: 'behind a closed port', base: `http://127.0.0.1:${await freePort()}` },
      ]
      const numbers = [
        { number: 1, name: 'beside an endpoint', goal: atLeast(0.95, { reached: 0.7 }) },
        { number: subscribed.length, name: `beside ${subscribed.length} endpoints`, goal: { kind: 'none' } as const },
      ]
      const cases = numbers.slice(0, quick ? 1 : 2).flatMap((each) => kinds.map((kind) => ({ ...each, ...kind })))
      for (const { number, name, goal, kind, base } of cases) {
        const dead = await switchable(
          world,
          subscribed.slice(0, number).map((path) => `${base}${path}/of-${number}`),
        )
        const figure = {
          name: `webhooks delivered to ${subscribed.length} endpoints, ${name} ${kind}`,
          unit: 'per second',
          goal,
        }
        await compare({
          goal: '15',
          figures: [figure],
          ours: { name: 'beside it', measure: async () => [await dead.during(() => world.deliver(assessments))] },
          other: { name: 'alone', measure: async () => [await world.deliver(assessments)] },
          ...(quick ? { rounds: 2 } : {}),
        })
      }
    })
  },
}

/** Creates subscriptions that are active only during a measurement. Nothing of them is pending afterwards. */
async function switchable(world: WebhookWorld, urls: readonly string[]) {
  const { platform, subscribe, waiting } = world
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const ids = await Promise.all(urls.map(subscribe))
  const become = async (status: 'active' | 'disabled'): Promise<void> => {
    for (const id of ids)
      await expecting(
        200,
        api.call(`/v1/clinical-api/webhook-subscriptions/${id}`, { method: 'PATCH', body: { status } }),
      )
  }
  const isQuiet = async () => (await waiting(['deliver'])) === 0 && (await waiting(['cancel'])) <= mostHanging
  await become('disabled')
  return {
    during: async (work: () => Promise<number>): Promise<number> => {
      await become('active')
      try {
        return await work()
      } finally {
        await become('disabled')
        await until(isQuiet, 'pending deliveries were not cancelled')
      }
    },
  }
}
