import type { WorkflowInstanceState } from '../../streams/workflow-instance/aggregate.ts'
import type { WorkflowInstanceEvent } from '../../streams/workflow-instance/events.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'

export interface CancelInstance {
  readonly request: CausingRequest
  readonly now: Date
}

/** Ends an instance that has not ended. An assessment that it requested goes on. */
export function cancelInstance(
  { request, now }: CancelInstance,
  state: WorkflowInstanceState,
): Decision<WorkflowInstanceEvent, 'not-found' | 'workflow-instance-ended'> {
  if (state.status === 'absent') return refused('not-found')
  if (isCancelledBy(request, state)) return []
  return isOpen(state) ? [cancelled(state, 'requested', request, now)] : refused('workflow-instance-ended')
}

/** Whether the request has the Idempotency-Key that cancelled the instance. */
export function isCancelledBy(request: CausingRequest, state: WorkflowInstanceState): boolean {
  return state.status === 'cancelled' && request !== null && state.cancelKey === request.key
}

/** The case was closed. */
export function cancelWithCase(
  { now }: { readonly now: Date },
  state: WorkflowInstanceState,
): Decision<WorkflowInstanceEvent> {
  return isOpen(state) ? [cancelled(state, 'case_closed', null, now)] : []
}

/** The patient is erased. */
export function cancelWithPatient(
  { now }: { readonly now: Date },
  state: WorkflowInstanceState,
): Decision<WorkflowInstanceEvent> {
  return isOpen(state) ? [cancelled(state, 'subject_erased', null, now)] : []
}

export interface FollowAssessment {
  /** The assessment of the case. */
  readonly assessmentId: string
  /** Null while it is under way. */
  readonly end: 'completed' | 'failed' | null
  readonly now: Date
}

/** Takes the assessment of the case, and its end if it has ended. */
export function followAssessment(
  { assessmentId, end, now }: FollowAssessment,
  state: WorkflowInstanceState,
): Decision<WorkflowInstanceEvent> {
  if (state.status !== 'running' || state.effect === null) return []
  const { workflowInstanceId, effect } = state
  const at = now.toISOString()
  const ended = { workflowInstanceId, stepId: effect.stepId }
  const events: WorkflowInstanceEvent[] = []
  if (state.assessmentId === null)
    events.push({ type: 'WorkflowAssessmentAssigned', data: { workflowInstanceId, assessmentId, assignedAt: at } })
  if (end === 'completed') events.push({ type: 'WorkflowInstanceCompleted', data: { ...ended, completedAt: at } })
  if (end === 'failed') {
    const data = { ...ended, passed: [], code: 'assessment-failed' as const, failedAt: at }
    events.push({ type: 'WorkflowInstanceFailed', data })
  }
  return events
}

type OpenInstance = Extract<WorkflowInstanceState, { status: 'running' | 'parked' }>

export function isOpen(state: WorkflowInstanceState): state is OpenInstance {
  return state.status === 'running' || state.status === 'parked'
}

function cancelled(
  { workflowInstanceId }: OpenInstance,
  reason: 'requested' | 'case_closed' | 'subject_erased',
  request: CausingRequest,
  now: Date,
): WorkflowInstanceEvent {
  const data = { workflowInstanceId, reason, request, cancelledAt: now.toISOString() }
  return { type: 'WorkflowInstanceCancelled', data }
}
