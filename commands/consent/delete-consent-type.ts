import type { ConsentTypeEvent } from '../../streams/consent-type/events.ts'
import { isDefined, type ConsentTypeState } from '../../streams/consent-type/aggregate.ts'
import { refuse, type Decision } from '../handling/decision.ts'

/**
 * Soft: the stream stays, and the code stays taken. A type is marked as used in its own stream before its first
 * decision is recorded, so that stream alone decides which of the two comes first.
 */
export function deleteConsentType(command: { now: Date }, state: ConsentTypeState): Decision<ConsentTypeEvent> {
  if (!isDefined(state)) return refuse('not-found')
  if (state.isUsed) return refuse('consent-type-in-use')
  return [
    { type: 'ConsentTypeDeleted', data: { consentTypeId: state.consentTypeId, deletedAt: command.now.toISOString() } },
  ]
}
