import { isDeepStrictEqual } from 'node:util'
import type { WorkflowInstanceState } from '../../streams/workflow-instance/aggregate.ts'
import type { WorkflowInstanceEvent } from '../../streams/workflow-instance/events.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import { isRefusal, refused, type Decision } from '../../engine/commands/decision.ts'
import type { WorkflowDefinition } from './definitions.ts'
import { leaveStep } from './steps-ahead.ts'

export interface AdvanceInstance {
  readonly definition: WorkflowDefinition
  readonly stepId: string
  readonly output: Readonly<Record<string, unknown>>
  /** Whether the output fits the step. It counts only if the step is parked. */
  readonly isValid: boolean
  /** The product of the caller's token. */
  readonly productId: string | null
  readonly request: CausingRequest
  readonly now: Date
}

type AdvanceRefusal =
  | 'not-found'
  | 'idempotency-key-reused'
  | 'output-invalid'
  | 'step-not-parked'
  | 'workflow-instance-not-parked'
  | 'product-required'

/**
 * Supplies the output of the parked step and moves on. A parked step takes any output, whatever was sent for it before.
 * For another step, the same output again is a repeat, whose key counts from then on.
 */
export function advanceInstance(
  command: AdvanceInstance,
  state: WorkflowInstanceState,
): Decision<WorkflowInstanceEvent, AdvanceRefusal> {
  if (state.status === 'absent') return refused('not-found')
  const { definition, stepId, output, request } = command
  const fingerprint = request === null ? undefined : state.advances.get(request.key)
  if (fingerprint !== undefined) return fingerprint === request?.fingerprint ? [] : refused('idempotency-key-reused')

  const isParkedHere = state.status === 'parked' && state.stepId === stepId
  const at = command.now.toISOString()
  if (!isParkedHere) {
    const latest = state.outputs.get(stepId) ?? null
    if (latest === null || !isDeepStrictEqual(latest, output))
      return refused(state.status === 'parked' ? 'step-not-parked' : 'workflow-instance-not-parked')
    const { workflowInstanceId } = state
    // An instance that is not parked is never parked again.
    return request === null || state.status !== 'parked'
      ? []
      : [{ type: 'WorkflowAdvanceUnneeded', data: { workflowInstanceId, stepId, request, decidedAt: at } }]
  }
  if (!command.isValid) return refused('output-invalid')

  const step = definition.stepsById.get(stepId)
  if (step === undefined) throw new Error('an instance is parked at a step that its definition does not have')
  const { workflowInstanceId, patientId, caseId, moves } = state
  const outputs = new Map(state.outputs).set(stepId, output)
  const productId = command.productId ?? state.productId
  const moved = leaveStep(step, { definition, workflowInstanceId, patientId, caseId, productId, outputs, moves, at })
  if (isRefusal(moved)) return moved
  const data = { workflowInstanceId, patientId, stepId, output, request, advancedAt: at }
  return [{ type: 'WorkflowStepAdvanced', data }, ...moved]
}

/** Whether the request has the Idempotency-Key of an earlier advance. */
export function isKnownAdvance(request: CausingRequest, state: WorkflowInstanceState): boolean {
  return state.status !== 'absent' && request !== null && state.advances.has(request.key)
}
