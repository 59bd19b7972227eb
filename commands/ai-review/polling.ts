import type { Configuration } from '../../platform/configuration/configuration.ts'

export interface PollSchedule {
  readonly initialDelayMs: number
  /** Delays between polls; the last repeats. */
  readonly backoffMs: readonly number[]
  readonly maxAttempts: number
}

type PollSettings = Pick<
  Configuration,
  'providerResultInitialDelayMs' | 'providerResultBackoffScheduleMs' | 'providerResultMaxAttempts'
>

export function pollScheduleOf(configuration: PollSettings): PollSchedule {
  return {
    initialDelayMs: configuration.providerResultInitialDelayMs,
    backoffMs: configuration.providerResultBackoffScheduleMs,
    maxAttempts: configuration.providerResultMaxAttempts,
  }
}

/**
 * The time of the next poll after `attemptCount` polls, or null when the budget is used up. The last poll is exactly at
 * the deadline. A poll that was due earlier still runs after the deadline.
 */
export function nextPollAt(
  schedule: PollSchedule,
  review: { readonly attemptCount: number; readonly deadlineAt: Date },
  now: Date,
  retryAfterMs = 0,
): Date | null {
  if (review.attemptCount >= schedule.maxAttempts || now.getTime() >= review.deadlineAt.getTime()) return null
  const { backoffMs } = schedule
  const delay = backoffMs[Math.min(review.attemptCount, backoffMs.length) - 1] ?? schedule.initialDelayMs
  return new Date(Math.min(now.getTime() + Math.max(delay, retryAfterMs), review.deadlineAt.getTime()))
}
