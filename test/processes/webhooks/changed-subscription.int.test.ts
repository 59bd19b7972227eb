import { randomUUID } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { startWebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { errorOf } from '../../../platform/outbound/error-of.ts'
import { hash, ids } from '../../streams/facts.ts'
import { subscriptionFact } from '../../streams/webhook-facts.ts'
import { startOutsideServer } from '../../support/process-world.ts'
import { givenDeliveries } from './given-deliveries.ts'
import { subscribe, type Subscribed } from './webhook-steps.ts'
import { eventually } from '../../support/eventually.ts'

const minuteMs = 60_000
const given = givenDeliveries()
const { due, later } = given

const isSignedWith = async (
  secretId: string,
  { headers, body }: { headers: Readonly<Record<string, string>>; body: string },
) => {
  const secret = await given.world.vault.secret('webhook', secretId)
  const expected = new Webhook(secret, { format: 'raw' }).sign(
    headers['webhook-id'] ?? '',
    new Date(Number(headers['webhook-timestamp']) * 1000),
    body,
  )
  return (headers['webhook-signature'] ?? '').split(' ').includes(expected)
}

describe('a subscription that another process has changed', () => {
  it('receives the next attempt at its new address', async () => {
    given.status = 500
    const elsewhere = await startWebhookReceiver()
    try {
      const delivery = due()
      await delivery.work()
      const { url } = elsewhere
      await given.subscription.append(
        subscriptionFact('WebhookSubscriptionChanged', {
          subscriptionId: given.subscription.subscriptionId,
          url,
          payloadMode: 'thin',
          changedAt: later(0),
        }),
      )
      await delivery.workAgain()
      expect(delivery.receivedBy(given.receiver)).toHaveLength(1)
      expect(delivery.receivedBy(elsewhere).map(({ body }) => JSON.parse(body) as unknown)).toEqual([
        { id: ids.assessment, status: 'failed' },
      ])
      expect(await delivery.last()).toMatchObject({ type: 'WebhookDelivered', data: { attempt: 2 } })
    } finally {
      await elsewhere.close()
    }
  })

  it('has signatures of its new secret at once, and of the previous one until that ends', async () => {
    const [before, during, after] = [due(), due(), due()]
    const secretId = randomUUID()
    const rotated = {
      subscriptionId: given.subscription.subscriptionId,
      secretId,
      publicKey: null,
      rotatedAt: later(0),
      previousValidUntil: later(minuteMs),
      request: null,
    }
    await before.work()
    await given.world.vault.secret('webhook', secretId)
    await given.subscription.append(subscriptionFact('WebhookSecretRotated', rotated))
    await during.work()
    given.world.pass(60)
    await after.work()
    const signed = [before, during, after].map(
      (delivery) => delivery.receivedBy(given.receiver)[0] ?? { headers: {}, body: '' },
    )
    expect(await Promise.all(signed.map((one) => isSignedWith(given.subscription.subscriptionId, one)))).toEqual([
      true,
      true,
      false,
    ])
    expect(await Promise.all(signed.map((one) => isSignedWith(secretId, one)))).toEqual([false, true, true])
  })

  it.each(['subscription_disabled', 'subscription_deleted'] as const)(
    'receives nothing after its end: %s',
    async (reason) => {
      const { subscriptionId } = given.subscription
      const end =
        reason === 'subscription_deleted'
          ? subscriptionFact('WebhookSubscriptionDeleted', { subscriptionId, deletedAt: later(0) })
          : subscriptionFact('WebhookSubscriptionDisabled', { subscriptionId, disabledAt: later(0) })
      await given.subscription.append(end)
      const delivery = due()
      expect(await delivery.work()).toMatchObject({ kind: 'done', position: expect.anything() })
      expect(await delivery.types()).toEqual(['WebhookDeliveryScheduled', 'WebhookDeliveryCancelled'])
      expect(await delivery.last()).toMatchObject({ data: { reason } })
      expect(delivery.receivedBy(given.receiver)).toEqual([])
      expect(await delivery.cancel(reason)).toEqual({ kind: 'done' })
    },
  )

  /** Runs `happens` during an attempt. The receiver answers after it. */
  async function during(happens: (of: Subscribed) => Promise<void>, code: number) {
    const happened = Promise.withResolvers<void>()
    const server = await startOutsideServer(async () => {
      await happened.promise
      return { status: code }
    })
    try {
      const own = await subscribe(given.world, { url: server.url })
      const { endpointRevision } = await own.current()
      const delivery = due(own)
      const working = delivery.work()
      await eventually(() => expect(server.asked).toHaveLength(1))
      await happens(own)
      const early = await delivery.cancel()
      happened.resolve()
      await working
      return { delivery, early, endpointRevision }
    } finally {
      await server.close()
    }
  }
  const disable = (of: Subscribed) =>
    of.append(
      subscriptionFact('WebhookSubscriptionDisabled', { subscriptionId: of.subscriptionId, disabledAt: later(0) }),
    )

  it('counts an attempt to its old address against the old address', async () => {
    const { delivery, endpointRevision } = await during(
      (of) =>
        of.append(
          subscriptionFact('WebhookSubscriptionChanged', {
            subscriptionId: of.subscriptionId,
            url: given.receiver.url,
            changedAt: later(0),
          }),
        ),
      500,
    )
    expect(await delivery.last()).toMatchObject({ data: { endpoint: { revision: endpointRevision } } })
  })

  it('keeps the outcome of an attempt during which it was disabled; a failed delivery is cancelled after it', async () => {
    const taken = await during(disable, 204)
    expect(taken.early).toMatchObject({ kind: 'wait' })
    expect(await taken.delivery.last()).toMatchObject({ type: 'WebhookDelivered' })
    const refused = await during(disable, 500)
    expect(await refused.delivery.last()).toMatchObject({ type: 'WebhookDeliveryAttemptFailed' })
    await refused.delivery.cancel()
    expect(await refused.delivery.last()).toMatchObject({ type: 'WebhookDeliveryCancelled' })
  })

  it.each([
    [
      'after it was enabled again, sent',
      true,
      ['WebhookRedeliveryUnneeded', 'WebhookDeliveryCancelled', 'WebhookRedeliveryRequested'],
    ],
    ['before it was disabled, cancelled', false, ['WebhookRedeliveryUnneeded', 'WebhookDeliveryCancelled']],
  ])('has a pending delivery that was requested again %s', async (_, isSince, expected) => {
    given.status = 500
    const { subscriptionId } = given.subscription
    const delivery = due()
    await delivery.work()
    const switched = async () => {
      await disable(given.subscription)
      await given.subscription.append(
        subscriptionFact('WebhookSubscriptionEnabled', { subscriptionId, enabledAt: later(0) }),
      )
    }
    if (isSince) await switched()
    await delivery.askAgain(given.subscription, { key: hash('c'), fingerprint: hash('f') })
    if (!isSince) await switched()
    expect(await delivery.cancel()).toMatchObject({ kind: 'done', position: expect.anything() })
    expect((await delivery.types()).slice(3)).toEqual(expected)
    if (!isSince) return
    given.status = 204
    await delivery.again().work()
    expect(await delivery.last()).toMatchObject({ type: 'WebhookDelivered', data: { attempt: 2 } })
    expect(await delivery.cancel()).toEqual({ kind: 'done' })
  })

  it('has a delivery cancelled once no attempt is open', async () => {
    given.status = 500
    const [pending, delivered] = [due(), due()]
    await pending.work()
    expect(await pending.cancel()).toMatchObject({ kind: 'done', position: expect.anything() })
    expect(await pending.types()).toEqual([
      'WebhookDeliveryScheduled',
      'WebhookDeliveryAttempted',
      'WebhookDeliveryAttemptFailed',
      'WebhookDeliveryCancelled',
    ])
    given.status = 204
    await delivered.work()
    expect(await delivered.cancel()).toEqual({ kind: 'done' })
  })
})

it('opens no attempt and sends nothing without the secret that the vault has lost, and delivers when it was rotated', async () => {
  const lost = await subscribe(given.world, { url: given.receiver.url })
  const rotate = (secretId: string) =>
    lost.append(
      subscriptionFact('WebhookSecretRotated', {
        subscriptionId: lost.subscriptionId,
        secretId,
        publicKey: null,
        rotatedAt: later(0),
        previousValidUntil: later(0),
        request: null,
      }),
    )
  await rotate(randomUUID())
  const delivery = due(lost)
  for (const _ of [1, 2]) {
    const error: unknown = await delivery.work().catch((reason: unknown) => reason)
    // Operators see the class and the code.
    expect(errorOf(error)).toEqual({ class: 'MissingKeyError', code: 'key-missing', host: null })
  }
  expect([await delivery.types(), delivery.receivedBy(given.receiver)]).toEqual([[], []])

  const secretId = randomUUID()
  await given.world.vault.secret('webhook', secretId)
  await rotate(secretId)
  await delivery.work()
  expect(delivery.receivedBy(given.receiver)).toHaveLength(1)
})
