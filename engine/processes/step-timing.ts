/** The end of a lease taken now, RFC 3339, for the event that opens an attempt. */
export function leaseUntil(now: Date, leaseMs: number): string {
  return new Date(now.getTime() + leaseMs).toISOString()
}

/** Spreads a delay by up to `ratio` of it in both directions; `random` is from [0, 1). */
export function jittered(delayMs: number, ratio: number, random: () => number): number {
  return Math.round(delayMs * (1 + ratio * (2 * random() - 1)))
}
