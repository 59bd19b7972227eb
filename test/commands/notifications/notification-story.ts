import type { EndAttempt } from '../../../commands/notifications/attempt-notification.ts'
import type { RecordOutcome } from '../../../commands/notifications/record-outcome.ts'
import { at } from '../../streams/facts.ts'
import { notificationFact, notificationIds } from '../../streams/notification-facts.ts'

export const nowAt = (seconds: number) => new Date(at(seconds))

/** The contract's five attempts. */
export const retryScheduleMs = [2000, 4000, 8000, 16_000]

export const startedFact = notificationFact('NotificationAttemptStarted').data

/** The attempt that the facts describe. */
export const attempt: Omit<EndAttempt, 'outcome'> = {
  attemptId: notificationIds.attempt,
  template: { version: 1, phi: true, category: 'clinical' },
  resolvedAddress: startedFact.resolvedAddress,
  providerName: 'smtp',
  request: { attachments: 0 },
  now: nowAt(32),
  latencyMs: 40,
  retryScheduleMs,
}

/** Everything about the outcome of that attempt but the outcome itself. */
export const ending: Omit<RecordOutcome, 'outcome'> = {
  attemptId: notificationIds.attempt,
  response: { status: 250 },
  latencyMs: 40,
  retryScheduleMs,
  atLeastOnceCategories: ['transactional'],
  now: nowAt(33),
}

const queued = notificationFact('NotificationQueued')
export const pendingStory = [notificationFact('NotificationCreated')]
export const queuedStory = [...pendingStory, queued]
export const sendingStory = [...queuedStory, notificationFact('NotificationAttemptStarted')]
export const failedStory = [...sendingStory, notificationFact('NotificationFailed')]
