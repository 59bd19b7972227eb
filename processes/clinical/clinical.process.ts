import { defineTable } from '../../engine/projections/projector.ts'
import { insertRow, patchRows, removeRows } from '../../engine/projections/row-changes.ts'
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

/**
 * Completed reviews with findings, and their place on the channel, until another review replaces them. If their case never opens, they
 * stay.
 */
const analysedReviews = defineTable({
  name: 'analysed_reviews',
  columns: { ai_review_id: 'text', org_id: 'text', case_id: 'text', channel_revision: 'text', is_recorded: 'boolean' },
  primaryKey: ['ai_review_id'],
  indexes: [{ columns: ['case_id'] }],
})

/**
 * Records findings and diagnoses of a completed AI review, and supersedes those of an earlier one. The row key is the
 * review. A review without findings needs no work, nor does one whose case is not in this event store, or was not open before
 * another review replaced it. If the findings of a superseded review are still due, the step that supersedes records them too.
 */
export const clinicalProcess = defineProcess<CaseEvent | AiReviewChannelEvent, ProcessDependencies>()({
  name: 'clinical',
  version: 3,
  lookups: [openedCases, analysedReviews],
  steps: {
    'record-findings': step(RecordPayload, recordFindingsOfReview),
    'supersede-diagnoses': step(SupersedePayload, supersedeDiagnosesOfReview),
  },
  on: {
    CaseOpened: ({ data: { caseId, openedAt: at } }, todo) => {
      const { orgId } = todo
      return [
        insertRow(openedCases, { caseId, orgId }),
        todo.scheduleForEach('record-findings', analysedReviews, { caseId, orgId }, (review) => ({
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
        insertRow(analysedReviews, { aiReviewId, orgId, caseId, channelRevision, isRecorded: false }),
        todo.scheduleForEach('record-findings', openedCases, { caseId, orgId }, () => ({
          key: aiReviewId,
          at,
          payload: { channelRevision },
        })),
      ]
    },
    'ai_review.superseded': ({ data: { oldAiReviewId, newAiReviewId, orgId, supersededAt: at } }, todo) => {
      const aiReviewId = oldAiReviewId
      const supersededById = newAiReviewId
      return [
        todo.scheduleForEach(
          'supersede-diagnoses',
          analysedReviews,
          { aiReviewId, orgId, isRecorded: true },
          (review) => ({
            key: review('aiReviewId'),
            at,
            payload: { recording: { channelRevision: review('channelRevision') }, supersededById },
          }),
        ),
        ...todo.replaceWhere('record-findings', { key: aiReviewId, orgId }, 'supersede-diagnoses', (recording) => ({
          at,
          payload: { recording, supersededById },
        })),
        removeRows(analysedReviews, { aiReviewId, orgId }),
      ]
    },
    CaseFindingRecorded: ({ data: { aiReviewId, ordinal, lesionCount } }, todo) =>
      ordinal === lesionCount
        ? [todo.clear(aiReviewId, 'record-findings'), patchRows(analysedReviews, { aiReviewId }, { isRecorded: true })]
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
