import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { subscriptionFact } from '../../streams/webhook-facts.ts'
import { givenDeliveries } from './given-deliveries.ts'

const hourMs = 3_600_000
const given = givenDeliveries(410)
const { due, later } = given
const recovery = () => ({ id: randomUUID(), eventId: randomUUID() })

it('makes an ended delivery pending again, once for each recovery', async () => {
  const delivery = due()
  await delivery.work()
  const first = recovery()
  expect(await delivery.recover(first)).toMatchObject({ kind: 'done', position: expect.anything() })
  expect(await delivery.last()).toMatchObject({
    type: 'WebhookRedeliveryRequested',
    data: { recoveryId: first.id, request: null },
  })
  expect(await delivery.recover(first)).toEqual({ kind: 'wait', until: new Date(later(hourMs)) })
  expect(await delivery.recover(recovery())).toMatchObject({ kind: 'done', position: expect.anything() })
  expect(await delivery.last()).toMatchObject({ type: 'WebhookRedeliveryUnneeded' })
  expect((await delivery.types()).filter((type) => type === 'WebhookRedeliveryRequested')).toHaveLength(1)
})

it('sends it again under its id, with the schedule from its beginning', async () => {
  const delivery = due()
  await delivery.work()
  await delivery.recover(recovery())
  given.status = 500
  const again = delivery.again()
  expect(again.id).toBe(delivery.id)
  await again.work()
  expect(await delivery.last()).toMatchObject({
    type: 'WebhookDeliveryAttemptFailed',
    data: { attempt: 2, nextAttemptAt: later(5_000) },
  })
  given.status = 204
  await again.workAgain()
  expect(await delivery.last()).toMatchObject({ type: 'WebhookDelivered', data: { attempt: 3 } })
  expect(delivery.receivedBy(given.receiver)).toHaveLength(3)
})

it('makes one round for two recoveries at once', async () => {
  const delivery = due()
  await delivery.work()
  await Promise.all([delivery.recover(recovery()), delivery.recover(recovery())])
  expect((await delivery.types()).filter((type) => type === 'WebhookRedeliveryRequested')).toHaveLength(1)
})

it('sends nothing for a subscription that was disabled in the meantime', async () => {
  const delivery = due()
  await delivery.work()
  const { subscriptionId } = given.subscription
  await given.subscription.append(
    subscriptionFact('WebhookSubscriptionDisabled', { subscriptionId, disabledAt: later(0) }),
  )
  expect(await delivery.recover(recovery())).toEqual({ kind: 'wait', until: new Date(later(hourMs)) })
  expect(await delivery.last()).toMatchObject({ type: 'WebhookDeliveryFailed' })
})
