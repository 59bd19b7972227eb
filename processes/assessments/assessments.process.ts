import type { RecordedEvent } from '../../streams/store/events.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import { parseOwnedStream } from '../../streams/aggregate.ts'
import { defineProjector, defineTable, insert, insertSelect, removeWhere } from '../../projections/runtime/projector.ts'
import { todoTable } from '../runtime/process.ts'
import { causeOf, type CausedPayload } from '../runtime/step-identity.ts'

/** Which assessment opened a case: the reviews on the channel name the case only. */
const openedCases = defineTable({
  name: 'opened_cases',
  columns: { case_id: 'uuid', org_id: 'text', assessment_id: 'text' },
  primaryKey: ['case_id'],
  indexes: [{ columns: ['assessment_id'] }],
})

/** What `conclude` needs to know of the event that ended the review: where it stands on the channel, and whose end it is. */
export interface ConcludePayload extends CausedPayload {
  readonly channelRevision: string
  readonly aiReviewId: string
}

/**
 * What an assessment still needs: an end when its uploads are not submitted in time; once they are, a review asked for,
 * that review's end recorded, and an end of its own when the deadline passes. Keyed by the assessment's id.
 */
export const assessmentsToDo = defineProjector<AssessmentEvent | AiReviewChannelEvent>()({
  name: 'assessments_todo',
  version: 2,
  tables: [todoTable, openedCases],
  handlers: {
    AssessmentUploadsAwaited: (event) => [
      insert(todoTable, {
        key: event.data.assessmentId,
        step: 'close-uploads',
        org_id: parseOwnedStream(event.stream).orgId,
        due_at: event.data.closesAt,
        payload: { cause: causeOf(event) } satisfies CausedPayload,
      }),
    ],
    AssessmentSubmitted: (event) => {
      const { data } = event
      const { orgId } = parseOwnedStream(event.stream)
      const payload: CausedPayload = { cause: causeOf(event) }
      const todo = { key: data.assessmentId, org_id: orgId, payload }
      return [
        removeWhere(todoTable, { key: data.assessmentId, step: 'close-uploads' }),
        insert(openedCases, { case_id: data.caseId, org_id: orgId, assessment_id: data.assessmentId }),
        insert(todoTable, { ...todo, step: 'request-review', due_at: data.submittedAt }),
        insert(todoTable, { ...todo, step: 'expire', due_at: data.deadlineAt }),
      ]
    },
    AssessmentReviewRequested: ({ data }) => [
      removeWhere(todoTable, { key: data.assessmentId, step: 'request-review' }),
    ],
    'ai_review.completed': reviewEnded,
    'ai_review.failed': reviewEnded,
    'ai_review.cancelled': reviewEnded,
    // Whatever it came to counts no more; its successor's end concludes (T28).
    'ai_review.superseded': ({ data }) => [
      removeWhere(todoTable, {
        step: 'conclude',
        org_id: data.orgId,
        payload: { contains: { aiReviewId: data.oldAiReviewId } },
      }),
    ],
    AssessmentCompleted: ({ data }) => ended(data.assessmentId),
    AssessmentFailed: ({ data }) => ended(data.assessmentId),
  },
})

/** A review that ends later finds no case here, and makes no row that nothing would remove. */
function ended(assessmentId: string) {
  return [removeWhere(todoTable, { key: assessmentId }), removeWhere(openedCases, { assessment_id: assessmentId })]
}

type ReviewEnded = Extract<
  AiReviewChannelEvent,
  { type: 'ai_review.completed' | 'ai_review.failed' | 'ai_review.cancelled' }
>

function reviewEnded(
  event: Pick<RecordedEvent, 'id' | 'metadata' | 'revision'> & { readonly data: ReviewEnded['data'] },
) {
  const { data, revision } = event
  const payload: ConcludePayload = {
    cause: causeOf(event),
    channelRevision: revision.toString(),
    aiReviewId: data.aiReviewId,
  }
  return [
    insertSelect(todoTable, {
      from: openedCases,
      where: { case_id: data.caseId, org_id: data.orgId },
      // The end of a successor may come before the row of its predecessor is worked off: the later end counts.
      existing: 'replace',
      columns: {
        key: { column: 'assessment_id' },
        step: { value: 'conclude' },
        org_id: { column: 'org_id' },
        due_at: { value: data.occurred_at },
        payload: { value: payload },
      },
    }),
  ]
}
