import type { DomainEvent } from '../store/events.ts'

/** The state does not allow the command. The name of the refusal is a fact of the domain. */
export interface Refusal<Name extends string = string> {
  readonly refused: Name
}

/** The result of a decide function: events to append (none for a repeat), or a refusal with one of these names. */
export type Decision<Event extends DomainEvent, Name extends string = never> = readonly Event[] | Refusal<Name>

export function refused<const Name extends string>(name: Name): Refusal<Name> {
  return { refused: name }
}

export function isRefusal<Given extends Refusal>(decision: readonly DomainEvent[] | Given): decision is Given {
  return 'refused' in decision
}

/**
 * The rule for a create whose key determines the id. If a record with the id exists, the request is a repeat of the one
 * that created it, or another request with the same key. The second case is refused.
 */
export function repeated(
  command: { fingerprint: string | null },
  existing: { fingerprint: string | null },
): Decision<never, 'idempotency-key-reused'> {
  const isSame = command.fingerprint !== null && command.fingerprint === existing.fingerprint
  return isSame ? [] : refused('idempotency-key-reused')
}

/** In milliseconds. No lease is longer than half of it, so a lease that ends later came from a clock that was ahead. */
const longestMs = 120_000

/**
 * The end of the lease of an open attempt. Until then other workers wait. Null if there is no open attempt, or if its
 * lease has ended: then its worker counts as dead. A lease that ends too far in the future came from a wrong clock and
 * counts as ended. The attempt may then run twice. The receiver sees the same id, so this does no harm.
 *
 * @param endedLeases ends of leases whose workers are known to be dead
 */
export function openLeaseEnd(
  leaseUntil: string | null | undefined,
  now: Date,
  endedLeases: readonly string[] = [],
): Date | null {
  if (leaseUntil === null || leaseUntil === undefined || endedLeases.includes(leaseUntil)) return null
  const until = new Date(leaseUntil)
  const leftMs = until.getTime() - now.getTime()
  return leftMs > 0 && leftMs <= longestMs ? until : null
}
