import { workflowChannelStream } from '../../streams/channels/workflow.ts'
import { workflowInstances, type ExistingInstance } from '../../streams/workflow-instance/aggregate.ts'
import { defineChannel } from '../../engine/relay/channel.ts'

/** The life of each instance. Answers are on no channel. */
export const workflowChannel = defineChannel({
  stream: workflowChannelStream,
  sources: [workflowInstances],
  translate: {
    WorkflowInstanceStarted: async ({ data }, publish, state) => [
      publish('workflow.instance.started', data.startedAt, {
        ...idsOf(await state()),
        state: 'running',
      }),
    ],
    WorkflowStepParked: async ({ data }, publish, state) => [
      publish('workflow.instance.parked', data.parkedAt, {
        ...idsOf(await state()),
        state: 'parked',
        step_id: data.stepId,
      }),
    ],
    WorkflowInstanceCompleted: async ({ data }, publish, state) => [
      publish('workflow.instance.completed', data.completedAt, {
        ...idsOf(await state()),
        state: 'completed',
        step_id: data.stepId,
      }),
    ],
    WorkflowInstanceFailed: async ({ data }, publish, state) => [
      publish('workflow.instance.failed', data.failedAt, {
        ...idsOf(await state()),
        state: 'failed',
        step_id: data.stepId,
        error_code: data.code,
      }),
    ],
    WorkflowInstanceCancelled: async ({ data }, publish, state) => [
      publish('workflow.instance.cancelled', data.cancelledAt, {
        ...idsOf(await state()),
        state: 'cancelled',
      }),
    ],
  },
})

/** The first event of the stream fixes these ids. */
function idsOf(instance: ExistingInstance) {
  return {
    workflow_instance_id: instance.workflowInstanceId,
    workflow_definition_id: instance.workflowDefinitionId,
    definition_version: instance.definitionVersion,
    case_id: instance.caseId,
  }
}
