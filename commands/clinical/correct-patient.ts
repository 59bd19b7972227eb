import { comparedName } from '../../platform/kit/compared-name.ts'
import type { PatientEvent, PatientIdentifier } from '../../streams/patient/events.ts'
import type { PatientState, RegisteredPatient } from '../../streams/patient/aggregate.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'

/** A correction. Omitted members stay unchanged. The list of identifiers is replaced as a whole. */
export interface CorrectPatient {
  readonly givenName?: string | undefined
  readonly familyName?: string | undefined
  readonly dob?: string | undefined
  readonly identifiers?: readonly PatientIdentifier[] | undefined
  readonly now: Date
}

/**
 * A correction without a change appends nothing. An erased patient is refused: a correction would restore a part of the
 * person.
 */
export function correctPatient(
  command: CorrectPatient,
  state: PatientState,
): Decision<PatientEvent, 'not-found' | 'subject-erased'> {
  if (state.status !== 'registered') return refused('not-found')
  const { patientId, givenName, familyName, dob, identifiers } = state
  if (givenName === null || familyName === null || dob === null || identifiers === null)
    return refused('subject-erased')
  const corrected = {
    patientId,
    givenName: command.givenName ?? givenName,
    familyName: command.familyName ?? familyName,
    dob: command.dob ?? dob,
    identifiers: [...(command.identifiers ?? identifiers)],
  }
  const isSame =
    corrected.givenName === givenName &&
    corrected.familyName === familyName &&
    corrected.dob === dob &&
    areSame(corrected.identifiers, identifiers)
  return isSame ? [] : [{ type: 'PatientCorrected', data: { ...corrected, correctedAt: command.now.toISOString() } }]
}

export interface UndoCorrection {
  readonly before: RegisteredPatient
  readonly after: RegisteredPatient
  /** The identifiers that another patient took before the correction could hold them. */
  readonly lost: readonly PatientIdentifier[]
  readonly now: Date
}

/** Undoes a correction that lost an identifier. Later corrections by others stay. Lost identifiers are removed. */
export function undoCorrection(
  { before, after, lost, now }: UndoCorrection,
  state: PatientState,
): Decision<PatientEvent, 'not-found' | 'subject-erased'> {
  if (state.status !== 'registered' || state.identifiers === null) return []
  const isLost = (one: PatientIdentifier) => lost.some((other) => isSame(one, other))
  if (!state.identifiers.some(isLost)) return []
  const was = <Member extends 'givenName' | 'familyName' | 'dob'>(member: Member) => {
    return (state[member] === after[member] ? before[member] : state[member]) ?? undefined
  }
  const isUntouched = areSame(state.identifiers, after.identifiers ?? [])
  const kept = (isUntouched ? (before.identifiers ?? []) : state.identifiers).filter((one) => !isLost(one))
  return correctPatient(
    { givenName: was('givenName'), familyName: was('familyName'), dob: was('dob'), identifiers: kept, now },
    state,
  )
}

function areSame(some: readonly PatientIdentifier[], others: readonly PatientIdentifier[]): boolean {
  return some.length === others.length && some.every((one, place) => isEqual(one, others[place]))
}

/** The same identifier, maybe in another spelling. */
function isSame(one: PatientIdentifier, other: PatientIdentifier): boolean {
  return (
    comparedName(one.scheme) === comparedName(other.scheme) && comparedName(one.value) === comparedName(other.value)
  )
}

function isEqual(one: PatientIdentifier, other: PatientIdentifier | undefined): boolean {
  return one.scheme === other?.scheme && one.value === other.value
}
