import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import type { DataOf } from '../../engine/store/events.ts'
import { patientErasureEvents, type ErasureStep, type PatientErasureEvent } from './events.ts'

export type ErasureStatus = 'awaiting_approval' | 'running' | 'completed' | 'cancelled'

export interface StepResult {
  readonly doneAt: string | null
  readonly errorCode: string | null
}

export interface Erasure extends Omit<DataOf<PatientErasureEvent, 'PatientErasureRequested'>, 'request'> {
  readonly status: ErasureStatus
  /** Null before the start. */
  readonly startedAt: string | null
  readonly steps: ReadonlyMap<ErasureStep, StepResult>
  /** All reasons with their references, by `groundOf`. */
  readonly grounds: GrowingMap<true>
}

type Ground = Pick<DataOf<PatientErasureEvent, 'PatientErasureRequested'>, 'reason' | 'reference'>

/** Why somebody asks for an erasure, as a key. */
export function groundOf({ reason, reference }: Ground): string {
  return `${reason} ${reference ?? ''}`
}

export type LegalHold = DataOf<PatientErasureEvent, 'LegalHoldPlaced'>

export interface PatientErasureState {
  /** The latest one. Undefined if nobody asked for one. */
  readonly erasure: Erasure | undefined
  /** The latest hold that was not released. It may be past its end. */
  readonly hold: LegalHold | undefined
  /**
   * Fingerprints of the keyed requests that began, joined, approved or cancelled an erasure, also an earlier one, by their
   * keys.
   */
  readonly requests: GrowingMap<string>
}

function evolve(state: PatientErasureState, event: PatientErasureEvent): PatientErasureState {
  const erasure = (changes: (one: Erasure) => Partial<Erasure>): PatientErasureState =>
    state.erasure === undefined ? state : { ...state, erasure: { ...state.erasure, ...changes(state.erasure) } }
  const result = (step: ErasureStep, of: StepResult) =>
    erasure(({ steps }) => ({ steps: new Map([...steps, [step, of]]) }))
  switch (event.type) {
    case 'PatientErasureRequested': {
      const { request, ...data } = event.data
      const begun = { status: 'awaiting_approval', startedAt: null, steps: new Map() } as const
      const grounds = new GrowingMap<true>().with(groundOf(data), true)
      return { ...withRequest(state, request), erasure: { ...data, ...begun, grounds } }
    }
    case 'PatientErasureJoined':
      return withRequest(
        erasure(({ grounds }) => ({ grounds: grounds.with(groundOf(event.data), true) })),
        event.data.request,
      )
    case 'PatientErasureApproved':
      return withRequest(state, event.data.request)
    case 'PatientErasureCancelled':
      return withRequest(
        erasure(() => ({ status: 'cancelled' })),
        event.data.request,
      )
    case 'PatientErasureStarted':
      return erasure(() => ({ status: 'running', startedAt: event.data.startedAt }))
    case 'PatientErasureStepDone':
      return result(event.data.step, { doneAt: event.data.doneAt, errorCode: null })
    case 'PatientErasureStepFailed':
      return result(event.data.step, { doneAt: null, errorCode: event.data.errorCode })
    case 'SubjectErased':
      return erasure(() => ({ status: 'completed' }))
    case 'LegalHoldPlaced':
      return { ...state, hold: event.data }
    case 'LegalHoldReleased':
      return { ...state, hold: undefined }
  }
}

function withRequest(state: PatientErasureState, request: CausingRequest): PatientErasureState {
  return request === null ? state : { ...state, requests: state.requests.with(request.key, request.fingerprint) }
}

/** The erasure of a patient, and the legal hold that prevents it. One stream decides about both. */
export const patientErasures = defineAggregate({
  category: 'patient_erasure',
  id: idOfOrganisation,
  events: patientErasureEvents,
  initialState: { erasure: undefined, hold: undefined, requests: new GrowingMap<string>() },
  evolve,
})

/** Whether nothing about the patient may be recorded or shown. */
export function isErasing({ erasure }: PatientErasureState): boolean {
  return erasure?.status === 'running' || erasure?.status === 'completed'
}
