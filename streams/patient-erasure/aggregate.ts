import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import type { DataOf } from '../../engine/store/events.ts'
import { patientErasureEvents, type ErasureStep, type PatientErasureEvent } from './events.ts'

export type ErasureStatus = 'awaiting_approval' | 'running' | 'completed' | 'cancelled'

export interface StepResult {
  readonly doneAt: string | null
  readonly errorCode: string | null
}

export interface Erasure extends DataOf<PatientErasureEvent, 'PatientErasureRequested'> {
  readonly status: ErasureStatus
  /** Null before the start. */
  readonly startedAt: string | null
  readonly steps: ReadonlyMap<ErasureStep, StepResult>
  /** The keyed request that approved or cancelled it. */
  readonly endedByKey: string | null
}

export type LegalHold = DataOf<PatientErasureEvent, 'LegalHoldPlaced'>

export interface PatientErasureState {
  /** The latest one. Undefined if nobody asked for one. */
  readonly erasure: Erasure | undefined
  /** The latest hold that was not released. It may be past its end. */
  readonly hold: LegalHold | undefined
}

function evolve(state: PatientErasureState, event: PatientErasureEvent): PatientErasureState {
  const erasure = (changes: (one: Erasure) => Partial<Erasure>): PatientErasureState =>
    state.erasure === undefined ? state : { ...state, erasure: { ...state.erasure, ...changes(state.erasure) } }
  const result = (step: ErasureStep, of: StepResult) =>
    erasure(({ steps }) => ({ steps: new Map([...steps, [step, of]]) }))
  switch (event.type) {
    case 'PatientErasureRequested': {
      const begun = { status: 'awaiting_approval', startedAt: null, steps: new Map(), endedByKey: null } as const
      return { ...state, erasure: { ...event.data, ...begun } }
    }
    case 'PatientErasureApproved':
      return erasure(() => ({ endedByKey: event.data.request?.key ?? null }))
    case 'PatientErasureCancelled':
      return erasure(() => ({ status: 'cancelled', endedByKey: event.data.request?.key ?? null }))
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

/** The erasure of a patient, and the legal hold that prevents it. One stream decides about both. */
export const patientErasures = defineAggregate({
  category: 'patient_erasure',
  id: idOfOrganisation,
  events: patientErasureEvents,
  initialState: { erasure: undefined, hold: undefined },
  evolve,
})

/** Whether nothing about the patient may be recorded or shown. */
export function isErasing({ erasure }: PatientErasureState): boolean {
  return erasure?.status === 'running' || erasure?.status === 'completed'
}
