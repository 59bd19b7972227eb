/** No lease is longer, in milliseconds: it is how long a step waits after a crash in the middle of it. */
export const longestLeaseMs = 60_000

/** The end of a lease taken now, RFC 3339, for the event that opens an attempt. */
export function leaseUntil(now: Date, leaseMs: number): string {
  if (!(leaseMs > 0 && leaseMs <= longestLeaseMs)) throw new RangeError(`a lease of ${leaseMs} ms is not one of 1 to ${longestLeaseMs}`)
  return new Date(now.getTime() + leaseMs).toISOString()
}

/** An attempt that the stream says was begun and whose outcome it does not know. */
export interface OpenAttempt {
  readonly leaseUntil: string
}

/**
 * What whoever meets an open attempt does: wait until its lease ends, since somebody may be at it; after that, whoever
 * began it is taken for dead. The stream decides this, not a claim.
 */
export type AttemptState =
  | { readonly kind: 'none' }
  | { readonly kind: 'held'; readonly until: Date }
  | { readonly kind: 'abandoned' }

export function attemptState(open: OpenAttempt | null | undefined, now: Date): AttemptState {
  if (open === null || open === undefined) return { kind: 'none' }
  const until = new Date(open.leaseUntil)
  return until.getTime() > now.getTime() ? { kind: 'held', until } : { kind: 'abandoned' }
}
