/** Milliseconds before the try after `attempt` (from 1); undefined when the schedule has no further one. */
export function nextDelay(scheduleMs: readonly number[], attempt: number): number | undefined {
  return scheduleMs[attempt - 1]
}

/** Spreads a delay by up to `ratio` of it in both directions; `random` is from [0, 1). */
export function jittered(delayMs: number, ratio: number, random: () => number): number {
  return Math.round(delayMs * (1 + ratio * (2 * random() - 1)))
}
