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
  const { patientId, person: known } = state
  if (known === null) return refused('subject-erased')
  const person = {
    givenName: command.givenName ?? known.givenName,
    familyName: command.familyName ?? known.familyName,
    dob: command.dob ?? known.dob,
    identifiers: [...(command.identifiers ?? known.identifiers)],
  }
  const isSame =
    person.givenName === known.givenName &&
    person.familyName === known.familyName &&
    person.dob === known.dob &&
    areSame(person.identifiers, known.identifiers)
  const correctedAt = command.now.toISOString()
  return isSame ? [] : [{ type: 'PatientCorrected', data: { patientId, person, correctedAt } }]
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
  if (state.status !== 'registered' || state.person === null) return []
  const { person } = state
  const isLost = (one: PatientIdentifier) => lost.some((other) => isSame(one, other))
  if (!person.identifiers.some(isLost)) return []
  const was = (member: 'givenName' | 'familyName' | 'dob') =>
    person[member] === after.person?.[member] ? before.person?.[member] : person[member]
  const isUntouched = areSame(person.identifiers, after.person?.identifiers ?? [])
  const kept = (isUntouched ? (before.person?.identifiers ?? []) : person.identifiers).filter((one) => !isLost(one))
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
