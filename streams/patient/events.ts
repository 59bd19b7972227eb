import { Type, type Static } from 'typebox'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'
import { Fingerprint, Id, Instant, OrgId } from '../../engine/aggregates/types.ts'

export const PatientIdentifier = Type.Object({ scheme: Type.String(), value: Type.String() })
export type PatientIdentifier = Static<typeof PatientIdentifier>

export const patientEvents = {
  PatientRegistered: defineEvent(
    'PatientRegistered',
    Type.Object({
      patientId: Id,
      organisationId: OrgId,
      givenName: Phi(Type.String()),
      familyName: Phi(Type.String()),
      dob: Phi(Type.String()),
      fingerprint: Fingerprint,
      identifiers: Phi(Type.Array(PatientIdentifier)),
      registeredAt: Instant,
    }),
    { subject: 'patientId' },
  ),
  /** All members of the patient after the correction. */
  PatientCorrected: defineEvent(
    'PatientCorrected',
    Type.Object({
      patientId: Id,
      givenName: Phi(Type.String()),
      familyName: Phi(Type.String()),
      dob: Phi(Type.String()),
      identifiers: Phi(Type.Array(PatientIdentifier)),
      correctedAt: Instant,
    }),
    { subject: 'patientId' },
  ),
  /** Another patient got an identifier between its reservation and the registration. This registration never counted. */
  PatientRegistrationRevoked: defineEvent(
    'PatientRegistrationRevoked',
    Type.Object({ patientId: Id, reason: Type.Literal('identifier_conflict'), revokedAt: Instant }),
  ),
} as const

export type PatientEvent = EventOf<typeof patientEvents>
