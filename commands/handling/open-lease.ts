/** A lease that ends later than this, in milliseconds, was given by a clock that was ahead: none is longer than half of it. */
const longestMs = 120_000

/**
 * Until when somebody may be at an attempt that the stream says was begun: whoever meets it waits. Null when there is
 * none, or its lease has ended: then whoever began it is taken for dead. One that no clock of now can have given has ended
 * too: an attempt that is begun twice for that is one attempt to whoever it calls.
 */
export function openUntil(leaseUntil: string | null | undefined, now: Date): Date | null {
  if (leaseUntil === null || leaseUntil === undefined) return null
  const until = new Date(leaseUntil)
  const leftMs = until.getTime() - now.getTime()
  return leftMs > 0 && leftMs <= longestMs ? until : null
}
