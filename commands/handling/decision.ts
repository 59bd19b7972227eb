import type { DomainEvent } from '../../streams/store/events.ts'
import type { ProblemCode, ProblemDetails } from '../../platform/http/problems.ts'

/** The command cannot be carried out in this state; the code is one of the error catalogue. */
export interface Refusal {
  readonly refused: ProblemCode
  readonly details: ProblemDetails
}

/** What a decide function answers: events to append (none for a repeat), or a refusal. */
export type Decision<Event extends DomainEvent> = readonly Event[] | Refusal

export function refuse(code: ProblemCode, details: ProblemDetails = {}): Refusal {
  return { refused: code, details }
}

export function isRefusal(decision: Decision<DomainEvent>): decision is Refusal {
  return 'refused' in decision
}

/**
 * The rule of a keyed create (contract section 1, Idempotency): what stands under the id that the key fixed is either
 * the same request, answered again, or another one.
 */
export function repeated(
  command: { fingerprint: string | null },
  existing: { fingerprint: string | null },
): Decision<never> {
  const isSame = command.fingerprint !== null && command.fingerprint === existing.fingerprint
  return isSame ? [] : refuse('idempotency-key-reused')
}
