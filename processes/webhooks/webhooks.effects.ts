import { attemptDelivery, recordDelivery } from '../../commands/webhooks/deliver-webhook.ts'
import { execute } from '../../commands/handling/execute.ts'
import { openUntil } from '../../commands/handling/open-lease.ts'
import { viewOf } from '../../commands/assessments/views.ts'
import { toAssessmentRecord } from '../../platform/records/assessment.ts'
import { signDownloads } from '../../platform/records/download-urls.ts'
import { assessmentFold } from '../../streams/assessment/state.ts'
import { assessmentStream } from '../../streams/assessment/stream.ts'
import { webhookDeliveryFold, type WebhookDeliveryState } from '../../streams/webhook-delivery/state.ts'
import { deliveryIdOf, webhookDeliveryStream } from '../../streams/webhook-delivery/stream.ts'
import { webhookSubscriptionsFold, type WebhookSubscription } from '../../streams/webhook-subscriptions/state.ts'
import { webhookSubscriptionsStream } from '../../streams/webhook-subscriptions/stream.ts'
import type { SendResult } from '../adapters/webhook-sender.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { jittered, nextDelay } from '../runtime/backoff.ts'
import { defineProcess, type StepContext, type StepOutcome, type Todo } from '../runtime/process.ts'
import { throwIfStopping } from '../runtime/stopping.ts'
import { attemptCommand, orgOf, outcomeCommand, readCause } from '../runtime/step-identity.ts'
import { webhooksToDo, type DeliverPayload } from './webhooks.process.ts'

const jitterRatio = 0.2

async function deliver(todo: Todo, deps: ProcessDependencies, step: StepContext): Promise<StepOutcome> {
  const { store } = deps
  const orgId = orgOf(todo)
  const payload = todo.payload as DeliverPayload
  const deliveryId = deliveryIdOf(payload.subscriptionId, payload.eventId)
  const target = { fold: webhookDeliveryFold, stream: webhookDeliveryStream(orgId, deliveryId) }
  const { subscriptionId, eventId, eventType, assessmentId } = payload
  const named = { deliveryId, subscriptionId, eventId, organisationId: orgId }
  const told = { origin: 'event' as const, eventType, assessmentId, occurredAt: todo.dueAt.toISOString(), request: null }
  const delivery = { ...named, ...told }

  const { state: before } = await store.load(target.fold, target.stream, { fresh: true })
  const until = heldUntil(before, step.now())
  if (until !== null) return { kind: 'wait', until }
  const body = await bodyOf(deps, orgId, payload)
  const openForMs = deps.webhooks.openForMs(body.url)
  if (openForMs > 0) return { kind: 'retry', after: openForMs, reason: 'circuit_open' }
  const begin = { delivery, now: step.now(), leaseUntil: new Date(step.leaseUntil) }
  const attempt = attemptCommand(orgId, readCause(todo))
  const begun = await execute(store, target, (state) => attemptDelivery(begin, state), attempt)
  if (begun.events.length === 0 || begun.state.status !== 'pending') {
    const heldByOther = heldUntil(begun.state, step.now())
    return heldByOther === null ? { kind: 'done' } : { kind: 'wait', until: heldByOther }
  }

  const sentAt = step.now()
  const secret = await deps.vault.secret('webhook', subscriptionId)
  const message = { url: body.url, id: deliveryId, eventType, body: body.text, secret, sentAt }
  const result = await deps.webhooks.send(message, step.signal)
  deps.failpoint('webhook-sent')
  throwIfStopping(step.signal)
  if (result.kind === 'not-sent') return { kind: 'retry', after: result.afterMs, reason: 'circuit_open' }
  const number = begun.state.finishedAttempts + 1
  const record = {
    attempt: number,
    outcome: outcomeOf(result, number, deps, step.now()),
    durationMs: Math.max(0, step.now().getTime() - sentAt.getTime()),
    now: step.now(),
  }
  const recorded = await execute(store, target, (state) => recordDelivery(record, state), outcomeCommand(attempt))
  return { kind: 'done', position: recorded.position ?? begun.position }
}

/** The next place in the schedule counts attempts whose outcome is known; the first delay is that before the first one. */
function outcomeOf(result: Exclude<SendResult, { kind: 'not-sent' }>, attempt: number, deps: ProcessDependencies, now: Date) {
  if (result.kind === 'delivered') return result
  const { statusCode, errorClass, retryAfterMs } = result
  const delay = nextDelay(deps.configuration.webhookRetryScheduleMs, attempt + 1)
  const nextAttemptAt =
    delay === undefined
      ? null
      : new Date(now.getTime() + Math.max(jittered(delay, jitterRatio, deps.random), retryAfterMs))
  return { kind: 'failed' as const, statusCode, errorClass, nextAttemptAt }
}

function heldUntil(state: WebhookDeliveryState, now: Date): Date | null {
  return state.status === 'pending' ? openUntil(state.openLeaseUntil, now) : null
}

/** The record as it is now, with addresses signed for this attempt (T21); thin bodies carry id and status only. */
async function bodyOf(deps: ProcessDependencies, orgId: string, payload: DeliverPayload): Promise<{ url: string; text: string }> {
  const { state } = await deps.store.load(assessmentFold, assessmentStream(orgId, payload.assessmentId), { fresh: true })
  if (state.status === 'absent') throw new Error('a webhook names an assessment that does not exist')
  const subscription = await subscriptionOf(deps, orgId, payload.subscriptionId)
  const view = viewOf(state)
  if (subscription.payloadMode === 'thin') {
    return { url: subscription.url, text: JSON.stringify({ id: view.id, status: view.status }) }
  }
  const urls = await signDownloads(deps.objects, view, deps.configuration.downloadUrlTtlSeconds)
  return { url: subscription.url, text: JSON.stringify(toAssessmentRecord(view, urls)) }
}

async function subscriptionOf({ store }: ProcessDependencies, orgId: string, subscriptionId: string): Promise<WebhookSubscription> {
  const stream = webhookSubscriptionsStream(orgId)
  for (const fresh of [false, true]) {
    const { state } = await store.load(webhookSubscriptionsFold, stream, { fresh })
    const found = state.subscriptions.get(subscriptionId)
    if (found !== undefined) return found
  }
  throw new Error('a delivery names a subscription that does not exist')
}

export const webhooksProcess = defineProcess<ProcessDependencies>({ name: 'webhooks', list: webhooksToDo, steps: { deliver } })
