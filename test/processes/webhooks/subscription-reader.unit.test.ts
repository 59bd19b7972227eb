import { expect, it } from 'vitest'
import { createSubscriptionReader } from '../../../processes/webhooks/subscription-reader.ts'
import type { DomainEvent, Loaded, Target } from '../../../engine/store/events.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { ids } from '../../streams/facts.ts'
import { subscriptionFact } from '../../streams/webhook-facts.ts'

/** A store whose reads the test answers one by one, with the events of that time. */
function storeOf() {
  const log: DomainEvent[] = [subscriptionFact('WebhookSubscribed')]
  const reads: { readonly stream: string; readonly seen: number; readonly end: PromiseWithResolvers<void> }[] = []
  return {
    log,
    reads,
    load: async <State, Event extends DomainEvent>({
      fold: { initialState, evolve },
      stream,
    }: Target<State, Event>): Promise<Loaded<State>> => {
      const seen = log.length
      const end = Promise.withResolvers<void>()
      reads.push({ stream, seen, end })
      await end.promise
      const state = (log.slice(0, seen) as Event[]).reduce(evolve, initialState)
      return { state, revision: BigInt(seen - 1), position: undefined }
    },
  }
}

it('answers with the state at the call, or a later one', async () => {
  const store = storeOf()
  const reader = createSubscriptionReader(store)
  const first = reader.read(ids.org, ids.subscription)
  store.log.push(subscriptionFact('WebhookSubscriptionDisabled'))
  const second = reader.read(ids.org, ids.subscription)
  store.reads[0]?.end.resolve()
  expect((await first)?.status).toBe('active')
  store.reads[1]?.end.resolve()
  expect((await second)?.status).toBe('disabled')
})

it('reads once for all calls during another read, and once per organisation', async () => {
  const store = storeOf()
  const reader = createSubscriptionReader(store)
  const asked = Array.from({ length: 20 }, () => reader.read(ids.org, ids.subscription))
  const other = reader.read(ids.otherOrg, ids.subscription)
  expect(store.reads.map(({ stream }) => stream)).toEqual([
    webhookSubscriptions.of(ids.org).stream,
    webhookSubscriptions.of(ids.otherOrg).stream,
  ])
  store.reads[0]?.end.resolve()
  await asked[0]
  store.reads[2]?.end.resolve()
  expect(await Promise.all(asked)).toHaveLength(20)
  expect(store.reads).toHaveLength(3)
  store.reads[1]?.end.resolve()
  await other
})

it('reads again after a read that failed', async () => {
  const store = storeOf()
  const reader = createSubscriptionReader(store)
  const failing = reader.read(ids.org, ids.subscription)
  const following = reader.read(ids.org, ids.subscription)
  store.reads[0]?.end.reject(new Error('away'))
  await expect(failing).rejects.toThrow('away')
  store.reads[1]?.end.resolve()
  expect((await following)?.subscriptionId).toBe(ids.subscription)
})

it('returns no deleted subscription', async () => {
  const store = storeOf()
  store.log.push(subscriptionFact('WebhookSubscriptionDeleted'))
  const asked = createSubscriptionReader(store).read(ids.org, ids.subscription)
  store.reads[0]?.end.resolve()
  expect(await asked).toBeUndefined()
})
