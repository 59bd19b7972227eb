import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import { ConsentDecision } from '../../streams/consent/events.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

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

/** Specification 4.4. */
export const ConsentDecisionRecord = Type.Object(
  {
    id: Uuid,
    organisation_id: Uuid,
    patient_id: Uuid,
    consent_type_id: Uuid,
    consent_type_code: Type.String(),
    text_version_id: Uuid,
    text_sha256: Type.String(),
    decision: ConsentDecision,
    recorded_at: Instant,
    recorded_by: Nullable(Type.String()),
    created_at: Instant,
  },
  { $id: 'ConsentDecisionRecord', ...personal('consent') },
)
export type ConsentDecisionRecord = Static<typeof ConsentDecisionRecord>

type DecisionValues = Omit<ValuesOf<typeof ConsentDecisionRecord>, 'id'> & { readonly consentId: string }

export function toConsentDecisionRecord(decision: DecisionValues): ConsentDecisionRecord {
  return toRecord(ConsentDecisionRecord, { ...decision, id: decision.consentId })
}

/** The answer to a check of a consent. `unavailable` is not a permission. */
export type ConsentAnswer = 'granted' | 'not-granted' | 'unavailable'
