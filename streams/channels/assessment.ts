import { Type } from 'typebox'
import { FailureCode } from '../assessment/events.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant, Nullable } from '../../engine/aggregates/types.ts'
import { defineChannelStream, publicData } from '../../engine/aggregates/channel-stream.ts'

const named = { org_id: Id, assessment_id: Id, patient_id: Id }

/** Stream of the public assessment events: ids, status and error code. Only webhooks contain the record. */
export const assessmentChannelStream = defineChannelStream({
  name: 'assessment.events',
  organisationMember: 'org_id',
  events: {
    completed: defineEvent(
      'assessment.completed',
      publicData({
        ...named,
        case_id: Id,
        product_id: Id,
        status: Type.Literal('completed'),
        error_code: Type.Null(),
        ended_at: Instant,
      }),
    ),
    /** `case_id` is null if the uploads were never submitted. */
    failed: defineEvent(
      'assessment.failed',
      publicData({
        ...named,
        case_id: Nullable(Id),
        product_id: Id,
        status: Type.Literal('failed'),
        error_code: FailureCode,
        ended_at: Instant,
      }),
    ),
    /** Clinicians have decided about an AI review of the assessment. Status and error are those of its end. */
    reviewed: defineEvent(
      'assessment.reviewed',
      publicData({
        ...named,
        case_id: Id,
        product_id: Id,
        status: Type.Enum(['completed', 'failed']),
        error_code: Nullable(FailureCode),
        ended_at: Instant,
        task_id: Id,
        ai_review_id: Id,
        agrees_with_ai: Type.Boolean(),
        decided_at: Instant,
      }),
    ),
  },
})

export type AssessmentChannelEvent = EventOf<typeof assessmentChannelStream.events>
