import { Type, type Static } from 'typebox'
import { Instant, localeDocumented, Nullable, Text, Uuid } from '../../platform/http/members.ts'
import { ConsentDecision } from '../../streams/consent/events.ts'

const description = Type.Optional(Nullable(Type.String({ maxLength: 255 })))

export const CreateConsentTypeBody = Type.Object(
  {
    organisationId: Type.Optional(Uuid),
    code: Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' }),
    displayName: Text(255),
    description,
    legalBasis: Text(255),
    required: Type.Boolean(),
  },
  { $id: 'CreateConsentTypeBody', additionalProperties: false },
)

/** Code and legal basis cannot change: another legal basis makes another type. */
export const UpdateConsentTypeBody = Type.Object(
  { displayName: Type.Optional(Text(255)), description, required: Type.Optional(Type.Boolean()) },
  { $id: 'UpdateConsentTypeBody', additionalProperties: false },
)

export const PublishTextVersionBody = Type.Object(
  {
    locale: Type.String({
      minLength: 2,
      maxLength: 64,
      description: 'BCP 47, for example en-GB',
      documented: localeDocumented,
    }),
    text: Text(100_000),
    effectiveFrom: Type.Optional(Instant),
  },
  { $id: 'PublishTextVersionBody', additionalProperties: false },
)

export const RecordConsentBody = Type.Object(
  {
    consent_type_id: Uuid,
    text_version_id: Uuid,
    decision: ConsentDecision,
    recorded_by: Type.Optional(Text(255)),
    recorded_at: Type.Optional(Instant),
  },
  { $id: 'RecordConsentBody', additionalProperties: false },
)
export type RecordConsentBody = Static<typeof RecordConsentBody>
