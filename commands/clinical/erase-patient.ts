import type { CausingRequest } from '../../engine/aggregates/types.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { groundOf, isErasing, type Erasure, type PatientErasureState } from '../../streams/patient-erasure/aggregate.ts'
import { ErasureStep, type ErasureReason, type PatientErasureEvent } from '../../streams/patient-erasure/events.ts'

interface OfPatient {
  readonly patientId: string
  readonly organisationId: TenantId
  readonly now: Date
}

export interface RequestErasure extends OfPatient {
  readonly reason: ErasureReason
  readonly reference: string | null
  readonly approvals: number
  /** Null without an actor. */
  readonly actor: string | null
  /** The actor, else the client. */
  readonly requestedBy: string
  readonly request: CausingRequest
}

/**
 * Asks for the erasure. It starts at once, or waits for a second person. A repeat changes nothing, also after a
 * cancellation, and also if the request only joined one that waited. Another reason is recorded.
 */
export function requestErasure(
  { actor, now, ...command }: RequestErasure,
  state: PatientErasureState,
): Decision<PatientErasureEvent, 'legal-hold' | 'actor-context-missing' | 'idempotency-key-reused'> {
  const earlier = earlierRequest(command, state)
  if (earlier !== undefined) return earlier
  const { erasure } = state
  if (erasure?.status === 'awaiting_approval' || isErasing(state)) return joined(command, erasure, now)
  if (command.approvals === 2 && actor === null) return refused('actor-context-missing')
  if (isHeld(state, now)) return refused('legal-hold')
  const requested: PatientErasureEvent = {
    type: 'PatientErasureRequested',
    data: { ...command, requestedAt: now.toISOString() },
  }
  return command.approvals === 1 ? [requested, started(command, now)] : [requested]
}

/** What the stream does not have yet of a request that another one answers. Nobody can cancel an erasure that runs. */
function joined(
  { patientId, reason, reference, requestedBy: joinedBy, request }: Omit<RequestErasure, 'now' | 'actor'>,
  erasure: Erasure | undefined,
  now: Date,
): PatientErasureEvent[] {
  const mayBeCancelled = erasure?.status === 'awaiting_approval'
  if (!(mayBeCancelled && request !== null) && erasure?.grounds.has(groundOf({ reason, reference })) !== false)
    return []
  const data = { patientId, reason, reference, joinedBy, request, joinedAt: now.toISOString() }
  return [{ type: 'PatientErasureJoined', data }]
}

export interface DecideErasure extends OfPatient {
  /** Null without an actor. */
  readonly actor: string | null
  readonly request: CausingRequest
}

type DecideRefusal = 'not-found' | 'erasure-not-waiting' | 'actor-context-missing' | 'idempotency-key-reused'

/** A second person agrees: the erasure starts. */
export function approveErasure(
  command: DecideErasure,
  state: PatientErasureState,
): Decision<PatientErasureEvent, DecideRefusal | 'second-person-required' | 'legal-hold'> {
  const { actor, request, now, patientId } = command
  const { erasure } = state
  if (erasure === undefined) return refused('not-found')
  const earlier = earlierRequest(command, state)
  if (earlier !== undefined) return earlier
  if (erasure.status !== 'awaiting_approval') return refused('erasure-not-waiting')
  if (actor === null) return refused('actor-context-missing')
  if (actor === erasure.requestedBy) return refused('second-person-required')
  if (isHeld(state, now)) return refused('legal-hold')
  const approved: PatientErasureEvent = {
    type: 'PatientErasureApproved',
    data: { patientId, approvedBy: actor, request, approvedAt: now.toISOString() },
  }
  return [approved, started(command, now)]
}

/** Anybody who may erase withdraws a request that waits. */
export function cancelErasure(
  command: DecideErasure,
  state: PatientErasureState,
): Decision<PatientErasureEvent, DecideRefusal> {
  const { actor, request, now, patientId } = command
  const { erasure } = state
  if (erasure === undefined) return refused('not-found')
  const earlier = earlierRequest(command, state)
  if (earlier !== undefined) return earlier
  if (erasure.status !== 'awaiting_approval') return refused('erasure-not-waiting')
  if (actor === null) return refused('actor-context-missing')
  const data = { patientId, cancelledBy: actor, request, cancelledAt: now.toISOString() }
  return [{ type: 'PatientErasureCancelled', data }]
}

/** A step of a running erasure is done. Once. */
export function endStep(
  { patientId, step, now }: Omit<OfPatient, 'organisationId'> & { readonly step: ErasureStep },
  state: PatientErasureState,
): Decision<PatientErasureEvent> {
  if (!isOpenStep(state, step)) return []
  return [{ type: 'PatientErasureStepDone', data: { patientId, step, doneAt: now.toISOString() } }]
}

export interface FailStep extends Omit<OfPatient, 'organisationId'> {
  readonly step: ErasureStep
  readonly errorCode: string
}

/** A try of a step failed. The same code again changes nothing. */
export function failStep(
  { patientId, step, errorCode, now }: FailStep,
  state: PatientErasureState,
): Decision<PatientErasureEvent> {
  if (!isOpenStep(state, step) || state.erasure?.steps.get(step)?.errorCode === errorCode) return []
  return [{ type: 'PatientErasureStepFailed', data: { patientId, step, errorCode, failedAt: now.toISOString() } }]
}

/** The last event, after all steps. */
export function completeErasure(
  { patientId, organisationId, now }: OfPatient,
  state: PatientErasureState,
): Decision<PatientErasureEvent> {
  if (state.erasure?.status !== 'running' || !areDone(state, ErasureStep.enum)) return []
  return [{ type: 'SubjectErased', data: { patientId, organisationId, erasedAt: now.toISOString() } }]
}

/** Whether an erasure runs in which the step is not done. */
export function isOpenStep({ erasure }: PatientErasureState, step: ErasureStep): boolean {
  return erasure?.status === 'running' && (erasure.steps.get(step)?.doneAt ?? null) === null
}

export function areDone({ erasure }: PatientErasureState, steps: readonly ErasureStep[]): boolean {
  return steps.every((step) => (erasure?.steps.get(step)?.doneAt ?? null) !== null)
}

export interface PlaceHold extends OfPatient {
  readonly reason: string
  readonly until: string | null
  readonly placedBy: string
}

/** The same hold again changes nothing, another one replaces it. */
export function placeHold(
  { now, ...command }: PlaceHold,
  state: PatientErasureState,
): Decision<PatientErasureEvent, 'subject-erased'> {
  if (isErasing(state)) return refused('subject-erased')
  const { hold } = state
  if (hold?.reason === command.reason && hold.until === command.until) return []
  return [{ type: 'LegalHoldPlaced', data: { ...command, placedAt: now.toISOString() } }]
}

export interface ReleaseHold extends Omit<OfPatient, 'organisationId'> {
  readonly releasedBy: string
}

export function releaseHold(
  { patientId, releasedBy, now }: ReleaseHold,
  state: PatientErasureState,
): Decision<PatientErasureEvent, 'subject-erased'> {
  if (isErasing(state)) return refused('subject-erased')
  if (state.hold === undefined) return []
  return [{ type: 'LegalHoldReleased', data: { patientId, releasedBy, releasedAt: now.toISOString() } }]
}

/** Whether a hold is in force. */
export function isHeld({ hold }: PatientErasureState, now: Date): boolean {
  return hold !== undefined && (hold.until === null || Date.parse(hold.until) > now.getTime())
}

/** The answer to the repeat of a keyed request. Undefined if the request is new. */
function earlierRequest(
  { request }: Pick<DecideErasure, 'request'>,
  { requests }: PatientErasureState,
): Decision<PatientErasureEvent, 'idempotency-key-reused'> | undefined {
  const fingerprint = request === null ? undefined : requests.get(request.key)
  if (fingerprint === undefined) return undefined
  return fingerprint === request?.fingerprint ? [] : refused('idempotency-key-reused')
}

function started({ patientId, organisationId }: Omit<OfPatient, 'now'>, now: Date): PatientErasureEvent {
  return { type: 'PatientErasureStarted', data: { patientId, organisationId, startedAt: now.toISOString() } }
}
