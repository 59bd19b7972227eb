import { toWorkflowInstanceRecord, type WorkflowInstanceRecord } from '../../contracts/workflows/instance.ts'
import type { ExistingInstance } from '../../streams/workflow-instance/aggregate.ts'
import type { WorkflowDefinition } from './definitions.ts'

/** The record of an instance, from its stream and its definition. */
export function instanceRecordOf(state: ExistingInstance, { stepsById }: WorkflowDefinition): WorkflowInstanceRecord {
  return toWorkflowInstanceRecord({
    ...state,
    state: state.status,
    parkedStep:
      state.status === 'parked'
        ? {
            step_id: state.stepId,
            kind: state.kind,
            config: { ...stepsById.get(state.stepId)?.config },
            parked_at: state.parkedAt,
          }
        : null,
    outputs: Object.fromEntries(state.outputs),
    failureCode: state.status === 'failed' ? state.code : null,
  })
}
