import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { patientEvents, type PatientEvent, type Person } from './events.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

export type PatientState =
  | { readonly status: 'absent' }
  | { readonly status: 'revoked' }
  | {
      readonly status: 'registered'
      readonly patientId: string
      readonly organisationId: TenantId
      /** Null after the erasure. */
      readonly person: Person | null
      readonly registeredAt: string
      readonly updatedAt: string
      readonly fingerprint: string | null
    }

export type RegisteredPatient = Extract<PatientState, { status: 'registered' }>

function evolve(state: PatientState, event: PatientEvent): PatientState {
  switch (event.type) {
    case 'PatientRegistered':
      return { status: 'registered', ...event.data, updatedAt: event.data.registeredAt }
    case 'PatientCorrected': {
      if (state.status !== 'registered') return state
      const { correctedAt, ...corrected } = event.data
      return { ...state, ...corrected, updatedAt: correctedAt }
    }
    // Only the revision counts. A request that was slower claims its identifiers again.
    case 'PatientIdentifierClaimExpired':
      return state
    case 'PatientRegistrationRevoked':
      return { status: 'revoked' }
  }
}

export const patients = defineAggregate({
  category: 'patient',
  id: idOfOrganisation,
  events: patientEvents,
  initialState: { status: 'absent' },
  evolve,
})
