import { defineTable, type RowChange } from '../../projections/runtime/projector.ts'
import { insertRow, removeRows } from '../../projections/runtime/row-changes.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import type { AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import type { Recorded } from '../relay/channel.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { defineProcess, Nothing, step } from '../runtime/define-process.ts'
import type { TodoList } from '../runtime/todo-list.ts'
import { askForReview, closeUploads, expire } from './assessments.steps.ts'
import { CollectedPayload, createCollected } from './create-collected.steps.ts'
import { conclude, ConcludePayload, type ReviewEnded } from './conclude.steps.ts'

/** The assessment that opened a case. Reviews on the channel name only the case. */
const openedCases = defineTable({
  name: 'opened_cases',
  columns: { case_id: 'uuid', org_id: 'text', assessment_id: 'text' },
  primaryKey: ['case_id'],
  indexes: [{ columns: ['assessment_id'] }],
})

const steps = {
  'create-collected': step(CollectedPayload, createCollected),
  'close-uploads': step(Nothing, closeUploads),
  'request-review': step(Nothing, askForReview),
  conclude: step(ConcludePayload, conclude),
  expire: step(Nothing, expire),
}

type Todos = TodoList<typeof steps>

/**
 * The work that an assessment still needs. A case with an assigned assessment needs its creation. An assessment ends if its uploads are not submitted in time. After the submission it
 * needs a review, the result of the review, and an end when the deadline passes. The row key is the id of the
 * assessment.
 */
export const assessmentsProcess = defineProcess<
  AssessmentEvent | AiReviewChannelEvent | CaseEvent,
  ProcessDependencies
>()({
  name: 'assessments',
  version: 3,
  lookups: [openedCases],
  steps,
  on: {
    CaseAssessmentAssigned: ({ data: { assessmentId, caseId, assignedAt } }, todo) => [
      todo.schedule('create-collected', assessmentId, { at: assignedAt, payload: { caseId } }),
    ],
    AssessmentUploadsAwaited: ({ data }, todo) => [
      todo.schedule('close-uploads', data.assessmentId, { at: data.closesAt }),
    ],
    AssessmentSubmitted: ({ data }, todo) => [
      todo.clear(data.assessmentId, 'close-uploads'),
      todo.clear(data.assessmentId, 'create-collected'),
      insertRow(openedCases, { caseId: data.caseId, orgId: todo.orgId, assessmentId: data.assessmentId }),
      todo.schedule('request-review', data.assessmentId, { at: data.submittedAt }),
      todo.schedule('expire', data.assessmentId, { at: data.deadlineAt }),
    ],
    AssessmentReviewRequested: ({ data }, todo) => [todo.clear(data.assessmentId, 'request-review')],
    'ai_review.completed': reviewEnded,
    'ai_review.failed': reviewEnded,
    'ai_review.cancelled': reviewEnded,
    // The outcome of a superseded review no longer counts. The end of its successor concludes (T28).
    'ai_review.superseded': ({ data }, todo) => [
      todo.clearWhere('conclude', { orgId: data.orgId, payload: { aiReviewId: data.oldAiReviewId } }),
    ],
    AssessmentCompleted: ({ data }, todo) => ended(data.assessmentId, todo),
    AssessmentFailed: ({ data }, todo) => ended(data.assessmentId, todo),
  },
})

/** A review that ends later finds no case here, so it makes no row. */
function ended(assessmentId: string, todo: Todos): RowChange[] {
  return [todo.clear(assessmentId), removeRows(openedCases, { assessmentId })]
}

function reviewEnded({ data, revision }: Recorded<ReviewEnded>, todo: Todos): RowChange[] {
  return [
    todo.scheduleForEach('conclude', openedCases, { caseId: data.caseId, orgId: data.orgId }, (opened) => ({
      key: opened('assessmentId'),
      at: data.occurred_at,
      // The end of a successor may come before the row of its predecessor is worked off. The later end counts.
      existing: 'replace',
      payload: { channelRevision: revision.toString(), aiReviewId: data.aiReviewId },
    })),
  ]
}
