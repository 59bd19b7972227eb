import { Type, type Static } from 'typebox'
import { endAttemptWithoutCall, startAttempt, waitsUntil } from '../../commands/notifications/attempt-notification.ts'
import { endWithPatient } from '../../commands/notifications/end-with-patient.ts'
import {
  isCutOff,
  recordOutcome,
  endCutOffAttempt,
  type AttemptOutcome,
} from '../../commands/notifications/record-outcome.ts'
import { execute, loadSufficient } from '../../engine/commands/execute.ts'
import { answeringRefusals } from '../../engine/commands/refusals.ts'
import {
  notifications,
  patientOf,
  type NotificationState,
  type SendingNotification,
} from '../../streams/notification/aggregate.ts'
import { NotificationChannel } from '../../streams/types.ts'
import type { SendOutcome } from '../adapters/notification-sender.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import { appends, outsideCall, waiting } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { ReceiverHealth, StepContext, StepOutcome } from '../../engine/processes/process.ts'
import { planDelivery, type DeliveryPlan } from './delivery-plan.ts'

export const DeliverPayload = Type.Object({ channel: NotificationChannel })
export type DeliverPayload = Static<typeof DeliverPayload>

const answering = answeringRefusals({})

/**
 * One attempt by the delivery rules 1 to 8 of the specification. The attempt is opened immediately before the call of
 * the provider, so an attempt without an outcome means: the message may have been sent. Nobody sends it again before
 * its lease has ended. Then its outcome is unknown.
 */
export const deliver: ProcessStep<DeliverPayload> = async (todo, deps, step) => {
  const { orgId, key } = todo
  const sender = todo.payload.channel === 'slack' ? deps.chats : deps.mails
  const target = notifications.of(orgId, key)
  const state = await loadSufficient(deps.store, target, isDeliverable)
  if (isCutOff(state, step.now(), step.endedLeases)) return endCutOff(todo, deps, step)
  const until = waitsUntil(state, step.now(), step.endedLeases)
  if (!isDeliverable(state) || until !== null) return waiting(until)
  const patientId = patientOf(state)
  const isErased = () => patientId !== null && deps.vault.isClosed(orgId, patientId)
  const endErased = () =>
    appends(deps.store, target, (newest) => endWithPatient({ now: step.now() }, newest), todo.attempt())
  // Nothing personal leaves once the erasure of the patient has begun.
  if (isErased()) return endErased()
  const openForMs = sender.openForMs()
  if (openForMs > 0) return { kind: 'retry', after: openForMs, pauseMs: openForMs, reason: 'circuit_open' }

  const beganMs = performance.now()
  const plan = await planDelivery(state, { orgId, deps, step })
  deps.failpoint('notification-planned')
  // The plan takes time.
  if (isErased()) return endErased()
  return plan.kind === 'end'
    ? end(todo, plan, Math.round(performance.now() - beganMs), deps, step)
    : send(todo, plan, deps, step)
}

type Deliverable = Extract<NotificationState, { status: 'pending' | 'queued' }>

/** Rule 1. */
function isDeliverable(state: NotificationState): state is Deliverable {
  return state.status === 'pending' || state.status === 'queued'
}

function isSending(state: NotificationState): state is SendingNotification {
  return state.status === 'sending'
}

/** A crash cut the attempt off during the call. */
const endCutOff: ProcessStep = async (todo, deps, step) => {
  const command = { ...retryRules(deps), now: step.now(), endedLeases: step.endedLeases }
  const target = notifications.of(todo.orgId, todo.key)
  return appends(deps.store, target, (state) => answering(endCutOffAttempt(command, state)), todo.attempt())
}

async function end(
  todo: Todo,
  { template, resolvedAddress, providerName, request, outcome, isAway }: Extract<DeliveryPlan, { kind: 'end' }>,
  latencyMs: number,
  deps: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const context = todo.attempt()
  const attempt = { attemptId: context.commandId, template, resolvedAddress, providerName, request }
  const command = { ...attempt, outcome, latencyMs, ...retryRules(deps), now: step.now() }
  const target = notifications.of(todo.orgId, todo.key)
  const { position } = await execute(
    deps.store,
    target,
    (state) => answering(endAttemptWithoutCall(command, state)),
    context,
  )
  // The users service is part of the way to a mail box: if it is away, mails wait instead of using up their tries.
  return { kind: 'done', position, ...(isAway === true ? { health: 'unreachable' } : {}) }
}

async function send(
  todo: Todo,
  { template, resolvedAddress, providerName, request, send: call }: Extract<DeliveryPlan, { kind: 'send' }>,
  deps: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const target = notifications.of(todo.orgId, todo.key)
  return outsideCall({ todo, step, store: deps.store }, target, {
    open: (opening, state) =>
      answering(startAttempt({ ...opening, template, resolvedAddress, providerName, request }, state)),
    isOpen: isSending,
    waitsUntil,
    async call(signal) {
      deps.failpoint('notification-attempted')
      const outcome = await call(signal)
      deps.failpoint('notification-sent')
      return outcome
    },
    // It contains whether a message was sent.
    countsWhenStopped: true,
    async conclude(outcome, _, { id: attemptId, durationMs: latencyMs, record }) {
      const response = 'response' in outcome && outcome.response !== null ? { ...outcome.response } : null
      const made = { attemptId, outcome: attemptOutcomeOf(outcome), response, latencyMs }
      const command = { ...made, ...retryRules(deps), now: step.now() }
      const { position } = await record((state) => answering(recordOutcome(command, state)))
      deps.failpoint('notification-recorded')
      return { kind: 'done', position, ...verdictOf(outcome) }
    },
  })
}

function retryRules({ configuration }: ProcessDependencies) {
  return {
    retryScheduleMs: configuration.notificationRetryScheduleMs,
    atLeastOnceCategories: configuration.notificationAtLeastOnceCategories,
  }
}

/** Rule 8. If the circuit opened after the attempt was planned, the attempt does not count. */
function attemptOutcomeOf(outcome: SendOutcome): AttemptOutcome {
  switch (outcome.kind) {
    case 'sent':
      return { kind: 'sent', providerMessageId: outcome.providerMessageId }
    case 'unknown':
      return { kind: 'unknown', errorDetail: outcome.errorDetail }
    case 'not-sent':
      return outcome
    case 'failed': {
      const { errorCode, errorDetail, retryAfterMs } = outcome
      if (outcome.isTransient) return { kind: 'transient', errorCode, errorDetail, retryAfterMs }
      return { kind: outcome.isUnclear ? 'unclear' : 'permanent', errorCode, errorDetail }
    }
  }
}

/** About the provider. A recipient that it refuses says nothing against it. */
function verdictOf(outcome: SendOutcome): { readonly health: ReceiverHealth; readonly pauseMs?: number } {
  if (outcome.kind === 'sent') return { health: 'good' }
  if (outcome.kind === 'not-sent') return { health: 'bad', pauseMs: outcome.afterMs }
  if (outcome.kind === 'unknown' || outcome.response === null)
    return { health: outcome.kind === 'failed' && !outcome.isTransient ? 'good' : 'unreachable' }
  if (outcome.errorCode === 'provider_429') return { health: 'bad', pauseMs: outcome.retryAfterMs }
  return { health: outcome.isTransient || outcome.errorCode === 'provider_auth_failed' ? 'bad' : 'good' }
}
