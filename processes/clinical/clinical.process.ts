import {
  defineProjector,
  defineTable,
  insert,
  insertSelect,
  remove,
  removeWhere,
} from '../../projections/runtime/projector.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import type { AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import { todoTable } from '../runtime/process.ts'
import { causeOf, type CausedPayload } from '../runtime/step-identity.ts'

/** The reviews that led to findings, and where the channel says so: those whose diagnoses a successor supersedes. */
const analysedReviews = defineTable({
  name: 'analysed_reviews',
  columns: { ai_review_id: 'text', org_id: 'text', channel_revision: 'text' },
  primaryKey: ['ai_review_id'],
})

/** Where the completed review stands on the channel: its lesions stay out of the list. */
export interface RecordPayload extends CausedPayload {
  readonly channelRevision: string
}

export interface SupersedePayload extends RecordPayload {
  readonly supersededById: string
}

/**
 * What the clinical service makes of AI reviews: findings and diagnoses of a completed one, which a later one supersedes.
 * Keyed by the review. One that found nothing leaves nothing to do.
 */
export const clinicalToDo = defineProjector<CaseEvent | AiReviewChannelEvent>()({
  name: 'clinical_todo',
  version: 1,
  tables: [todoTable, analysedReviews],
  handlers: {
    'ai_review.completed': (event) => {
      const { aiReviewId, orgId, lesions, occurred_at } = event.data
      if (lesions.length === 0) return []
      const payload: RecordPayload = { cause: causeOf(event), channelRevision: event.revision.toString() }
      return [
        insert(todoTable, { key: aiReviewId, step: 'record-findings', org_id: orgId, due_at: occurred_at, payload }),
        insert(analysedReviews, { ai_review_id: aiReviewId, org_id: orgId, channel_revision: payload.channelRevision }),
      ]
    },
    'ai_review.superseded': (event) => {
      const { oldAiReviewId, newAiReviewId, orgId, supersededAt } = event.data
      const review = { ai_review_id: oldAiReviewId, org_id: orgId }
      return [
        insertSelect(todoTable, {
          from: analysedReviews,
          where: review,
          columns: {
            key: { column: 'ai_review_id' },
            step: { value: 'supersede-diagnoses' },
            org_id: { column: 'org_id' },
            due_at: { value: supersededAt },
            payload: {
              json: {
                cause: { value: causeOf(event) },
                channelRevision: { column: 'channel_revision' },
                supersededById: { value: newAiReviewId },
              },
            },
          },
        }),
        removeWhere(analysedReviews, review),
      ]
    },
    CaseFindingRecorded: ({ data: { aiReviewId, ordinal, lesionCount } }) =>
      ordinal === lesionCount ? [remove(todoTable, { key: aiReviewId, step: 'record-findings' })] : [],
    CaseDiagnosisSuperseded: ({ data: { aiReviewId, ordinal, diagnosisCount } }) =>
      ordinal === diagnosisCount ? [remove(todoTable, { key: aiReviewId, step: 'supersede-diagnoses' })] : [],
  },
})
