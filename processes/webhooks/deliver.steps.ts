import {
  attemptDelivery,
  isPending,
  recordDelivery,
  waitsUntil,
  type DeliveryOutcome,
  type Pending,
} from '../../commands/webhooks/deliver-webhook.ts'
import { webhookDeliveries } from '../../streams/webhook-delivery/aggregate.ts'
import type { WebhookSubscription } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { SendResult } from '../adapters/webhook-sender.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import { outsideCall } from '../../engine/processes/attempt.ts'
import type { ReceiverHealth, StepOutcome } from '../../engine/processes/process.ts'
import { jittered } from '../../platform/kit/backoff.ts'
import { cancelled } from './cancel.steps.ts'
import { deliveryOf, type DeliverPayload } from './delivery-target.ts'
import { readSubscription } from './subscription-reader.ts'

const jitterRatio = 0.2

/** Sends a due delivery to the present address of the subscription, signed with its present secrets. */
export const deliver: ProcessStep<DeliverPayload> = async (todo, deps, step) => {
  const { orgId, payload } = todo
  const subscription = await readSubscription(deps, orgId, payload.subscriptionId)
  if (subscription === undefined)
    return cancelled(todo, payload, { reason: 'subscription_deleted', disabledRevision: null }, deps, step)
  const { status, disabledRevision } = subscription
  if (status === 'disabled')
    return cancelled(todo, payload, { reason: 'subscription_disabled', disabledRevision }, deps, step)
  const isFirst = todo.dueAt.toISOString() === payload.occurredAt
  const dueAfterMs = isFirst ? (deps.configuration.webhookRetryScheduleMs[0] ?? 0) : 0
  const dueAt = new Date(todo.dueAt.getTime() + dueAfterMs)
  if (dueAt.getTime() > step.now().getTime()) return { kind: 'wait', until: dueAt }
  const { url } = subscription
  const openForMs = deps.webhooks.openForMs(url, subscription.subscriptionId)
  if (openForMs > 0) return putOff(openForMs)

  const delivery = deliveryOf(todo, payload)
  const target = { ...webhookDeliveries.of(orgId, delivery.deliveryId), isNew: isFirst }
  const [{ text: body, shown }, sign] = await Promise.all([
    deps.bodies.of({
      orgId,
      eventId: payload.eventId,
      eventType: payload.eventType,
      assessmentId: payload.assessmentId,
      mode: subscription.payloadMode,
    }),
    deps.signatures.signerOf(subscription, step.now()),
  ])
  return outsideCall({ todo, step, store: deps.store }, target, {
    open: (opening, state) => attemptDelivery({ ...opening, delivery, shown }, state),
    isOpen: isPending,
    waitsUntil,
    async call(signal) {
      const sentAt = step.now()
      const { subscriptionId: concurrencyKey } = subscription
      const message = { url, concurrencyKey, id: delivery.deliveryId, eventType: payload.eventType, body, sentAt }
      const signature = sign({ id: delivery.deliveryId, sentAt, body })
      const answer = await deps.webhooks.send({ ...message, signature }, signal)
      deps.failpoint('webhook-sent')
      return answer
    },
    async conclude(result, pending, { durationMs, record }) {
      if (result.kind === 'not-sent') return putOff(result.afterMs)
      const now = step.now()
      const outcome = outcomeOf(result, pending, subscription, deps, now)
      const command = { attempt: pending.finishedAttempts + 1, outcome, durationMs, now }
      const { position } = await record((state) => recordDelivery(command, state))
      return { kind: 'done', position, ...verdictOf(result) }
    },
  })
}

type Sent = Exclude<SendResult, { kind: 'not-sent' }>

/**
 * The place in the retry schedule counts the finished attempts of this round. The first delay is before the first
 * attempt.
 */
function outcomeOf(
  result: Sent,
  state: Pending,
  subscription: WebhookSubscription,
  deps: ProcessDependencies,
  now: Date,
): DeliveryOutcome {
  if (result.kind === 'delivered') return result
  const { statusCode, errorClass, retryAfterMs } = result
  const { webhookRetryScheduleMs, webhookDisableAfterSeconds } = deps.configuration
  const isTest = state.origin === 'test'
  const isLast = isTest || statusCode === 410
  const place = state.finishedAttempts + 1 - state.roundFrom
  const delay = isLast ? undefined : webhookRetryScheduleMs[place]
  const after = (ms: number): Date => new Date(now.getTime() + ms)
  const nextAttemptAt =
    delay === undefined ? null : after(Math.max(jittered(delay, jitterRatio, deps.random), retryAfterMs))
  const reviewAt = after(webhookDisableAfterSeconds * 500).toISOString()
  return {
    kind: 'failed',
    statusCode,
    errorClass,
    nextAttemptAt,
    endpoint: isTest ? null : { revision: subscription.endpointRevision, reviewAt },
  }
}

function putOff(ms: number): StepOutcome {
  return { kind: 'retry', after: ms, pauseMs: ms, reason: 'circuit_open' }
}

const unreachable: ReadonlySet<string> = new Set(['timeout', 'connect', 'dns', 'tls', 'connection_failed'])

/** The verdict about the receiver: it decides how many steps it may have, and when. */
function verdictOf(result: Sent): { readonly health: ReceiverHealth; readonly pauseMs?: number } {
  if (result.kind === 'delivered') return { health: 'good' }
  if (unreachable.has(result.errorClass)) return { health: 'unreachable' }
  return result.retryAfterMs > 0 ? { health: 'bad', pauseMs: result.retryAfterMs } : { health: 'bad' }
}
