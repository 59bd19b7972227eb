import type { ConsentTypeEvent } from '../../streams/consent-type/events.ts'
import { isDefined, type ConsentTypeState } from '../../streams/consent-type/aggregate.ts'
import { refuse, type Decision } from '../handling/decision.ts'

export interface UpdateConsentType {
  /** Undefined members stay as they are. */
  readonly displayName: string | undefined
  readonly description: string | null | undefined
  readonly required: boolean | undefined
  readonly now: Date
}

/** Changes how a type is described, never its code, its legal basis or a text. What it says already happens not again. */
export function updateConsentType(
  { now, ...changes }: UpdateConsentType,
  state: ConsentTypeState,
): Decision<ConsentTypeEvent> {
  if (!isDefined(state)) return refuse('not-found')
  const {
    consentTypeId,
    displayName = state.displayName,
    description = state.description,
    required = state.required,
  } = { ...state, ...changes }
  const isSame = displayName === state.displayName && description === state.description && required === state.required
  if (isSame) return []
  return [
    {
      type: 'ConsentTypeUpdated',
      data: { consentTypeId, displayName, description, required, updatedAt: now.toISOString() },
    },
  ]
}
