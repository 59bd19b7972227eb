import { Type } from 'typebox'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createCatalogue } from '../../../engine/store/catalogue.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { DomainEvent, Fold } from '../../../engine/store/events.ts'
import { defineEvent } from '../../../engine/store/schema.ts'
import { webhookSubscriptionEvents } from '../../../streams/webhook-subscriptions/events.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { keyed, openSubscriptionApi, url, type SubscriptionApi } from './subscription-api.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

const { WebhookSubscriptionDisabled } = webhookSubscriptionEvents
const nextVersion = createCatalogue([
  {
    category: webhookSubscriptions.category,
    events: {
      ...webhookSubscriptionEvents,
      WebhookSubscriptionPraised: defineEvent(
        'WebhookSubscriptionPraised',
        Type.Object({ subscriptionId: Type.String() }),
      ),
      WebhookSubscriptionDisabled: {
        ...WebhookSubscriptionDisabled,
        version: WebhookSubscriptionDisabled.version + 1,
        upcasters: { [WebhookSubscriptionDisabled.version]: (data) => data },
      },
    },
  },
])
const counting: Fold<number, DomainEvent> = {
  category: webhookSubscriptions.category,
  initialState: 0,
  evolve: (count) => count + 1,
}

let api: SubscriptionApi
let newer: EventStore
beforeAll(async () => {
  api = await openSubscriptionApi()
  newer = await api.world.storeOf(nextVersion)
})
beforeEach(() => api.as())
afterAll(() => api.close())

/** Number of events in the organisation's stream after a process of the next version has added one. */
async function written(event: DomainEvent): Promise<number> {
  const stream = webhookSubscriptions.of(tenantOfFact(api.orgId)).stream
  const { revision } = await newer.load({ fold: counting, stream })
  await newer.append({ fold: counting, stream }, revision, [event], contextOf({ orgId: tenantOfFact(api.orgId) }))
  return recorded()
}

async function recorded(): Promise<number> {
  return (await newer.load({ fold: counting, stream: webhookSubscriptions.of(tenantOfFact(api.orgId)).stream })).state
}

it.each([
  ['an unknown type', 'WebhookSubscriptionPraised', {}],
  [
    'a newer version of a known type',
    'WebhookSubscriptionDisabled',
    { reason: 'requested', disabledAt: '2026-03-01T10:00:00.000Z' },
  ],
])('an instance that reads %s refuses to write', async (_, type, more) => {
  const {
    record: { id },
  } = await api.subscribe()
  const events = await written({ type, data: { subscriptionId: id, ...more } })
  const refused = [
    await api.subscribe({ url: `${url}/other` }, keyed('key')),
    await api.call('PATCH', `/${id}`, { description: 'mine' }),
    await api.call('DELETE', `/${id}`),
    await api.rotate(id),
  ]
  for (const { status, code, retryAfter } of refused)
    expect([status, code, retryAfter]).toEqual([503, 'written-by-newer-version', '2'])
  expect(await recorded()).toBe(events)
})
