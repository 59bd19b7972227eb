import {
  isNotification,
  type NotificationState,
  type OpenAttempt,
  type SendingNotification,
} from '../../streams/notification/aggregate.ts'
import type {
  CallMetadata,
  EndedAttempt,
  NotificationErrorCode,
  NotificationEvent,
  SuppressionReason,
} from '../../streams/notification/events.ts'
import type { NotificationCategory } from '../../streams/types.ts'
import { openLeaseEnd, type Decision } from '../../engine/commands/decision.ts'

interface Failure {
  readonly errorCode: NotificationErrorCode
  readonly errorDetail: string | null
}

export type AttemptOutcome =
  | { readonly kind: 'sent'; readonly providerMessageId: string | null }
  | { readonly kind: 'suppressed'; readonly reason: SuppressionReason }
  /** `retryAfterMs` is the wish of the provider, 0 without one. */
  | (Failure & { readonly kind: 'transient'; readonly retryAfterMs: number })
  | (Failure & { readonly kind: 'permanent' })
  /** Refused for a reason that we do not know. Permanent, unless it passes soon. */
  | (Failure & { readonly kind: 'unclear' })
  /** The provider was not called. The attempt does not count. */
  | { readonly kind: 'not-sent'; readonly afterMs: number }
  /** The message may have been sent, and may not. */
  | { readonly kind: 'unknown'; readonly errorDetail: string | null }

interface RetryRules {
  /** Delays between the tries of a round, in milliseconds. */
  readonly retryScheduleMs: readonly number[]
  /** Categories whose messages are sent again although they may have been sent. */
  readonly atLeastOnceCategories: readonly NotificationCategory[]
}

export interface RecordOutcome extends RetryRules {
  readonly attemptId: string
  readonly outcome: AttemptOutcome
  /** Redacted metadata of the provider's answer; null without one. */
  readonly response: CallMetadata | null
  readonly latencyMs: number
  readonly now: Date
}

/**
 * Records the outcome of the open attempt. Another outcome of the same attempt changes nothing, unless it was unknown until
 * now: a process may stand still with the answer of the provider until another one has ended the attempt. Then the message
 * is sent, and no other attempt follows.
 */
export function recordOutcome(command: RecordOutcome, state: NotificationState): Decision<NotificationEvent> {
  const { attemptId, outcome, response, latencyMs, now } = command
  if (!isNotification(state)) return []
  const { notificationId, templateCode, channel, correlationId, hop } = state
  const published = { notificationId, templateCode, channel, correlationId, hop }
  const open = undecidedAttempts(state).find((one) => one.attemptId === attemptId)
  if (open === undefined) return []
  const ended: EndedAttempt = { attemptId, attempt: open.attempt, response, latencyMs }
  const at = now.toISOString()
  if (outcome.kind === 'sent') {
    const { providerMessageId } = outcome
    return [{ type: 'NotificationSent', data: { ...published, ended, providerMessageId, sentAt: at } }]
  }
  if (state.status !== 'sending') return []
  if (outcome.kind === 'suppressed') {
    const { reason } = outcome
    return [{ type: 'NotificationSuppressed', data: { ...published, ended, reason, suppressedAt: at } }]
  }
  const after = (ms: number) => new Date(now.getTime() + ms).toISOString()
  if (outcome.kind === 'not-sent') {
    const times = { nextAttemptAt: after(outcome.afterMs), withdrawnAt: at }
    const data = { notificationId, attemptId, attempts: open.attempt - 1, ...times }
    return [{ type: 'NotificationAttemptWithdrawn', data }]
  }
  const errorCode = outcome.kind === 'unknown' ? 'delivery_unknown' : outcome.errorCode
  const failure = { ended, errorCode, errorDetail: outcome.errorDetail, failedAt: at }
  const mayRetry = maySendAgain(outcome, state, command)
  const delayMs = mayRetry ? command.retryScheduleMs[state.attempts - state.attemptsBeforeRound - 1] : undefined
  if (delayMs === undefined)
    return [{ type: 'NotificationFailed', data: { ...published, ...failure, finalAttempt: mayRetry } }]
  const waitMs = Math.max(delayMs, outcome.kind === 'transient' ? outcome.retryAfterMs : 0)
  return [{ type: 'NotificationRetryScheduled', data: { notificationId, ...failure, nextAttemptAt: after(waitMs) } }]
}

/** While an attempt is open, its message may still leave, so its own outcome decides. */
function undecidedAttempts(
  state: Exclude<NotificationState, { status: 'absent' | 'discarded' }>,
): readonly Pick<OpenAttempt, 'attemptId' | 'attempt'>[] {
  if (state.status === 'sending') return [state.open]
  return state.status === 'queued' || state.status === 'failed' ? state.unknownAttempts : []
}

/** How often a round sends again after a refusal that we do not know. */
const mostUnclear = 2

function maySendAgain(
  { kind }: Exclude<AttemptOutcome, { kind: 'sent' | 'suppressed' | 'not-sent' }>,
  state: SendingNotification,
  rules: RetryRules,
): boolean {
  if (kind === 'unclear') return state.unclearInRound < mostUnclear
  return kind === 'transient' || (kind === 'unknown' && mayBeDoubled(state, rules))
}

/** A message that may have been sent is sent again only if each of its categories permits it. */
function mayBeDoubled({ categories }: SendingNotification, { atLeastOnceCategories }: RetryRules): boolean {
  return categories.length > 0 && categories.every((category) => atLeastOnceCategories.includes(category))
}

export interface EndCutOffAttempt extends RetryRules {
  readonly now: Date
  readonly endedLeases?: readonly string[]
}

/**
 * Ends an open attempt whose lease has ended. A crash fell between the call and its record, so the outcome is unknown.
 * The duration is the lease, because nobody knows when the call ended.
 */
export function endCutOffAttempt(command: EndCutOffAttempt, state: NotificationState): Decision<NotificationEvent> {
  if (!isCutOff(state, command.now, command.endedLeases)) return []
  const { attemptId, startedAt, leaseUntil } = state.open
  const latencyMs = Math.max(0, Date.parse(leaseUntil) - Date.parse(startedAt))
  const outcome = { kind: 'unknown', errorDetail: 'the worker stopped before it recorded the outcome' } as const
  return recordOutcome({ ...command, attemptId, outcome, response: null, latencyMs }, state)
}

/** An open attempt whose lease has ended. Its worker counts as dead. */
export function isCutOff(
  state: NotificationState,
  now: Date,
  endedLeases: readonly string[] = [],
): state is SendingNotification {
  return state.status === 'sending' && openLeaseEnd(state.open.leaseUntil, now, endedLeases) === null
}
