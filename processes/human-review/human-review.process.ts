import { defineTable, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, removeRow, removeRows, upsertRow } from '../../engine/projections/row-changes.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import type { AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import type { ConsentChannelEvent } from '../../streams/channels/consent.ts'
import type { HumanReviewPolicyEvent } from '../../streams/human-review-policy/events.ts'
import { humanReviewTaskId } from '../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent } from '../../streams/human-review-task/events.ts'
import { requiredConsentCode } from '../../streams/ai-review/aggregate.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import type { Recorded } from '../../engine/relay/channel.ts'
import { defineProcess, Nothing, step } from '../../engine/processes/define-process.ts'
import type { TodoList } from '../../engine/processes/todo-list.ts'
import { conclude } from './conclude.steps.ts'
import { assign, AssignPayload, end, open, OpenPayload, supersede, withdraw } from './human-review.steps.ts'

/** The policy in force of each organisation that has rules, by its place in its stream. */
const policies = defineTable({
  name: 'policies',
  columns: { org_id: 'text', policy_revision: 'text' },
  primaryKey: ['org_id'],
})

/** Tasks that have not ended. */
const openTasks = defineTable({
  name: 'open_tasks',
  columns: { task_id: 'text', org_id: 'text', patient_id: 'text' },
  primaryKey: ['task_id'],
  indexes: [{ columns: ['org_id', 'patient_id'] }],
})

/** A review may be superseded before its task is opened. */
const supersededReviews = defineTable({
  name: 'superseded_reviews',
  columns: { task_id: 'text', org_id: 'text' },
  primaryKey: ['task_id'],
})

/** A consent may be refused before the task is opened. */
const refusedConsents = defineTable({
  name: 'refused_consents',
  columns: { org_id: 'text', patient_id: 'text' },
  primaryKey: ['org_id', 'patient_id'],
})

/** Tasks that their cases know. A case of another service has none. */
const tasksOfCases = defineTable({
  name: 'tasks_of_cases',
  columns: { task_id: 'text', org_id: 'text' },
  primaryKey: ['task_id'],
})

/** Tasks of cases that had no assessment for their product. Such a case may get one later. */
const unassignedTasks = defineTable({
  name: 'unassigned_tasks',
  columns: { task_id: 'text', org_id: 'text', case_id: 'text', product_id: 'text' },
  primaryKey: ['task_id'],
  indexes: [{ columns: ['case_id'] }],
})

const steps = {
  open: step(OpenPayload, open),
  'end-lease': step(Nothing, end),
  supersede: step(Nothing, supersede),
  withdraw: step(Nothing, withdraw),
  assign: step(AssignPayload, assign),
  conclude: step(Nothing, conclude),
}
type Todos = TodoList<typeof steps>

/**
 * Opens a task for each completed review that the policy in force selects, ends leases, and cancels tasks whose review
 * was superseded or whose patient no longer consents. Records the result of an ended task in its case, and in a task the
 * assessment that its case gets later. The row key is the id of the task.
 */
export const humanReviewProcess = defineProcess<
  AiReviewChannelEvent | CaseEvent | ConsentChannelEvent | HumanReviewPolicyEvent | HumanReviewTaskEvent,
  ProcessDependencies
>()({
  name: 'human_review',
  version: 2,
  // A skipped withdrawal of consent would leave a task open.
  decisive: true,
  lookups: [policies, openTasks, supersededReviews, refusedConsents, tasksOfCases, unassignedTasks],
  steps,
  on: {
    HumanReviewPolicySet: ({ data: { organisationId: orgId, rules }, revision }) => [
      rules.length === 0
        ? removeRow(policies, { orgId })
        : upsertRow(policies, { orgId, policyRevision: revision.toString() }),
    ],
    'ai_review.completed': ({ data: { aiReviewId, orgId, occurred_at: at }, revision }, todo) => [
      todo.scheduleForEach('open', policies, { orgId }, (policy) => ({
        key: humanReviewTaskId(aiReviewId),
        at,
        payload: { channelRevision: revision.toString(), policyRevision: policy('policyRevision') },
      })),
    ],
    HumanReviewNotSelected: ({ data }, todo) => [todo.clear(data.taskId, 'open')],
    HumanReviewTaskOpened: ({ data: { taskId, patientId, openedAt: at } }, todo) => {
      const { orgId } = todo
      return [
        todo.clear(taskId, 'open'),
        insertRow(openTasks, { taskId, orgId, patientId }),
        todo.scheduleForEach('supersede', supersededReviews, { taskId, orgId }, () => ({ key: taskId, at })),
        todo.scheduleForEach('withdraw', refusedConsents, { orgId, patientId }, () => ({ key: taskId, at })),
      ]
    },
    HumanReviewTaskClaimed: ({ data }, todo) => [
      todo.schedule('end-lease', data.taskId, { at: data.leaseUntil, existing: 'replace' }),
    ],
    HumanReviewTaskReleased: ({ data }, todo) => [todo.clear(data.taskId, 'end-lease')],
    HumanReviewOpinionGiven: ({ data }, todo) => [todo.clear(data.taskId, 'end-lease')],
    'ai_review.superseded': ({ data: { oldAiReviewId, orgId, supersededAt: at } }, todo) => {
      const taskId = humanReviewTaskId(oldAiReviewId)
      return [
        upsertRow(supersededReviews, { taskId, orgId }),
        todo.scheduleForEach('supersede', openTasks, { taskId, orgId }, () => ({
          key: taskId,
          at,
          existing: 'replace',
        })),
      ]
    },
    'consent.withdrawn': consentRefused,
    'consent.denied': consentRefused,
    // A later refusal has its own instant, and its row stays.
    HumanReviewConsentConfirmed: ({ data }, todo) => [
      todo.clearWhere('withdraw', { key: data.taskId, at: data.checkedAt }),
    ],
    HumanReviewTaskDecided: ({ data }, todo) => ended(data.taskId, data.decidedAt, todo),
    HumanReviewTaskCancelled: ({ data }, todo) => ended(data.taskId, data.cancelledAt, todo),
    CaseHumanReviewStarted: ({ data: { taskId, caseId, productId, assessmentId } }, todo) => {
      const { orgId } = todo
      return [
        insertRow(tasksOfCases, { taskId, orgId }),
        ...(assessmentId !== null ? [] : [insertRow(unassignedTasks, { taskId, orgId, caseId, productId })]),
      ]
    },
    CaseAssessmentAssigned: ({ data: { caseId, productId, assessmentId, assignedAt: at } }, todo) => {
      const { orgId } = todo
      return [
        todo.scheduleForEach('assign', unassignedTasks, { caseId, productId, orgId }, (task) => ({
          key: task('taskId'),
          at,
          payload: { assessmentId },
        })),
        removeRows(unassignedTasks, { caseId, orgId }),
      ]
    },
    HumanReviewAssessmentAssigned: ({ data }, todo) => [todo.clear(data.taskId, 'assign')],
    CaseHumanReviewEnded: ({ data: { taskId } }, todo) => [
      todo.clear(taskId, 'conclude'),
      removeRow(tasksOfCases, { taskId }),
    ],
  },
})

/** `assign` stays: the assessment of a task that has ended gets its decision too. */
function ended(taskId: string, at: string, todo: Todos): RowChange[] {
  return [
    ...(['end-lease', 'supersede', 'withdraw'] as const).map((step) => todo.clear(taskId, step)),
    removeRow(openTasks, { taskId }),
    todo.scheduleForEach('conclude', tasksOfCases, { taskId, orgId: todo.orgId }, () => ({ key: taskId, at })),
  ]
}

function consentRefused({ data }: Recorded<ConsentChannelEvent>, todo: Todos): RowChange[] {
  if (data.consent_type_code !== requiredConsentCode) return []
  const ofPatient = { orgId: data.org_id, patientId: data.patient_id }
  return [
    upsertRow(refusedConsents, ofPatient),
    // If a second refusal comes before the first is worked off, only the latest is due.
    todo.scheduleForEach('withdraw', openTasks, ofPatient, (task) => ({
      key: task('taskId'),
      at: data.occurred_at,
      existing: 'replace',
    })),
  ]
}
