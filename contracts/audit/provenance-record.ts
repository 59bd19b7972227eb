import { Type, type Static } from 'typebox'
import { Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'

const text = Nullable(Type.String())
const count = Nullable(Type.Integer())
const fact = { event_id: Uuid }

const Bytes = { sha256: text, bytes: count, ...fact }

const Decision = Type.Object({
  id: text,
  decision: text,
  recorded_at: text,
  created_at: text,
  text_version: Type.Object({
    id: text,
    locale: text,
    text_sha256: Nullable(Type.String({ description: "SHA-256 of the text's UTF-8 bytes" })),
    event_id: Nullable(Uuid),
  }),
  ...fact,
})

const HumanReview = Type.Object({
  task_id: text,
  is_selected: Type.Boolean({ description: 'False if no rule of the policy in force selected the review' }),
  opened_at: text,
  opinions: Type.Array(
    Type.Object({
      number: count,
      user_id: text,
      recommendation: text,
      lesions: Type.Array(Type.Object({ lesion_number: count, outcome: text })),
      given_at: text,
      ...fact,
    }),
  ),
  decision: Nullable(
    Type.Object({
      opinion: count,
      user_id: text,
      agrees_with_ai: Nullable(Type.Boolean()),
      decided_at: text,
      ...fact,
    }),
  ),
  cancelled: Nullable(Type.Object({ reason: text, cancelled_at: text, ...fact })),
  ...fact,
})

/** What `offline/provenance-document.ts` makes of the events. Each fact names its event. */
const ProvenanceDocument = Type.Object(
  {
    version: Type.Integer(),
    review: Type.Object({ id: text, product_id: text, requested_at: text, ...fact }),
    organisation: Type.Object({ id: text, ...fact }),
    patient: Type.Object({ id: text, ...fact }),
    case: Type.Object({ id: text, opened_at: text, ...fact }),
    assessment: Nullable(Type.Object({ id: text, requested_at: text, ...fact })),
    consent_decisions: Type.Array(Decision, {
      ...personal('consent'),
      description: 'All decisions of the patient on the analysis up to the end of the review, in the order of the log',
    }),
    consent_checks: Type.Array(
      Type.Object({ call: text, attempt_id: text, checked_at: text, decision: Nullable(Decision), ...fact }),
      { description: 'The checks before the calls `case` and `process`, with the decision that each one found' },
    ),
    images: Type.Array(
      Type.Object({
        id: text,
        image_type: text,
        capture_type: text,
        received: Nullable(Type.Object(Bytes)),
        sent: Type.Array(Type.Object({ ...Bytes, at: text, provider_image_id: count })),
      }),
    ),
    provider: Nullable(Type.Object({ name: text, version: text, ...fact })),
    calls: Type.Array(
      Type.Object({
        call: text,
        image_id: text,
        attempt_id: text,
        attempted_at: text,
        outcome: Nullable(Type.Object({ type: text, at: text, status: count, duration_ms: count, ...fact })),
        ...fact,
      }),
      { description: 'The calls of the provider, without logins' },
    ),
    ends: Type.Array(
      Type.Object({
        status: Type.String(),
        at: text,
        error: text,
        cancel_reason: text,
        superseded_by_id: text,
        ...fact,
      }),
    ),
    result: Nullable(
      Type.Object({
        analysis_result: text,
        analysis_status: text,
        lesion_count: count,
        report_date: text,
        response_sha256: Nullable(
          Type.String({ description: 'Of the response as the provider sent it. Null in older reviews' }),
        ),
        stored_sha256: Nullable(Type.String({ description: 'Of the encrypted response in the object store' })),
        stored_bytes: count,
        ...fact,
      }),
      personal('results'),
    ),
    human_review: Nullable(HumanReview, personal('results')),
  },
  { $id: 'ProvenanceDocument' },
)

export const ProvenanceReply = Type.Object(
  {
    document: ProvenanceDocument,
    jws: Type.String({
      description: 'Compact JWS of the RFC 8785 form of `document`; its keys are in /v1/auth/.well-known/jwks.json',
    }),
    proofs: Type.Array(
      Type.Object({
        event_id: Uuid,
        proof: Type.String({ description: 'C2SP tlog-proof' }),
        data: Type.String({
          ...personal('results'),
          contentEncoding: 'base64',
          description: 'The stored bytes of the event. Personal members are encrypted in them',
        }),
      }),
    ),
  },
  { $id: 'ProvenanceReply' },
)
export type ProvenanceReply = Static<typeof ProvenanceReply>
