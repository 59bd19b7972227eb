import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import type { CollectingStep } from '../workflow-definition/steps.ts'
import { workflowInstanceEvents, type WorkflowFailureCode, type WorkflowInstanceEvent } from './events.ts'
import type { DataOf } from '../../engine/store/events.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'

/** Null after an erasure. */
export type Output = Readonly<Record<string, unknown>> | null

interface Instance extends DataOf<WorkflowInstanceEvent, 'WorkflowInstanceStarted'> {
  /** Number of steps entered. */
  readonly moves: number
  /** The latest output of each step. */
  readonly outputs: ReadonlyMap<string, Output>
  /** Fingerprints of the requests that advanced it, or found that they need not, by their keys. */
  readonly advances: GrowingMap<string>
  readonly assessmentId: string | null
  readonly updatedAt: string
}

export type AwaitedEffect = Pick<
  DataOf<WorkflowInstanceEvent, 'WorkflowAssessmentRequested'>,
  'stepId' | 'productId' | 'findingType' | 'imageIds'
>

export type WorkflowInstanceState =
  | { readonly status: 'absent' }
  /** Without an effect only inside an append. */
  | (Instance & { readonly status: 'running'; readonly effect: AwaitedEffect | null })
  | (Instance & {
      readonly status: 'parked'
      readonly stepId: string
      readonly kind: CollectingStep['kind']
      readonly parkedAt: string
    })
  | (Instance & { readonly status: 'completed' })
  | (Instance & { readonly status: 'failed'; readonly code: WorkflowFailureCode })
  | (Instance & { readonly status: 'cancelled'; readonly cancelKey: string | null })

export type ExistingInstance = Exclude<WorkflowInstanceState, { status: 'absent' }>

function evolve(state: WorkflowInstanceState, event: WorkflowInstanceEvent): WorkflowInstanceState {
  if (event.type === 'WorkflowInstanceStarted') return started(event.data)
  if (state.status === 'absent') return state
  switch (event.type) {
    case 'WorkflowStepParked': {
      const { stepId, kind, passed, parkedAt } = event.data
      const moves = state.moves + passed.length + 1
      return { ...state, status: 'parked', stepId, kind, parkedAt, moves, updatedAt: parkedAt }
    }
    case 'WorkflowStepAdvanced': {
      const { stepId, output, request, advancedAt } = event.data
      const outputs = new Map(state.outputs).set(stepId, output)
      const advances = advancesWith(request, state)
      return { ...state, status: 'running', effect: null, outputs, advances, updatedAt: advancedAt }
    }
    case 'WorkflowAdvanceUnneeded':
      return { ...state, advances: advancesWith(event.data.request, state) }
    case 'WorkflowOutputProduced': {
      const { stepId, values, passed, producedAt } = event.data
      const outputs = new Map(state.outputs).set(stepId, values === null ? null : { values })
      const moves = state.moves + passed.length + 1
      return { ...state, status: 'running', effect: null, outputs, moves, updatedAt: producedAt }
    }
    case 'WorkflowAssessmentRequested': {
      const { stepId, productId, findingType, imageIds, requestedAt } = event.data
      const effect = { stepId, productId, findingType, imageIds }
      return { ...state, status: 'running', effect, updatedAt: requestedAt }
    }
    case 'WorkflowAssessmentAssigned':
      return { ...state, assessmentId: event.data.assessmentId, updatedAt: event.data.assignedAt }
    case 'WorkflowInstanceCompleted':
      return { ...state, status: 'completed', updatedAt: event.data.completedAt }
    case 'WorkflowInstanceFailed':
      return { ...state, status: 'failed', code: event.data.code, updatedAt: event.data.failedAt }
    case 'WorkflowInstanceCancelled': {
      const { request, cancelledAt } = event.data
      return { ...state, status: 'cancelled', cancelKey: request?.key ?? null, updatedAt: cancelledAt }
    }
  }
}

function advancesWith(request: CausingRequest, { advances }: Instance): GrowingMap<string> {
  return request === null ? advances : advances.with(request.key, request.fingerprint)
}

function started(data: DataOf<WorkflowInstanceEvent, 'WorkflowInstanceStarted'>): WorkflowInstanceState {
  return {
    ...data,
    status: 'running',
    effect: null,
    moves: 0,
    outputs: new Map(),
    advances: new GrowingMap(),
    assessmentId: null,
    updatedAt: data.startedAt,
  }
}

export const workflowInstances = defineAggregate({
  category: 'workflow_instance',
  id: idOfOrganisation,
  events: workflowInstanceEvents,
  initialState: { status: 'absent' },
  evolve,
})
