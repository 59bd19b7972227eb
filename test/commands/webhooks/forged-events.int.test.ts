import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { keyed, openSubscriptionApi, url, type SubscriptionApi } from './subscription-api.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

let api: SubscriptionApi
beforeAll(async () => {
  api = await openSubscriptionApi()
})
afterAll(() => api.close())

it('a record with a replayed event accepts no command: 500 with its own code, and nothing is recorded', async () => {
  api.as()
  const {
    record: { id },
  } = await api.subscribe()
  const stream = webhookSubscriptions.of(tenantOfFact(api.orgId)).stream
  const client = EventStoreDBClient.connectionString(api.world.url)
  const types: string[] = []
  try {
    for await (const { event } of client.readStream(stream)) {
      if (event?.isJson !== true) throw new Error('an event of ours is JSON')
      const { id: eventId, type, data, metadata, revision } = event
      await client.appendToStream(
        stream,
        jsonEvent({ id: eventId, type, data, ...(metadata === undefined ? {} : { metadata }) }),
        { expectedRevision: revision },
      )
      break
    }
    const refused = [
      await api.subscribe({ url: `${url}/other` }, keyed('key')),
      await api.call('PATCH', `/${id}`, { description: 'mine' }),
      await api.call('DELETE', `/${id}`),
    ]
    for (const { status, code } of refused) expect([status, code]).toEqual([500, 'record-unreadable'])
    for await (const { event } of client.readStream(stream)) types.push(event?.type ?? '')
  } finally {
    await client.dispose()
  }
  expect(types).toEqual(['WebhookSubscribed', 'WebhookSubscribed'])
})
