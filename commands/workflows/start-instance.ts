import type { TenantId } from '../../platform/kit/tenants.ts'
import type { WorkflowInstanceState } from '../../streams/workflow-instance/aggregate.ts'
import type { WorkflowInstanceEvent } from '../../streams/workflow-instance/events.ts'
import { isRefusal, repeated, type Decision } from '../../engine/commands/decision.ts'
import type { WorkflowDefinition } from './definitions.ts'
import { enterStep } from './steps-ahead.ts'

export interface StartInstance {
  readonly workflowInstanceId: string
  readonly organisationId: TenantId
  readonly definition: WorkflowDefinition
  readonly caseId: string
  readonly patientId: string
  readonly productId: string | null
  readonly fingerprint: string | null
  readonly now: Date
}

/** Starts the instance and moves it to the first step that waits, or to its end. It keeps this version for ever. */
export function startInstance(
  { definition, now, ...command }: StartInstance,
  state: WorkflowInstanceState,
): Decision<WorkflowInstanceEvent, 'idempotency-key-reused' | 'product-required'> {
  if (state.status !== 'absent') return repeated(command, state)
  const { workflowDefinitionId, version: definitionVersion, startStepId } = definition
  const at = now.toISOString()
  const started = { ...command, workflowDefinitionId, definitionVersion, startedAt: at }
  const moved = enterStep(startStepId, { ...command, definition, outputs: new Map(), moves: 0, at })
  return isRefusal(moved) ? moved : [{ type: 'WorkflowInstanceStarted', data: started }, ...moved]
}
