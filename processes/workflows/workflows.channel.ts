import { workflowChannelStream } from '../../streams/channels/workflow.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import { workflowInstances } from '../../streams/workflow-instance/aggregate.ts'
import { defineChannel } from '../../engine/relay/channel.ts'
import { loadExisting } from '../../engine/commands/execute.ts'

export interface WorkflowChannelDependencies {
  readonly store: Pick<EventStore, 'load' | 'presume'>
}

/** The life of each instance. Answers are on no channel. */
export const workflowChannel = defineChannel({
  stream: workflowChannelStream,
  sources: [workflowInstances],
  translate: {
    WorkflowInstanceStarted: async (event, publish, deps: WorkflowChannelDependencies) => [
      publish('workflow.instance.started', event.data.startedAt, {
        ...(await idsOf(event, deps)),
        state: 'running',
      }),
    ],
    WorkflowStepParked: async (event, publish, deps) => [
      publish('workflow.instance.parked', event.data.parkedAt, {
        ...(await idsOf(event, deps)),
        state: 'parked',
        step_id: event.data.stepId,
      }),
    ],
    WorkflowInstanceCompleted: async (event, publish, deps) => [
      publish('workflow.instance.completed', event.data.completedAt, {
        ...(await idsOf(event, deps)),
        state: 'completed',
        step_id: event.data.stepId,
      }),
    ],
    WorkflowInstanceFailed: async (event, publish, deps) => [
      publish('workflow.instance.failed', event.data.failedAt, {
        ...(await idsOf(event, deps)),
        state: 'failed',
        step_id: event.data.stepId,
        error_code: event.data.code,
      }),
    ],
    WorkflowInstanceCancelled: async (event, publish, deps) => [
      publish('workflow.instance.cancelled', event.data.cancelledAt, {
        ...(await idsOf(event, deps)),
        state: 'cancelled',
      }),
    ],
  },
})

/** The first event of the stream fixes these ids, so any cached state with it will do. */
async function idsOf({ stream }: Pick<RecordedEvent, 'stream'>, { store }: WorkflowChannelDependencies) {
  const state = await loadExisting(store, workflowInstances.at(stream))
  if (state.status === 'absent') throw new Error('an event of a workflow instance that was never started')
  return {
    workflow_instance_id: state.workflowInstanceId,
    workflow_definition_id: state.workflowDefinitionId,
    definition_version: state.definitionVersion,
    case_id: state.caseId,
  }
}
