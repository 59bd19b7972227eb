import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startWebhookReceiver, type WebhookReceiver } from '../../../platform/demo/webhook-receiver.ts'
import { createEgress, type Egress } from '../../../platform/egress.ts'
import { openDecisionWorld, type DecisionWorld } from '../../commands/handling/decision-world.ts'
import { subscriptionFact } from '../../streams/webhook-facts.ts'
import { processDependencies } from '../../support/process-world.ts'
import { failedAssessment, GivenDelivery, subscribe, type Subscribed } from './webhook-steps.ts'

const hourMs = 3_600_000
let world: DecisionWorld
let egress: Egress
let receiver: WebhookReceiver
let status: number
let subscription: Subscribed

beforeAll(async () => {
  world = await openDecisionWorld()
  receiver = await startWebhookReceiver(() => status)
  egress = createEgress({ configuration: world.configuration })
  await failedAssessment(world)
})

afterAll(async () => {
  await egress.close()
  await receiver.close()
  await world.close()
})

beforeEach(async () => {
  status = 410
  subscription = await subscribe(world, { url: receiver.url })
})

const due = () => new GivenDelivery(world, processDependencies(world, egress), subscription.subscriptionId)
const recovery = () => ({ id: randomUUID(), eventId: randomUUID() })
const later = (ms: number) => new Date(world.now().getTime() + ms).toISOString()

it('makes what has ended pending again, once for each recovery', async () => {
  const delivery = due()
  await delivery.work()
  const first = recovery()
  expect(await delivery.recover(first)).toMatchObject({ kind: 'done', position: expect.anything() })
  expect(await delivery.last()).toMatchObject({ type: 'WebhookRedeliveryRequested', data: { recoveryId: first.id, request: null } })
  expect(await delivery.recover(first)).toEqual({ kind: 'wait', until: new Date(later(hourMs)) })
  expect(await delivery.recover(recovery())).toMatchObject({ kind: 'done', position: expect.anything() })
  expect(await delivery.last()).toMatchObject({ type: 'WebhookRedeliveryUnneeded' })
  expect((await delivery.types()).filter((type) => type === 'WebhookRedeliveryRequested')).toHaveLength(1)
})

it('has it sent again under its id, through a round of the schedule from its beginning', async () => {
  const delivery = due()
  await delivery.work()
  await delivery.recover(recovery())
  status = 500
  const again = delivery.again()
  expect(again.id).toBe(delivery.id)
  await again.work()
  expect(await delivery.last()).toMatchObject({ type: 'WebhookDeliveryAttemptFailed', data: { attempt: 2, nextAttemptAt: later(5_000) } })
  status = 204
  await again.workAgain()
  expect(await delivery.last()).toMatchObject({ type: 'WebhookDelivered', data: { attempt: 3 } })
  expect(delivery.receivedBy(receiver)).toHaveLength(3)
})

it('is as good as any other at once: two recoveries make one round', async () => {
  const delivery = due()
  await delivery.work()
  await Promise.all([delivery.recover(recovery()), delivery.recover(recovery())])
  expect((await delivery.types()).filter((type) => type === 'WebhookRedeliveryRequested')).toHaveLength(1)
})

it('sends nothing for a subscription that was disabled since', async () => {
  const delivery = due()
  await delivery.work()
  const { subscriptionId } = subscription
  await subscription.append(subscriptionFact('WebhookSubscriptionDisabled', { subscriptionId, disabledAt: later(0) }))
  expect(await delivery.recover(recovery())).toEqual({ kind: 'wait', until: new Date(later(hourMs)) })
  expect(await delivery.last()).toMatchObject({ type: 'WebhookDeliveryFailed' })
})
