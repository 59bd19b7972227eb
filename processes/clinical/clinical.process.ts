import { defineTable, insertSelect } from '../../engine/projections/projector.ts'
import { insertRow, removeRow, removeRows } from '../../engine/projections/row-changes.ts'
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

/** The cases of this event store. Reviews may be about cases of another one, which records their findings itself. */
const openedCases = defineTable({
  name: 'opened_cases',
  columns: { case_id: 'text', org_id: 'text' },
  primaryKey: ['case_id'],
})

/** Completed reviews whose findings are not recorded, with their place on the channel. If their case never opens, they stay. */
const unrecordedReviews = defineTable({
  name: 'unrecorded_reviews',
  columns: { ai_review_id: 'text', org_id: 'text', case_id: 'text', channel_revision: 'text' },
  primaryKey: ['ai_review_id'],
  indexes: [{ columns: ['case_id'] }],
})

/** The reviews that lead to findings, and their place on the channel: a successor supersedes their diagnoses. */
const analysedReviews = defineTable({
  name: 'analysed_reviews',
  columns: { ai_review_id: 'text', org_id: 'text', channel_revision: 'text' },
  primaryKey: ['ai_review_id'],
})

/**
 * Records findings and diagnoses of a completed AI review, and supersedes those of an earlier one. The row key is the
 * review. A review without findings needs no work, nor does one whose case is not in this event store, or was not open before
 * another review replaced it.
 */
export const clinicalProcess = defineProcess<CaseEvent | AiReviewChannelEvent, ProcessDependencies>()({
  name: 'clinical',
  version: 2,
  lookups: [openedCases, unrecordedReviews, analysedReviews],
  steps: {
    'record-findings': step(RecordPayload, recordFindingsOfReview),
    'supersede-diagnoses': step(SupersedePayload, supersedeDiagnosesOfReview),
  },
  on: {
    CaseOpened: ({ data: { caseId, openedAt: at } }, todo) => {
      const { orgId } = todo
      return [
        insertRow(openedCases, { caseId, orgId }),
        insertSelect(analysedReviews, {
          from: unrecordedReviews,
          where: { case_id: caseId, org_id: orgId },
          columns: {
            ai_review_id: { column: 'ai_review_id' },
            org_id: { column: 'org_id' },
            channel_revision: { column: 'channel_revision' },
          },
        }),
        todo.scheduleForEach('record-findings', unrecordedReviews, { caseId, orgId }, (review) => ({
          key: review('aiReviewId'),
          at,
          payload: { channelRevision: review('channelRevision') },
          mayWait: true,
        })),
      ]
    },
    'ai_review.completed': ({ data: { aiReviewId, orgId, caseId, lesions, occurred_at: at }, revision }, todo) => {
      if (lesions.length === 0) return []
      const channelRevision = revision.toString()
      return [
        insertRow(unrecordedReviews, { aiReviewId, orgId, caseId, channelRevision }),
        insertSelect(analysedReviews, {
          from: openedCases,
          where: { case_id: caseId, org_id: orgId },
          columns: {
            ai_review_id: { value: aiReviewId },
            org_id: { column: 'org_id' },
            channel_revision: { value: channelRevision },
          },
        }),
        todo.scheduleForEach('record-findings', openedCases, { caseId, orgId }, () => ({
          key: aiReviewId,
          at,
          payload: { channelRevision },
        })),
      ]
    },
    'ai_review.superseded': ({ data: { oldAiReviewId, newAiReviewId, orgId, supersededAt } }, todo) => [
      todo.scheduleForEach('supersede-diagnoses', analysedReviews, { aiReviewId: oldAiReviewId, orgId }, (review) => ({
        key: review('aiReviewId'),
        at: supersededAt,
        payload: { channelRevision: review('channelRevision'), supersededById: newAiReviewId },
      })),
      removeRows(analysedReviews, { aiReviewId: oldAiReviewId, orgId }),
      removeRows(unrecordedReviews, { aiReviewId: oldAiReviewId, orgId }),
    ],
    CaseFindingRecorded: ({ data: { aiReviewId, ordinal, lesionCount } }, todo) =>
      ordinal === lesionCount
        ? [todo.clear(aiReviewId, 'record-findings'), removeRow(unrecordedReviews, { aiReviewId })]
        : [],
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
