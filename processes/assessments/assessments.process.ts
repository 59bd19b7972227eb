import { defineTable, insertSelect, type RowChange } from '../../projections/runtime/projector.ts'
import { insertRow, patchRow, removeRow, removeRows, upsertRow } from '../../projections/runtime/row-changes.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import type { AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import { humanReviewTaskId } from '../../streams/human-review-task/aggregate.ts'
import type { HumanReviewPolicyEvent } from '../../streams/human-review-policy/events.ts'
import type { HumanReviewTaskEvent } from '../../streams/human-review-task/events.ts'
import type { Recorded } from '../relay/channel.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { defineProcess, Nothing, step } from '../runtime/define-process.ts'
import type { TodoList } from '../runtime/todo-list.ts'
import { askForReview, closeUploads, expire } from './assessments.steps.ts'
import { CollectedPayload, createCollected } from './create-collected.steps.ts'
import { conclude, ConcludePayload, type ReviewEnded } from './conclude.steps.ts'
import { followTask } from './human-review.steps.ts'

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
 * Reviews that have ended and hold their slot. A client's review may end before the assessment of its case requests
 * one. A case has one assessment, so its rows go when that one requests its review. A case without an assessment keeps
 * one row for each product, also when it is closed: an assigned assessment may request its review after that.
 */
const endedReviews = defineTable({
  name: 'ended_reviews',
  columns: { ai_review_id: 'text', org_id: 'text', case_id: 'text', product_id: 'text', channel_revision: 'text' },
  primaryKey: ['ai_review_id'],
  indexes: [{ columns: ['case_id'] }],
})

/** Organisations that have ever set a policy of human review. Reviews of the others get no task. */
const reviewingOrganisations = defineTable({
  name: 'reviewing_organisations',
  columns: { org_id: 'text' },
  primaryKey: ['org_id'],
})

/** Assessments that a review has ended, by the task that human review opens for this review if a policy selects it. */
const reviewedAssessments = defineTable({
  name: 'reviewed_assessments',
  columns: { assessment_id: 'text', org_id: 'text', task_id: 'text' },
  primaryKey: ['assessment_id'],
  indexes: [{ columns: ['task_id'] }],
})

/** A task may be opened, and even decided, before its review ends the assessment. */
const reviewTasks = defineTable({
  name: 'review_tasks',
  columns: { task_id: 'text', org_id: 'text' },
  primaryKey: ['task_id'],
})

const steps = {
  'create-collected': step(CollectedPayload, createCollected),
  'close-uploads': step(Nothing, closeUploads),
  'request-review': step(Nothing, askForReview),
  conclude: step(ConcludePayload, conclude),
  expire: step(Nothing, expire),
  // Two rows, because the end of a task may come before the event that removes the row of its opening.
  'follow-opened-task': step(Nothing, followTask),
  'follow-ended-task': step(Nothing, followTask),
}

type Todos = TodoList<typeof steps>
type AssessmentEnded = Extract<AssessmentEvent, { type: 'AssessmentCompleted' | 'AssessmentFailed' }>['data']

/**
 * The work that an assessment still needs. A case with an assigned assessment needs its creation. An assessment ends if
 * its uploads are not submitted in time. After the submission it needs a review, the result of the review, and an end
 * when the deadline passes. After its end it follows the human review of the review that ended it. The row key is the id
 * of the assessment.
 */
export const assessmentsProcess = defineProcess<
  AssessmentEvent | AiReviewChannelEvent | CaseEvent | HumanReviewPolicyEvent | HumanReviewTaskEvent,
  ProcessDependencies
>()({
  name: 'assessments',
  version: 5,
  lookups: [openAssessments, endedReviews, reviewingOrganisations, reviewedAssessments, reviewTasks],
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
      todo.schedule('request-review', data.assessmentId, { at: data.submittedAt }),
      todo.schedule('expire', data.assessmentId, { at: data.deadlineAt }),
    ],
    AssessmentReviewRequested: ({ data: { assessmentId, caseId, productId, requestedAt } }, todo) => [
      todo.clear(assessmentId, 'request-review'),
      todo.scheduleForEach('conclude', endedReviews, { caseId, productId, orgId: todo.orgId }, (review) => ({
        key: assessmentId,
        at: requestedAt,
        existing: 'replace',
        payload: { channelRevision: review('channelRevision'), aiReviewId: review('aiReviewId') },
      })),
      removeRows(endedReviews, { caseId, orgId: todo.orgId }),
    ],
    'ai_review.completed': reviewEnded,
    'ai_review.failed': reviewEnded,
    'ai_review.cancelled': reviewEnded,
    // The outcome of a superseded review no longer counts. The end of its successor concludes.
    'ai_review.superseded': ({ data }, todo) => [
      todo.clearWhere('conclude', { orgId: data.orgId, payload: { aiReviewId: data.oldAiReviewId } }),
      removeRow(endedReviews, { aiReviewId: data.oldAiReviewId }),
    ],
    AssessmentCompleted: ({ data }, todo) => ended(data, data.completedAt, todo),
    AssessmentFailed: ({ data }, todo) => ended(data, data.failedAt, todo),

    HumanReviewPolicySet: ({ data: { organisationId: orgId } }) => [upsertRow(reviewingOrganisations, { orgId })],
    HumanReviewNotSelected: ({ data: { taskId } }, todo) => [
      removeRows(reviewedAssessments, { taskId, orgId: todo.orgId }),
    ],
    HumanReviewTaskOpened: ({ data: { taskId, openedAt } }, todo) => [
      insertRow(reviewTasks, { taskId, orgId: todo.orgId }),
      followLater('follow-opened-task', taskId, openedAt, todo),
    ],
    HumanReviewTaskDecided: ({ data }, todo) => [followLater('follow-ended-task', data.taskId, data.decidedAt, todo)],
    HumanReviewTaskCancelled: ({ data }, todo) => [
      followLater('follow-ended-task', data.taskId, data.cancelledAt, todo),
    ],
    AssessmentHumanReviewOpened: ({ data }, todo) => [todo.clear(data.assessmentId, 'follow-opened-task')],
    AssessmentHumanReviewDecided: ({ data }, todo) => followed(data, todo),
    AssessmentHumanReviewCancelled: ({ data }, todo) => followed(data, todo),
  },
})

/** A review that ends later finds no assessment here, so it schedules nothing. */
function ended({ assessmentId, aiReviewId }: AssessmentEnded, at: string, todo: Todos): RowChange[] {
  const over = [todo.clear(assessmentId), removeRow(openAssessments, { assessmentId })]
  if (aiReviewId === null) return over
  const ofTask = { taskId: humanReviewTaskId(aiReviewId), orgId: todo.orgId }
  return [
    ...over,
    removeRow(endedReviews, { aiReviewId }),
    insertSelect(reviewedAssessments, {
      from: reviewingOrganisations,
      where: { org_id: todo.orgId },
      columns: {
        assessment_id: { value: assessmentId },
        org_id: { column: 'org_id' },
        task_id: { value: ofTask.taskId },
      },
    }),
    todo.scheduleForEach('follow-opened-task', reviewTasks, ofTask, () => ({ key: assessmentId, at })),
  ]
}

function followLater(
  step: 'follow-opened-task' | 'follow-ended-task',
  taskId: string,
  at: string,
  todo: Todos,
): RowChange {
  const ofTask = { taskId, orgId: todo.orgId }
  return todo.scheduleForEach(step, reviewedAssessments, ofTask, (one) => ({ key: one('assessmentId'), at }))
}

/** A task that has ended never changes. */
function followed({ assessmentId, taskId }: { assessmentId: string; taskId: string }, todo: Todos): RowChange[] {
  return [
    todo.clear(assessmentId),
    removeRow(reviewedAssessments, { assessmentId }),
    removeRow(reviewTasks, { taskId }),
  ]
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
