import {
  isNotification,
  notifications,
  subjectOfAddress,
  type Notification,
  type NotificationState,
} from '../../streams/notification/aggregate.ts'
import type { CallMetadata, NotificationEvent } from '../../streams/notification/events.ts'
import type { NotificationCategory } from '../../streams/types.ts'
import { openLeaseEnd, type Decision } from '../../engine/commands/decision.ts'
import { recordOutcome, type AttemptOutcome } from './record-outcome.ts'

/** The template that the attempt renders. */
export interface RenderedTemplate {
  readonly version: number
  readonly phi: boolean
  readonly category: NotificationCategory
}

export interface StartAttempt {
  readonly attemptId: string
  /** Null if the attempt ends before a template was found. */
  readonly template: RenderedTemplate | null
  readonly resolvedAddress: string | null
  readonly providerName: string
  readonly request: CallMetadata
  readonly now: Date
  readonly leaseUntil: Date
}

/**
 * Begins an attempt, immediately before the call of the provider. So after a crash an open attempt may have sent the
 * message. Without an attempt nothing was sent. The first attempt also queues the notification. No attempt begins
 * before it is due, and none while another is open: `endCutOffAttempt` ends an attempt whose lease has ended.
 */
export function startAttempt(command: StartAttempt, state: NotificationState): Decision<NotificationEvent> {
  const { attemptId, template, resolvedAddress, providerName, request, now, leaseUntil } = command
  if ((state.status !== 'pending' && state.status !== 'queued') || waitsUntil(state, now) !== null) return []
  const { notificationId, channel } = state
  const at = now.toISOString()
  const queued: NotificationEvent = {
    type: 'NotificationQueued',
    data: { notificationId, channel, reason: 'enqueued', nextAttemptAt: at, request: null, queuedAt: at },
  }
  const started: NotificationEvent = {
    type: 'NotificationAttemptStarted',
    data: {
      notificationId,
      attemptId,
      attempt: state.attempts + 1,
      templateVersion: template?.version ?? state.templateVersion,
      phi: isPhiWith(state, template),
      category: state.category ?? template?.category ?? null,
      categories: [...categoriesWith(state, template)],
      resolvedAddress,
      ...subjectOfAddress(state),
      providerName,
      request,
      startedAt: at,
      leaseUntil: leaseUntil.toISOString(),
    },
  }
  return state.status === 'pending' ? [queued, started] : [started]
}

/** The stricter policy counts. */
export function isPhiWith({ phi }: Pick<Notification, 'phi'>, template: Pick<RenderedTemplate, 'phi'> | null): boolean {
  return phi || template?.phi === true
}

/** An opt-out of any of them suppresses the notification: the stricter category counts. */
export function categoriesWith(
  { categories }: Pick<Notification, 'categories'>,
  template: RenderedTemplate | null,
): readonly NotificationCategory[] {
  return template === null || categories.includes(template.category) ? categories : [...categories, template.category]
}

/**
 * The end of an open attempt's lease, or the time of the next attempt. Null when an attempt may begin now, when an open
 * attempt may be ended, and when no attempt follows.
 */
export function waitsUntil(state: NotificationState, now: Date, endedLeases: readonly string[] = []): Date | null {
  if (state.status === 'sending') return openLeaseEnd(state.open.leaseUntil, now, endedLeases)
  if (state.status !== 'queued') return null
  const dueAt = new Date(state.nextAttemptAt)
  return dueAt.getTime() > now.getTime() ? dueAt : null
}

export interface EndAttempt extends Omit<StartAttempt, 'leaseUntil'> {
  readonly outcome: AttemptOutcome
  readonly latencyMs: number
  readonly retryScheduleMs: readonly number[]
}

/**
 * An attempt that ends without a call of the provider: an opt-out, a suppressed address, a failed lookup, a template
 * that does not render. One append begins and ends it, so a crash leaves nothing open.
 */
export function endAttemptWithoutCall(command: EndAttempt, state: NotificationState): Decision<NotificationEvent> {
  const started = startAttempt({ ...command, leaseUntil: command.now }, state)
  if ('refused' in started || started.length === 0) return started
  const sending = started.reduce(notifications.evolve, state)
  if (!isNotification(sending)) return []
  const ended = recordOutcome({ ...command, response: null, atLeastOnceCategories: [] }, sending)
  return 'refused' in ended ? ended : [...started, ...ended]
}
