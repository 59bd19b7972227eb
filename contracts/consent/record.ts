import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'

/** Specification 2.5. */
export const ConsentTypeRecord = Type.Object(
  {
    id: Uuid,
    organisationId: Uuid,
    code: Type.String(),
    displayName: Type.String(),
    description: Nullable(Type.String()),
    legalBasis: Type.String(),
    required: Type.Boolean(),
    createdAt: Instant,
    updatedAt: Instant,
  },
  { $id: 'ConsentTypeRecord' },
)
export type ConsentTypeRecord = Static<typeof ConsentTypeRecord>

/** Specification 2.5, and `contentHash`: SHA-256 of the text's UTF-8 bytes, lowercase hex. */
export const ConsentTextVersionRecord = Type.Object(
  {
    id: Uuid,
    consentTypeId: Uuid,
    locale: Type.String(),
    text: Type.String(),
    contentHash: Type.String(),
    effectiveFrom: Instant,
    createdAt: Instant,
  },
  { $id: 'ConsentTextVersionRecord' },
)
export type ConsentTextVersionRecord = Static<typeof ConsentTextVersionRecord>

/** Contract section 3, line 341. */
export const ConsentDecisionRecord = Type.Object(
  {
    id: Uuid,
    organisation_id: Uuid,
    patient_id: Uuid,
    consent_type_id: Uuid,
    consent_type_code: Type.String(),
    text_version_id: Uuid,
    text_sha256: Type.String(),
    decision: Type.Enum(['granted', 'denied', 'withdrawn']),
    recorded_at: Instant,
    recorded_by: Nullable(Type.String()),
    created_at: Instant,
  },
  { $id: 'ConsentDecisionRecord' },
)
export type ConsentDecisionRecord = Static<typeof ConsentDecisionRecord>

export interface ConsentDecisionView {
  readonly consentId: string
  readonly organisationId: string
  readonly patientId: string
  readonly consentTypeId: string
  readonly consentTypeCode: string
  readonly textVersionId: string
  readonly textSha256: string
  readonly decision: ConsentDecisionRecord['decision']
  readonly recordedAt: string
  readonly recordedBy: string | null
  readonly createdAt: string
}

export function toConsentDecisionRecord(view: ConsentDecisionView): ConsentDecisionRecord {
  return {
    id: view.consentId,
    organisation_id: view.organisationId,
    patient_id: view.patientId,
    consent_type_id: view.consentTypeId,
    consent_type_code: view.consentTypeCode,
    text_version_id: view.textVersionId,
    text_sha256: view.textSha256,
    decision: view.decision,
    recorded_at: view.recordedAt,
    recorded_by: view.recordedBy,
    created_at: view.createdAt,
  }
}
