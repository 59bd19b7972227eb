/** No lease is longer, in milliseconds: it is how long a step waits after a crash in the middle of it. */
export const longestLeaseMs = 60_000

/** The end of a lease taken now, RFC 3339, for the event that opens an attempt. */
export function leaseUntil(now: Date, leaseMs: number): string {
  if (!(leaseMs > 0 && leaseMs <= longestLeaseMs))
    throw new RangeError(`a lease of ${leaseMs} ms is not one of 1 to ${longestLeaseMs}`)
  return new Date(now.getTime() + leaseMs).toISOString()
}
