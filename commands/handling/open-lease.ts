/**
 * Until when somebody may be at an attempt that the stream says was begun: whoever meets it waits. Null when there is
 * none, or its lease has ended: then whoever began it is taken for dead.
 */
export function openUntil(leaseUntil: string | null | undefined, now: Date): Date | null {
  if (leaseUntil === null || leaseUntil === undefined) return null
  const until = new Date(leaseUntil)
  return until.getTime() > now.getTime() ? until : null
}
