import type { ConsentTypeEvent } from '../../streams/consent-type/events.ts'
import { isDefined, type ConsentTypeState } from '../../streams/consent-type/aggregate.ts'
import { refuse, type Decision } from '../handling/decision.ts'

/** Where a decision names a type that is not there, or not any more. */
export const unknownConsentType = {
  errors: [
    { pointer: '/consent_type_id', detail: 'names no consent type of the organisation', code: 'unknown-consent-type' },
  ],
}

/** Marks the type as used before its first decision is recorded: the type's own stream decides whether it may go. */
export function useConsentType(command: { now: Date }, state: ConsentTypeState): Decision<ConsentTypeEvent> {
  if (!isDefined(state)) return refuse('consent-type-not-found', unknownConsentType)
  if (state.isUsed) return []
  return [{ type: 'ConsentTypeUsed', data: { consentTypeId: state.consentTypeId, usedAt: command.now.toISOString() } }]
}
