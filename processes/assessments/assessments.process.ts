import { defineTable, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow, removeRows, upsertRow } from '../../engine/projections/row-changes.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import type { AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import type { HumanReviewTaskEvent } from '../../streams/human-review-task/events.ts'
import type { Recorded } from '../../engine/relay/channel.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { defineProcess, Nothing, step } from '../../engine/processes/define-process.ts'
import type { TodoList } from '../../engine/processes/todo-list.ts'
import { askForReview, closeUploads, openCase } from './assessments.steps.ts'
import { CollectedPayload, createCollected } from './create-collected.steps.ts'
import { conclude, ConcludePayload, type ReviewEnded } from './conclude.steps.ts'
import { expire } from './expire.steps.ts'
import { FollowPayload, followTask } from './human-review.steps.ts'

/** The assessments that have not ended. Reviews on the channel name only case and product. */
const openAssessments = defineTable({
  name: 'open_assessments',
  columns: {
    assessment_id: 'text',
    org_id: 'text',
    product_id: 'text',
    /** Null until the images are submitted. */
    case_id: { type: 'text', nullable: true },
  },
  primaryKey: ['assessment_id'],
  indexes: [{ columns: ['case_id'] }],
})

/**
 * Reviews that have ended and still hold their slot. The review of a client may end before the assessment of its case
 * requests a review. The rows of a case are removed when its one assessment requests its review. A case without an
 * assessment keeps one row for each product. A closed case keeps its rows too, because an assessment that it has
 * assigned may request its review later.
 */
const endedReviews = defineTable({
  name: 'ended_reviews',
  columns: { ai_review_id: 'text', org_id: 'text', case_id: 'text', product_id: 'text', channel_revision: 'text' },
  primaryKey: ['ai_review_id'],
  indexes: [{ columns: ['case_id'] }],
})

/** The tasks of human review of assessments, until the assessment contains their end. */
const reviewTasks = defineTable({
  name: 'review_tasks',
  columns: { task_id: 'text', org_id: 'text', assessment_id: 'text' },
  primaryKey: ['task_id'],
})

/** The route opens the case. After so many milliseconds the process does, in case the route has crashed. */
const routeGraceMs = 2_000

const steps = {
  'create-collected': step(CollectedPayload, createCollected),
  'close-uploads': step(Nothing, closeUploads),
  'request-review': step(Nothing, askForReview),
  'open-case': step(Nothing, openCase),
  conclude: step(ConcludePayload, conclude),
  expire: step(Nothing, expire),
  // Two rows, because the end of a task may come before the event that removes the row of its opening.
  'follow-opened-task': step(FollowPayload, followTask),
  'follow-ended-task': step(FollowPayload, followTask),
}

type Todos = TodoList<typeof steps>
type AssessmentEnded = Extract<AssessmentEvent, { type: 'AssessmentCompleted' | 'AssessmentFailed' }>['data']

/**
 * The work that an assessment still needs. The assessment that a case has assigned is created. An assessment ends if
 * its uploads are not submitted in time. After the submission it needs a review, a case, the result of the review, and an
 * end when the deadline passes. The key of these rows is the id of the assessment. The assessment also records the human
 * review of each of its AI reviews, not only of the one that ended it. The key of those rows is the id of the task.
 */
export const assessmentsProcess = defineProcess<
  AssessmentEvent | AiReviewChannelEvent | CaseEvent | HumanReviewTaskEvent,
  ProcessDependencies
>()({
  name: 'assessments',
  version: 8,
  lookups: [openAssessments, endedReviews, reviewTasks],
  steps,
  on: {
    CaseAssessmentAssigned: ({ data: { assessmentId, caseId, assignedAt } }, todo) => [
      todo.schedule('create-collected', assessmentId, { at: assignedAt, payload: { caseId } }),
    ],
    AssessmentRequested: ({ data: { assessmentId, productId } }, todo) => [
      insertRow(openAssessments, { assessmentId, productId, orgId: todo.orgId }),
    ],
    AssessmentUploadsAwaited: ({ data }, todo) => [
      todo.schedule('close-uploads', data.assessmentId, { at: data.closesAt }),
    ],
    AssessmentSubmitted: ({ data }, todo) => [
      todo.clear(data.assessmentId, 'close-uploads'),
      todo.clear(data.assessmentId, 'create-collected'),
      patchRow(openAssessments, { assessmentId: data.assessmentId, caseId: data.caseId }),
      todo.schedule('request-review', data.assessmentId, { at: afterRoute(data.submittedAt) }),
      todo.schedule('expire', data.assessmentId, { at: data.deadlineAt }),
    ],
    AssessmentReviewRequested: ({ data: { assessmentId, caseId, productId, isCaseOpen, requestedAt } }, todo) => [
      todo.clear(assessmentId, 'request-review'),
      ...(isCaseOpen ? [] : [todo.schedule('open-case', assessmentId, { at: afterRoute(requestedAt) })]),
      todo.scheduleForEach('conclude', endedReviews, { caseId, productId, orgId: todo.orgId }, (review) => ({
        key: assessmentId,
        at: requestedAt,
        existing: 'replace',
        payload: { channelRevision: review('channelRevision'), aiReviewId: review('aiReviewId') },
      })),
      removeRows(endedReviews, { caseId, orgId: todo.orgId }),
    ],
    CaseOpened: ({ data: { assessmentId } }, todo) =>
      assessmentId === null ? [] : [todo.clear(assessmentId, 'open-case')],
    'ai_review.completed': reviewEnded,
    'ai_review.failed': reviewEnded,
    'ai_review.cancelled': reviewEnded,
    // The outcome of a superseded review no longer counts. The end of its successor concludes.
    'ai_review.superseded': ({ data }, todo) => [
      todo.clearWhere('conclude', { orgId: data.orgId, payload: { aiReviewId: data.oldAiReviewId } }),
      removeRow(endedReviews, { aiReviewId: data.oldAiReviewId }),
    ],
    AssessmentCompleted: ({ data }, todo) => ended(data, todo),
    AssessmentFailed: ({ data }, todo) => ended(data, todo),

    HumanReviewTaskOpened: ({ data: { taskId, assessmentId, openedAt } }, todo) =>
      assessmentId === null ? [] : follow({ taskId, assessmentId }, openedAt, todo),
    HumanReviewAssessmentAssigned: ({ data }, todo) => follow(data, data.assignedAt, todo),
    HumanReviewTaskDecided: ({ data }, todo) => [followEnd(data.taskId, data.decidedAt, todo)],
    HumanReviewTaskCancelled: ({ data }, todo) => [followEnd(data.taskId, data.cancelledAt, todo)],
    AssessmentHumanReviewOpened: ({ data }, todo) => [todo.clear(data.taskId, 'follow-opened-task')],
    AssessmentHumanReviewDecided: ({ data }, todo) => followed(data.taskId, todo),
    AssessmentHumanReviewCancelled: ({ data }, todo) => followed(data.taskId, todo),
  },
})

function afterRoute(at: string): string {
  return new Date(Date.parse(at) + routeGraceMs).toISOString()
}

/** A review that ends later finds no assessment here, so it schedules nothing. */
function ended({ assessmentId, aiReviewId }: AssessmentEnded, todo: Todos): RowChange[] {
  const over = [todo.clear(assessmentId), removeRow(openAssessments, { assessmentId })]
  return aiReviewId === null ? over : [...over, removeRow(endedReviews, { aiReviewId })]
}

function follow(
  { taskId, assessmentId }: { readonly taskId: string; readonly assessmentId: string },
  at: string,
  todo: Todos,
): RowChange[] {
  return [
    insertRow(reviewTasks, { taskId, orgId: todo.orgId, assessmentId }),
    todo.schedule('follow-opened-task', taskId, { at, payload: { assessmentId } }),
  ]
}

/** A task without an assessment has no row. If it gets one after its end, the row of its opening brings both. */
function followEnd(taskId: string, at: string, todo: Todos): RowChange {
  return todo.scheduleForEach('follow-ended-task', reviewTasks, { taskId, orgId: todo.orgId }, (task) => ({
    key: taskId,
    at,
    payload: { assessmentId: task('assessmentId') },
  }))
}

/** A task that has ended never changes. */
function followed(taskId: string, todo: Todos): RowChange[] {
  return [todo.clear(taskId), removeRow(reviewTasks, { taskId })]
}

/** Only a review of the assessment's own product ends the assessment. */
function reviewEnded({ data, revision }: Recorded<ReviewEnded>, todo: Todos): RowChange[] {
  const { aiReviewId, orgId, caseId, productId } = data
  const channelRevision = revision.toString()
  return [
    upsertRow(endedReviews, { aiReviewId, orgId, caseId, productId, channelRevision }),
    todo.scheduleForEach('conclude', openAssessments, { caseId, productId, orgId }, (opened) => ({
      key: opened('assessmentId'),
      at: data.occurred_at,
      // The end of a successor may come before the row of its predecessor is worked off. The later end counts.
      existing: 'replace',
      payload: { channelRevision, aiReviewId },
    })),
  ]
}
