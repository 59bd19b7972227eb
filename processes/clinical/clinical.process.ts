import { defineTable } from '../../engine/projections/projector.ts'
import { insertRow, removeRows } from '../../engine/projections/row-changes.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import type { AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { defineProcess, step } from '../../engine/processes/define-process.ts'
import {
  RecordPayload,
  recordFindingsOfReview,
  SupersedePayload,
  supersedeDiagnosesOfReview,
} from './findings.steps.ts'

/** The reviews that led to findings, and their place on the channel: a successor supersedes their diagnoses. */
const analysedReviews = defineTable({
  name: 'analysed_reviews',
  columns: { ai_review_id: 'text', org_id: 'text', channel_revision: 'text' },
  primaryKey: ['ai_review_id'],
})

/**
 * Records findings and diagnoses of a completed AI review, and supersedes those of an earlier one. The row key is the
 * review. A review without findings needs no work.
 */
export const clinicalProcess = defineProcess<CaseEvent | AiReviewChannelEvent, ProcessDependencies>()({
  name: 'clinical',
  version: 1,
  lookups: [analysedReviews],
  steps: {
    'record-findings': step(RecordPayload, recordFindingsOfReview),
    'supersede-diagnoses': step(SupersedePayload, supersedeDiagnosesOfReview),
  },
  on: {
    'ai_review.completed': ({ data: { aiReviewId, orgId, lesions, occurred_at }, revision }, todo) => {
      if (lesions.length === 0) return []
      const channelRevision = revision.toString()
      return [
        todo.schedule('record-findings', aiReviewId, { at: occurred_at, payload: { channelRevision } }),
        insertRow(analysedReviews, { aiReviewId, orgId, channelRevision }),
      ]
    },
    'ai_review.superseded': ({ data: { oldAiReviewId, newAiReviewId, orgId, supersededAt } }, todo) => [
      todo.scheduleForEach('supersede-diagnoses', analysedReviews, { aiReviewId: oldAiReviewId, orgId }, (review) => ({
        key: review('aiReviewId'),
        at: supersededAt,
        payload: { channelRevision: review('channelRevision'), supersededById: newAiReviewId },
      })),
      removeRows(analysedReviews, { aiReviewId: oldAiReviewId, orgId }),
    ],
    CaseFindingRecorded: ({ data: { aiReviewId, ordinal, lesionCount } }, todo) =>
      ordinal === lesionCount ? [todo.clear(aiReviewId, 'record-findings')] : [],
    // Clinicians may have superseded all of them before a successor does. Then nothing is due any more.
    CaseDiagnosisSuperseded: ({ data: { aiReviewId, ordinal, diagnosisCount } }, todo) =>
      ordinal === diagnosisCount
        ? [
            todo.clear(aiReviewId, 'supersede-diagnoses'),
            removeRows(analysedReviews, { aiReviewId, orgId: todo.orgId }),
          ]
        : [],
  },
})
