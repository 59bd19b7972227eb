import type { Fold } from '../store/events.ts'
import type { PatientEvent, PatientIdentifier } from './events.ts'
import { category } from './stream.ts'

export type PatientState =
  | { readonly status: 'absent' }
  | { readonly status: 'revoked' }
  | {
      readonly status: 'registered'
      readonly patientId: string
      readonly organisationId: string
      readonly givenName: string | null
      readonly familyName: string | null
      readonly dob: string | null
      readonly identifiers: readonly PatientIdentifier[] | null
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
    case 'PatientRegistrationRevoked':
      return { status: 'revoked' }
  }
}

export const patientFold: Fold<PatientState, PatientEvent> = { category, initialState: { status: 'absent' }, evolve }
