import type { CreatedNotification, NotificationState } from '../../streams/notification/aggregate.ts'
import { isNotification } from '../../streams/notification/aggregate.ts'
import type { NotificationErrorCode, NotificationEvent } from '../../streams/notification/events.ts'
import { repeated, type Decision } from '../../engine/commands/decision.ts'

type Discarded = Extract<NotificationEvent, { type: 'NotificationDiscarded' }>['data']

export interface CreateNotification extends Omit<CreatedNotification, 'createdAt'> {
  /** Ends the notification at once: its event names no recipient, or no template exists. */
  readonly failure: { readonly errorCode: NotificationErrorCode; readonly errorDetail: string } | null
  readonly now: Date
}

/**
 * The id follows from the rule and the event, or from the Idempotency-Key. So an event that arrives again creates
 * nothing, whatever it contains.
 */
export function createNotification(
  { failure, now, ...data }: CreateNotification,
  state: NotificationState,
): Decision<NotificationEvent, 'idempotency-key-reused'> {
  if (state.status !== 'absent') return data.trigger === null && isNotification(state) ? repeated(data, state) : []
  const at = now.toISOString()
  const created: NotificationEvent = { type: 'NotificationCreated', data: { ...data, createdAt: at } }
  if (failure === null) return [created]
  const { notificationId, templateCode, channel, correlationId, hop } = data
  const published = { notificationId, templateCode, channel, correlationId, hop }
  const failed = { ...published, ended: null, ...failure, finalAttempt: false, failedAt: at }
  return [created, { type: 'NotificationFailed', data: failed }]
}

export interface DiscardNotification extends Omit<Discarded, 'discardedAt'> {
  readonly now: Date
}

/** Records that a rule matched an event that must not be notified. */
export function discardNotification(
  { now, ...data }: DiscardNotification,
  state: NotificationState,
): Decision<NotificationEvent> {
  if (state.status !== 'absent') return []
  return [{ type: 'NotificationDiscarded', data: { ...data, discardedAt: now.toISOString() } }]
}
