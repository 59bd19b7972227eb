import { expect, it } from 'vitest'
import { publicEvents } from '../../../engine/relay/envelope.ts'
import { webhookChannel } from '../../../processes/webhooks/webhooks.channel.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { recorded } from '../../support/given-projector.ts'
import { at, ids } from '../../streams/facts.ts'
import { subscriptionFact } from '../../streams/webhook-facts.ts'
import { storeOf } from '../../support/store-of.ts'

/** The events that the relay appends for one fact. */
async function published(...[type, changes]: Parameters<typeof subscriptionFact>) {
  const [event] = recorded([
    {
      ...subscriptionFact(type, changes),
      stream: webhookSubscriptions.of(ids.org).stream,
      metadata: { orgId: ids.org },
    },
  ])
  if (event === undefined) throw new Error('nothing was recorded')
  const outputs = (await webhookChannel.translate[type]?.(event, { store: storeOf([]) })) ?? []
  const events = publicEvents(webhookChannel, event, outputs)
  for (const one of events) expect(catalogue.entry(one.type)?.refusals(one.data)).toEqual([])
  return events
}

const named = { org_id: ids.org, subscription_id: ids.subscription }

it('publishes a warning of a failing endpoint with only ids and instants', async () => {
  const warning = { ...named, percent: 50, failing_since: at(32), disable_at: at(432_032), occurred_at: at(216_032) }
  expect(await published('WebhookEndpointFailing')).toMatchObject([{ type: 'webhook.endpoint.failing', data: warning }])
  expect(JSON.stringify(await published('WebhookEndpointFailing'))).not.toContain('receiver.example')
})

it.each(['requested', 'gone', 'no_success'] as const)(
  'publishes that a subscription was disabled, with the reason: %s',
  async (reason) => {
    const disabled = { ...named, reason, disabled_at: at(20), occurred_at: at(20) }
    expect(await published('WebhookSubscriptionDisabled', { reason })).toMatchObject([
      { type: 'webhook.endpoint.disabled', data: disabled },
    ])
  },
)

it.each([
  'WebhookSubscribed',
  'WebhookSubscriptionChanged',
  'WebhookSubscriptionEnabled',
  'WebhookSecretRotated',
  'WebhookSubscriptionDeleted',
] as const)('does not publish %s', async (type) => {
  expect(await published(type)).toEqual([])
})
