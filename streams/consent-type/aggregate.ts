import { v5 } from 'uuid'
import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { consentTypeEvents, type ConsentTypeEvent } from './events.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { DataOf } from '../../engine/store/events.ts'

type TextVersion = Omit<DataOf<ConsentTypeEvent, 'ConsentTextVersionPublished'>, 'consentTypeId'>

export type ConsentTypeState =
  | { readonly status: 'absent' }
  | (DataOf<ConsentTypeEvent, 'ConsentTypeCreated'> & {
      /** A deleted type keeps its data: its code stays taken, and repeats of its creation are answered as before. */
      readonly status: 'defined' | 'deleted'
      readonly updatedAt: string
      readonly isUsed: boolean
      readonly textVersions: readonly TextVersion[]
    })

/** A type that was created. It may be deleted since. */
export type MadeConsentType = Exclude<ConsentTypeState, { status: 'absent' }>
export type DefinedConsentType = MadeConsentType & { readonly status: 'defined' }

export function isDefined(state: ConsentTypeState): state is DefinedConsentType {
  return state.status === 'defined'
}

/** The type, deleted or not, after a decision accepted it. */
export function existingType(state: ConsentTypeState): MadeConsentType {
  if (state.status === 'absent') throw new Error('a consent type was decided on that was never made')
  return state
}

function evolve(state: ConsentTypeState, event: ConsentTypeEvent): ConsentTypeState {
  if (event.type === 'ConsentTypeCreated') {
    return { status: 'defined', ...event.data, updatedAt: event.data.createdAt, isUsed: false, textVersions: [] }
  }
  if (state.status === 'absent') return state
  switch (event.type) {
    case 'ConsentTextVersionPublished': {
      const { consentTypeId: _, ...version } = event.data
      return { ...state, textVersions: [...state.textVersions, version] }
    }
    case 'ConsentTypeUsed':
      return { ...state, isUsed: true }
    case 'ConsentTypeUpdated': {
      const { displayName, description, required, updatedAt } = event.data
      return { ...state, displayName, description, required, updatedAt }
    }
    case 'ConsentTypeDeleted':
      return { ...state, status: 'deleted' }
  }
}

export const consentTypes = defineAggregate({
  category: 'consent_type',
  id: idOfOrganisation,
  events: consentTypeEvents,
  initialState: { status: 'absent' },
  evolve,
})

const codes = '5b0f0c52-6a53-5d0e-9a55-2f6f3f1f7d11'

/**
 * The code is unique and immutable in its organisation, and the id derives from it. So the NoStream check ensures
 * uniqueness.
 */
export function consentTypeIdOf(orgId: TenantId, code: string): string {
  return v5(`${orgId}/${code}`, codes)
}
