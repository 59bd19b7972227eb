import { isCollecting, type OutputStep, type WorkflowStep } from '../../streams/workflow-definition/steps.ts'
import type { Output } from '../../streams/workflow-instance/aggregate.ts'
import type { WorkflowFailureCode, WorkflowInstanceEvent } from '../../streams/workflow-instance/events.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import { holds, valueAt } from './conditions.ts'
import type { WorkflowDefinition } from './definitions.ts'

/** Steps that an instance may enter. */
export const mostMoves = 1000
/** Images of one assessment (specification 8). */
const mostImages = 10

/** Bytes of an output's values. Encrypted, and with the answers that led to it, they fit into one append. */
const mostValueBytes = 512 * 1024

/** An instance that moves, with the answers that it has so far. */
export interface MovingInstance {
  readonly definition: WorkflowDefinition
  readonly workflowInstanceId: string
  readonly caseId: string
  readonly patientId: string
  readonly productId: string | null
  readonly outputs: ReadonlyMap<string, Output>
  readonly moves: number
  /** RFC 3339. */
  readonly at: string
}

type Moved = Decision<WorkflowInstanceEvent, 'product-required'>

/** Leaves a step by its first branch that fits. */
export function leaveStep(step: WorkflowStep, instance: MovingInstance): Moved {
  const branch = branchOf(step, instance)
  return branch === undefined ? [failed(instance, step.step_id, [], 'no-next-step')] : enterStep(branch, instance)
}

/** Enters a step, passes those that do not wait, and stops at the first one that does. */
export function enterStep(firstStepId: string, instance: MovingInstance): Moved {
  const { definition, workflowInstanceId, moves, at } = instance
  const passed: string[] = []
  let stepId = firstStepId
  for (;;) {
    const step = definition.stepsById.get(stepId)
    if (step === undefined) throw new Error('a published definition has a branch to no step')
    if (moves + passed.length >= mostMoves) return [failed(instance, stepId, passed, 'workflow-too-long')]
    if (isCollecting(step))
      return [
        { type: 'WorkflowStepParked', data: { workflowInstanceId, stepId, kind: step.kind, passed, parkedAt: at } },
      ]
    if (step.kind === 'output') return produceOutput(step, passed, instance)
    passed.push(stepId)
    const branch = branchOf(step, instance)
    if (branch === undefined) return [failed(instance, stepId, passed, 'no-next-step')]
    stepId = branch
  }
}

function branchOf({ next }: WorkflowStep, { outputs }: MovingInstance): string | undefined {
  return next.find(({ when }) => when === undefined || holds(when, outputs))?.step_id
}

function produceOutput(step: OutputStep, passed: string[], instance: MovingInstance): Moved {
  const { workflowInstanceId, patientId, caseId, productId, outputs, at } = instance
  const { step_id: stepId, config } = step
  const paths = Object.entries(config.values)
  const values = Object.fromEntries(paths.map(([name, path]) => [name, valueAt(outputs, path) ?? null]))
  if (Buffer.byteLength(JSON.stringify(values)) > mostValueBytes)
    return [failed(instance, stepId, passed, 'values-too-large')]
  const produced: WorkflowInstanceEvent = {
    type: 'WorkflowOutputProduced',
    data: { workflowInstanceId, patientId, stepId, passed, values, producedAt: at },
  }
  if (config.effect === undefined)
    return [produced, { type: 'WorkflowInstanceCompleted', data: { workflowInstanceId, stepId, completedAt: at } }]

  const imageIds = collectedImages(outputs)
  if (imageIds.length === 0) return [produced, failed(instance, stepId, [], 'no-images-collected')]
  if (imageIds.length > mostImages) return [produced, failed(instance, stepId, [], 'too-many-images')]
  if (productId === null) return refused('product-required')
  const { finding_type: findingType = 'lesion' } = config
  const effect = { workflowInstanceId, caseId, stepId, productId, findingType, imageIds, requestedAt: at }
  return [produced, { type: 'WorkflowAssessmentRequested', data: effect }]
}

/** Each image once, in the order of the steps that collected them. */
function collectedImages(outputs: ReadonlyMap<string, Output>): string[] {
  const lists = [...outputs.values()].map((output) => output?.['image_ids'])
  const all = lists.flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []))
  return [...new Set(all.filter((id) => typeof id === 'string'))]
}

function failed(
  { workflowInstanceId, at }: MovingInstance,
  stepId: string,
  passed: string[],
  code: WorkflowFailureCode,
): WorkflowInstanceEvent {
  return { type: 'WorkflowInstanceFailed', data: { workflowInstanceId, stepId, passed, code, failedAt: at } }
}
