import type { ConsentTypeEvent } from '../../streams/consent-type/events.ts'
import { isDefined, type ConsentTypeState } from '../../streams/consent-type/state.ts'
import { refuse, type Decision } from '../handling/decision.ts'

/** Marks the type as used before its first decision is recorded: the type's own stream decides whether it may go. */
export function useConsentType(command: { now: Date }, state: ConsentTypeState): Decision<ConsentTypeEvent> {
  if (!isDefined(state)) return refuse('consent-type-not-found')
  if (state.isUsed) return []
  return [
    { type: 'ConsentTypeUsed', data: { consentTypeId: state.consentTypeId, usedAt: command.now.toISOString() } },
  ]
}
