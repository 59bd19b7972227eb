import { expect, it } from 'vitest'
import { webhookSubscriptionsProjector } from '../../../projections/webhooks/webhook-subscriptions.projector.ts'
import type { WebhookSubscriptionEvent } from '../../../streams/webhook-subscriptions/events.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { at, ids } from '../../streams/facts.ts'
import { publicKey, subscriptionFact as fact } from '../../streams/webhook-facts.ts'

const rowsOf = (...events: readonly WebhookSubscriptionEvent[]) =>
  rowsAfter(webhookSubscriptionsProjector, recorded(events))

const subscribed = fact('WebhookSubscribed')
const unsigned = fact('WebhookSubscribed', {
  subscriptionId: ids.event,
  signatureSchemes: ['v1'],
  publicKey: null,
  eventTypes: ['assessment.failed'],
  description: null,
  payloadMode: 'thin',
})

const row = {
  subscription_id: ids.subscription,
  org_id: ids.org,
  url: 'https://receiver.example/hooks',
  event_types: ['assessment.completed', 'assessment.failed'],
  status: 'active',
  description: 'All results',
  payload_mode: 'full',
  signature_schemes: ['v1', 'v1a'],
  public_key_id: publicKey.kid,
  public_key: publicKey.x,
  disabled_reason: null,
  disabled_at: null,
  created_at: at(0),
  updated_at: at(0),
  stream_revision: '0',
}
const keyRow = {
  subscription_id: ids.subscription,
  kid: publicKey.kid,
  x: publicKey.x,
  created_at: at(0),
  retired_at: null,
}

it('has a row for each subscription, with its revision in the organisation stream, and one for each key', async () => {
  const { webhook_subscriptions: rows, webhook_keys: keys } = await rowsOf(subscribed, unsigned)
  const thin = {
    ...row,
    subscription_id: ids.event,
    event_types: ['assessment.failed'],
    description: null,
    payload_mode: 'thin',
    signature_schemes: ['v1'],
    public_key_id: null,
    public_key: null,
    stream_revision: '1',
  }
  expect([rows, keys]).toEqual([[row, thin], [keyRow]])
})

it("contains the change, and the revision of the subscription's own last change", async () => {
  const { webhook_subscriptions: rows } = await rowsOf(
    subscribed,
    unsigned,
    fact('WebhookSubscriptionChanged', { eventTypes: ['assessment.failed'] }),
    fact('WebhookSubscriptionDisabled', { subscriptionId: ids.event }),
  )
  const changed = {
    ...row,
    url: 'https://receiver.example/moved',
    event_types: ['assessment.failed'],
    updated_at: at(10),
    stream_revision: '2',
  }
  expect(rows?.[0]).toEqual(changed)
  expect(rows?.[1]).toMatchObject({ subscription_id: ids.event, status: 'disabled', stream_revision: '3' })
})

it('contains the reason of a disabling until it is enabled', async () => {
  const disabled = fact('WebhookSubscriptionDisabled', { reason: 'no_success' })
  const off = {
    ...row,
    status: 'disabled',
    disabled_reason: 'no_success',
    disabled_at: at(20),
    updated_at: at(20),
    stream_revision: '1',
  }
  expect((await rowsOf(subscribed, disabled)).webhook_subscriptions).toEqual([off])
  const { webhook_subscriptions: rows } = await rowsOf(subscribed, disabled, fact('WebhookSubscriptionEnabled'))
  expect(rows).toEqual([{ ...row, updated_at: at(30), stream_revision: '2' }])
})

it('does not change at a warning', async () => {
  expect((await rowsOf(subscribed, fact('WebhookEndpointFailing'))).webhook_subscriptions).toEqual([row])
})

it('contains the current key, and the previous key with its end', async () => {
  const third = fact('WebhookSecretRotated', {
    publicKey: { ...publicKey, kid: 'third-key' },
    rotatedAt: at(50),
    previousValidUntil: at(60),
  })
  const { webhook_subscriptions: rows, webhook_keys: keys } = await rowsOf(
    subscribed,
    fact('WebhookSecretRotated'),
    third,
  )
  expect(rows).toEqual([{ ...row, public_key_id: 'third-key', updated_at: at(50), stream_revision: '2' }])
  const ends = { [publicKey.kid]: at(86_440), 'second-key': at(60), 'third-key': null }
  expect(Object.fromEntries((keys ?? []).map(({ kid, retired_at }) => [kid, retired_at]))).toEqual(ends)
})

it('has no key for a scheme without keys, also after a rotation', async () => {
  const rotated = fact('WebhookSecretRotated', { subscriptionId: ids.event, publicKey: null })
  const { webhook_subscriptions: rows, webhook_keys: keys } = await rowsOf(unsigned, rotated)
  expect([rows?.[0], keys]).toMatchObject([{ public_key_id: null, updated_at: at(40) }, []])
})

it('removes a deleted subscription and its keys, but not those of another one', async () => {
  const other = fact('WebhookSubscribed', { subscriptionId: ids.claim, publicKey: { ...publicKey, kid: 'other-key' } })
  const { webhook_subscriptions: rows, webhook_keys: keys } = await rowsOf(
    subscribed,
    other,
    fact('WebhookSecretRotated'),
    fact('WebhookSubscriptionDeleted'),
  )
  expect(rows?.map(({ subscription_id }) => subscription_id)).toEqual([ids.claim])
  expect(keys?.map(({ kid }) => kid)).toEqual(['other-key'])
})
