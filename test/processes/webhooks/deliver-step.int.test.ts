import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { attemptDelivery } from '../../../commands/webhooks/deliver-webhook.ts'
import { execute } from '../../../commands/handling/execute.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../platform/demo/webhook-receiver.ts'
import { createEgress, type Egress } from '../../../platform/egress.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import type { StepOutcome, Todo } from '../../../processes/runtime/process.ts'
import { webhooksProcess } from '../../../processes/webhooks/webhooks.effects.ts'
import type { DeliverPayload } from '../../../processes/webhooks/webhooks.process.ts'
import { assessmentFold } from '../../../streams/assessment/state.ts'
import { assessmentStream } from '../../../streams/assessment/stream.ts'
import { webhookDeliveryFold } from '../../../streams/webhook-delivery/state.ts'
import { deliveryIdOf, webhookDeliveryStream } from '../../../streams/webhook-delivery/stream.ts'
import { webhookSubscriptionsFold } from '../../../streams/webhook-subscriptions/state.ts'
import { webhookSubscriptionsStream } from '../../../streams/webhook-subscriptions/stream.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../commands/handling/decision-world.ts'
import { assessmentFact, ids } from '../../streams/facts.ts'
import { subscriptionFact } from '../../streams/webhook-facts.ts'
import { whenWorkedOff } from '../../support/given-process.ts'
import { processDependencies } from '../../support/process-world.ts'

let world: DecisionWorld
let egress: Egress
let receiver: WebhookReceiver
let deps: ProcessDependencies
let status: number
let eventId: string

beforeAll(async () => {
  world = await openDecisionWorld()
  receiver = await startWebhookReceiver(() => status)
  const { orgId, store, configuration } = world
  egress = createEgress({ configuration })
  deps = processDependencies(world, egress)
  const subscribed = subscriptionFact('WebhookSubscribed', { url: receiver.url, organisationId: orgId })
  await store.append(webhookSubscriptionsFold, webhookSubscriptionsStream(orgId), 'no_stream', [subscribed], contextOf(world))
  const story = [assessmentFact('AssessmentRequested'), assessmentFact('AssessmentSubmitted'), assessmentFact('AssessmentFailed')]
  await store.append(assessmentFold, assessmentStream(orgId, ids.assessment), 'no_stream', story, contextOf(world))
})

afterAll(async () => {
  await egress.close()
  await receiver.close()
  await world.close()
})

beforeEach(() => {
  status = 204
  eventId = randomUUID()
})

/** Works off the delivery of this test's event as it is due now. */
function deliver(): Promise<StepOutcome> {
  const payload: DeliverPayload = {
    cause: { eventId, correlationId: randomUUID() },
    subscriptionId: ids.subscription,
    eventId,
    eventType: 'assessment.failed',
    assessmentId: ids.assessment,
  }
  const todo: Todo = { key: `${ids.subscription}.${eventId}`, step: 'deliver', orgId: world.orgId, dueAt: world.now(), payload }
  return whenWorkedOff(webhooksProcess, todo, deps, world.now())
}

const targetOf = () => ({
  fold: webhookDeliveryFold,
  stream: webhookDeliveryStream(world.orgId, deliveryIdOf(ids.subscription, eventId)),
})

async function recordedTypes(): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of world.store.readStream(targetOf().stream)) types.push(type)
  return types
}

const received = () => receiver.received.filter(({ headers }) => headers['webhook-id'] === deliveryIdOf(ids.subscription, eventId))

it('sends the record once, and nothing when it is worked off again', async () => {
  expect(await deliver()).toMatchObject({ kind: 'done', position: expect.anything() })
  expect(await deliver()).toEqual({ kind: 'done' })
  expect(await recordedTypes()).toEqual(['WebhookDeliveryScheduled', 'WebhookDeliveryAttempted', 'WebhookDelivered'])
  expect(received().map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    expect.objectContaining({ id: ids.assessment, status: 'failed', error: expect.objectContaining({ code: 'ANALYSIS_FAILED' }) }),
  ])
})

it('is due again after the next delay of the schedule when the receiver does not take it', async () => {
  status = 500
  await deliver()
  const last = await world.store.readLast(targetOf().stream)
  const nextAttemptAt = new Date(world.now().getTime() + 5_000).toISOString()
  expect(last).toMatchObject({ type: 'WebhookDeliveryAttemptFailed', data: { attempt: 1, statusCode: 500, errorClass: 'http_status', nextAttemptAt } })
})

it('waits for an attempt that somebody else may be at, and makes it again under the same number once its lease has ended', async () => {
  const { subscription: subscriptionId, assessment: assessmentId } = ids
  const deliveryId = deliveryIdOf(subscriptionId, eventId)
  const told = { origin: 'event' as const, eventType: 'assessment.failed' as const, assessmentId, occurredAt: world.now().toISOString(), request: null }
  const delivery = { deliveryId, subscriptionId, eventId, organisationId: world.orgId, ...told }
  const leaseUntil = new Date(world.now().getTime() + 20_000)
  const other = { delivery, now: world.now(), leaseUntil }
  await execute(world.store, targetOf(), (state) => attemptDelivery(other, state), contextOf(world))

  expect(await deliver()).toEqual({ kind: 'wait', until: leaseUntil })
  expect(received()).toEqual([])

  world.pass(20)
  await deliver()
  expect(received()).toHaveLength(1)
  expect(await world.store.readLast(targetOf().stream)).toMatchObject({ type: 'WebhookDelivered', data: { attempt: 1 } })
})

it('is sent by one of several workers that are at it at once', async () => {
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => deliver()))
  expect(received()).toHaveLength(1)
  expect(outcomes.filter(({ kind }) => kind === 'done')).not.toEqual([])
  expect(await recordedTypes()).toEqual(['WebhookDeliveryScheduled', 'WebhookDeliveryAttempted', 'WebhookDelivered'])
})
