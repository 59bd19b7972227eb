import { Type, type Static } from 'typebox'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'
import { Fingerprint, Id, Instant, Nullable, Sha256, OrgId } from '../../engine/aggregates/types.ts'

export const ConsentDecision = Type.Enum(['granted', 'denied', 'withdrawn'])
export type ConsentDecision = Static<typeof ConsentDecision>

export const consentEvents = {
  ConsentRecorded: defineEvent(
    'ConsentRecorded',
    Type.Object({
      consentId: Id,
      organisationId: OrgId,
      patientId: Id,
      consentTypeId: Id,
      consentTypeCode: Type.String(),
      textVersionId: Id,
      textSha256: Sha256,
      decision: ConsentDecision,
      recordedAt: Instant,
      /** Free text of the caller, hence PHI. */
      recordedBy: Phi(Nullable(Type.String())),
      createdAt: Instant,
      fingerprint: Fingerprint,
    }),
    { subject: 'patientId' },
  ),
} as const

export type ConsentEvent = EventOf<typeof consentEvents>
