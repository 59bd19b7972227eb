/** Where the runtimes get the time from, so that tests decide what is due. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
