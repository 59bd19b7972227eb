import { freePort } from '../../embedded/children/free-port.ts'
import { createApiClient } from '../../platform/demo/api-client.ts'
import { expectStatus } from '../../platform/demo/steps.ts'
import { bearerOf } from '../commands/assessments.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startWebhookWorld, subscribed, until, type WebhookWorld } from './filling.ts'

/** Attempts that hang are cancelled once their lease is over: so many may still be there when the others are measured alone. */
const mostHanging = 2 * subscribed.length

/** What deliveries to one receiver lose by another one that takes nothing, when every other row is of that one. */
export const deadEndpoint: Benchmark = {
  name: 'dead-endpoint',
  goals: ['15'],
  about: 'webhook deliveries beside as many to a receiver that hangs, or that is not there, over without',
  run: async ({ quick }, { compare }) => {
    const assessments = quick ? 75 : 2_500
    await withScope(async (scope) => {
      const world = await startWebhookWorld(scope)
      await world.deliver(quick ? 50 : 500)
      const kinds = [
        { kind: 'a receiver that hangs', base: `${world.receiverUrl}/hang` },
        { kind: 'a closed port', base: `http://127.0.0.1:${await freePort()}` },
      ]
      for (const { kind, base } of kinds) {
        const dead = await switchable(world, subscribed.map((path) => `${base}${path}`))
        const figure = { name: `webhooks delivered beside as many to ${kind}`, unit: 'per second', goal: atLeast(0.95, { reached: 0.7 }) }
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

/** Subscriptions that are active only while something is measured, and of which nothing is pending afterwards. */
async function switchable(world: WebhookWorld, urls: readonly string[]) {
  const { platform, subscribe, waiting } = world
  const api = createApiClient(platform.baseUrl, bearerOf(platform))
  const ids = await Promise.all(urls.map(subscribe))
  const become = async (status: 'active' | 'disabled'): Promise<void> => {
    for (const id of ids) await expectStatus(200, api.call(`/v1/clinical-api/webhook-subscriptions/${id}`, { method: 'PATCH', body: { status } }))
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
        await until(isQuiet, 'what was pending was not cancelled')
      }
    },
  }
}
