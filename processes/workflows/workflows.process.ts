import { defineTable, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow } from '../../engine/projections/row-changes.ts'
import type { AssessmentChannelEvent } from '../../streams/channels/assessment.ts'
import type { ClinicalChannelEvent } from '../../streams/channels/clinical.ts'
import type { WorkflowInstanceEvent } from '../../streams/workflow-instance/events.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import type { Recorded } from '../../engine/relay/channel.ts'
import { defineProcess, Nothing, step } from '../../engine/processes/define-process.ts'
import type { TodoList } from '../../engine/processes/todo-list.ts'
import { cancel, follow, start, StartPayload } from './workflows.steps.ts'

/** Instances that have not ended. */
const openInstances = defineTable({
  name: 'open_instances',
  columns: { instance_id: 'text', org_id: 'text', case_id: 'uuid', is_awaiting_assessment: 'boolean' },
  primaryKey: ['instance_id'],
  indexes: [{ columns: ['case_id'] }],
})

/** An instance may start while its case is being closed. */
const closedCases = defineTable({
  name: 'closed_cases',
  columns: { case_id: 'uuid', org_id: 'text' },
  primaryKey: ['case_id'],
})

const steps = {
  start: step(StartPayload, start),
  assign: step(Nothing, follow),
  follow: step(Nothing, follow),
  cancel: step(Nothing, cancel),
}
type Todos = TodoList<typeof steps>

/**
 * Starts the instance of a case, brings the assessment of an output step and its end to the instance, and cancels the
 * instances of a closed case. The row key is the id of the instance.
 */
export const workflowsProcess = defineProcess<
  WorkflowInstanceEvent | ClinicalChannelEvent | AssessmentChannelEvent,
  ProcessDependencies
>()({
  name: 'workflows',
  version: 1,
  lookups: [openInstances, closedCases],
  steps,
  on: {
    'clinical.case.opened': ({ data }, todo) => {
      const { workflow_instance_id: id, workflow_definition_id: workflowDefinitionId } = data
      const { workflow_definition_version: version, case_id: caseId } = data
      if (id === undefined || workflowDefinitionId === undefined || version === undefined) return []
      return [todo.schedule('start', id, { at: data.opened_at, payload: { caseId, workflowDefinitionId, version } })]
    },
    'clinical.case.closed': ({ data }, todo) => [
      insertRow(closedCases, { caseId: data.case_id, orgId: todo.orgId }),
      todo.scheduleForEach('cancel', openInstances, { caseId: data.case_id, orgId: todo.orgId }, (instance) => ({
        key: instance('instanceId'),
        at: data.closed_at,
      })),
    ],
    WorkflowInstanceStarted: ({ data }, todo) => {
      const { workflowInstanceId: instanceId, caseId, startedAt } = data
      const { orgId } = todo
      return [
        todo.clear(instanceId, 'start'),
        insertRow(openInstances, { instanceId, orgId, caseId, isAwaitingAssessment: false }),
        todo.scheduleForEach('cancel', closedCases, { caseId, orgId }, () => ({ key: instanceId, at: startedAt })),
      ]
    },
    WorkflowAssessmentRequested: ({ data }, todo) => [
      patchRow(openInstances, { instanceId: data.workflowInstanceId, isAwaitingAssessment: true }),
      todo.schedule('assign', data.workflowInstanceId, { at: data.requestedAt }),
    ],
    WorkflowAssessmentAssigned: ({ data }, todo) => [todo.clear(data.workflowInstanceId, 'assign')],
    'assessment.completed': assessmentEnded,
    'assessment.failed': assessmentEnded,
    WorkflowInstanceCompleted: ({ data }, todo) => ended(data.workflowInstanceId, todo),
    WorkflowInstanceFailed: ({ data }, todo) => ended(data.workflowInstanceId, todo),
    WorkflowInstanceCancelled: ({ data }, todo) => ended(data.workflowInstanceId, todo),
  },
})

/** Every instance of the case that awaits the assessment. */
function assessmentEnded({ data }: Recorded<AssessmentChannelEvent>, todo: Todos): RowChange[] {
  if (data.case_id === null) return []
  const where = { caseId: data.case_id, orgId: todo.orgId, isAwaitingAssessment: true }
  return [
    todo.scheduleForEach('follow', openInstances, where, (instance) => ({
      key: instance('instanceId'),
      at: data.ended_at,
      mayWait: true,
    })),
  ]
}

function ended(instanceId: string, todo: Todos): RowChange[] {
  return [todo.clear(instanceId), removeRow(openInstances, { instanceId })]
}
