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
      readonly fingerprint: string | null
    }

export type RegisteredPatient = Extract<PatientState, { status: 'registered' }>

function evolve(_: PatientState, event: PatientEvent): PatientState {
  switch (event.type) {
    case 'PatientRegistered':
      return { status: 'registered', ...event.data }
    case 'PatientRegistrationRevoked':
      return { status: 'revoked' }
  }
}

export const patientFold: Fold<PatientState, PatientEvent> = { category, initialState: { status: 'absent' }, evolve }
