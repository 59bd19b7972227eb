import { Type, type Static } from 'typebox'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'
import { Fingerprint, Id, Instant, OrgId } from '../../engine/aggregates/types.ts'

export const PatientIdentifier = Type.Object({ scheme: Type.String(), value: Type.String() })
export type PatientIdentifier = Static<typeof PatientIdentifier>

/** One personal member, not four: a list opens one ciphertext for each patient. */
export const Person = Type.Object({
  givenName: Type.String(),
  familyName: Type.String(),
  dob: Type.String(),
  identifiers: Type.Array(PatientIdentifier),
})
export type Person = Static<typeof Person>

export const patientEvents = {
  PatientRegistered: defineEvent(
    'PatientRegistered',
    Type.Object({
      patientId: Id,
      organisationId: OrgId,
      person: Phi(Person),
      fingerprint: Fingerprint,
      registeredAt: Instant,
    }),
    { subject: 'patientId' },
  ),
  /** The whole person after the correction. */
  PatientCorrected: defineEvent(
    'PatientCorrected',
    Type.Object({
      patientId: Id,
      person: Phi(Person),
      correctedAt: Instant,
    }),
    { subject: 'patientId' },
  ),
  /**
   * A registration or correction that claimed an identifier took too long, so another patient may claim it (decision
   * 0047). An append at an older revision of this stream is refused from here on. The stream may begin with this event.
   */
  PatientIdentifierClaimExpired: defineEvent(
    'PatientIdentifierClaimExpired',
    Type.Object({ patientId: Id, claimId: Id, expiredAt: Instant }),
  ),
  /** Another patient got an identifier between its reservation and the registration. This registration never counted. */
  PatientRegistrationRevoked: defineEvent(
    'PatientRegistrationRevoked',
    Type.Object({ patientId: Id, reason: Type.Literal('identifier_conflict'), revokedAt: Instant }),
  ),
} as const

export type PatientEvent = EventOf<typeof patientEvents>
