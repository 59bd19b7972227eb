import type { DomainEvent } from '../../streams/store/events.ts'

/** The command cannot be carried out in this state: a fact of the domain, by its name. */
export interface Refusal<Name extends string = string> {
  readonly refused: Name
}

/** What a decide function returns: events to append (none for a repeat), or a refusal with one of these names. */
export type Decision<Event extends DomainEvent, Name extends string = never> = readonly Event[] | Refusal<Name>

export function refused<const Name extends string>(name: Name): Refusal<Name> {
  return { refused: name }
}

export function isRefusal<Given extends Refusal>(decision: readonly DomainEvent[] | Given): decision is Given {
  return 'refused' in decision
}

/**
 * The rule of a keyed create (contract section 1, Idempotency): the record under the id that the key fixed comes from
 * the same request, which is answered again, or from another one.
 */
export function repeated(
  command: { fingerprint: string | null },
  existing: { fingerprint: string | null },
): Decision<never, 'idempotency-key-reused'> {
  const isSame = command.fingerprint !== null && command.fingerprint === existing.fingerprint
  return isSame ? [] : refused('idempotency-key-reused')
}

/** A lease that ends later than this, in milliseconds, was given by a clock that was ahead: none is longer than half of it. */
const longestMs = 120_000

/**
 * Until when somebody may be at an attempt that the stream says was begun: whoever meets it waits. Null when there is
 * none, or its lease has ended: then whoever began it is taken for dead. One that no clock of now can have given has ended
 * too: an attempt that is begun twice for that is one attempt to whoever it calls.
 */
export function openLeaseEnd(leaseUntil: string | null | undefined, now: Date): Date | null {
  if (leaseUntil === null || leaseUntil === undefined) return null
  const until = new Date(leaseUntil)
  const leftMs = until.getTime() - now.getTime()
  return leftMs > 0 && leftMs <= longestMs ? until : null
}
