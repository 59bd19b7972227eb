import { describe, expect, it } from 'vitest'
import { birthErrors, freeFormErrors } from '../../../commands/clinical/bodies.ts'
import { correctPatient, undoCorrection } from '../../../commands/clinical/correct-patient.ts'
import { expireClaim } from '../../../commands/clinical/expire-claim.ts'
import { openCase } from '../../../commands/clinical/open-case.ts'
import { registerPatient, revokeRegistration } from '../../../commands/clinical/register-patient.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import type { PatientEvent, Person } from '../../../streams/patient/events.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { at, caseFact, hash, ids, patientFact } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

/** The content of a personal member. */
function present<Content>(member: Content | null): Content {
  if (member === null) throw new Error('the fact has no person')
  return member
}

const registeredPerson = present(patientFact('PatientRegistered').data.person)

describe('registering a patient', () => {
  const registered = patientFact('PatientRegistered', { fingerprint: hash('f') })
  const revoked = patientFact('PatientRegistrationRevoked')
  const command = {
    patientId: ids.patient,
    organisationId: ids.org,
    person: registeredPerson,
    now: new Date(at(0)),
    fingerprint: hash('f'),
  }

  it('happens once for a keyed request', () => {
    given(patients).when(registerPatient, command).thenEvents([registered])
  })

  it('refuses another body under the same key', () => {
    given(patients, registered)
      .when(registerPatient, { ...command, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
  })

  it('can be revoked once, and never registered again', () => {
    given(patients, registered)
      .when(revokeRegistration, { patientId: ids.patient, now: new Date(at(1)) })
      .thenEvents([revoked])
    given(patients)
      .when(revokeRegistration, { patientId: ids.patient, now: new Date(at(1)) })
      .thenNothing()
    given(patients, registered, revoked).when(registerPatient, command).thenRefused('registration-revoked')
  })
})

describe('a claim that expires', () => {
  const registered = patientFact('PatientRegistered')
  const expired = patientFact('PatientIdentifierClaimExpired')
  const command = { patientId: ids.patient, claimId: ids.claim, now: new Date(at(6)) }

  it('is recorded before the patient is registered and afterwards, for each patient that wants the identifier', () => {
    given(patients).when(expireClaim, command).thenEvents([expired], [expired])
    given(patients, registered).when(expireClaim, command).thenEvents([expired], [expired])
    given(patients, registered, patientFact('PatientRegistrationRevoked')).when(expireClaim, command).thenNothing()
  })
})

describe('correcting a patient', () => {
  const registered = patientFact('PatientRegistered')
  const corrected = patientFact('PatientCorrected')
  const person = present(corrected.data.person)
  const { identifiers } = person
  const nothing = {
    givenName: undefined,
    familyName: undefined,
    dob: undefined,
    identifiers: undefined,
    now: new Date(at(5)),
  }
  const whole = { ...nothing, ...person }
  const correctedTo = (changes: Partial<Person>, correctedAt = at(5)) =>
    patientFact('PatientCorrected', { person: { ...registeredPerson, ...changes }, correctedAt })
  const stateAfter = (...events: readonly PatientEvent[]) => {
    const state = events.reduce(patients.evolve, patients.initialState)
    if (state.status !== 'registered') throw new Error('the patient is not registered')
    return state
  }

  it('records all members after the change, also the omitted ones', () => {
    given(patients, registered).when(correctPatient, whole).thenEvents([corrected])
    given(patients, registered)
      .when(correctPatient, { ...nothing, dob: '1970-03-01' })
      .thenEvents([correctedTo({ dob: '1970-03-01' })])
    given(patients, registered)
      .when(correctPatient, { ...nothing, identifiers: [] })
      .thenEvents([correctedTo({ identifiers: [] })])
  })

  it('appends nothing if nothing changes', () => {
    given(patients, registered).when(correctPatient, nothing).thenNothing()
    given(patients, registered, corrected)
      .when(correctPatient, { ...whole, now: new Date(at(9)) })
      .thenNothing()
    given(patients, registered, corrected)
      .when(correctPatient, { ...nothing, identifiers: [...identifiers] })
      .thenNothing()
    expect(
      correctPatient({ ...nothing, identifiers: identifiers.toReversed() }, stateAfter(registered, corrected)),
    ).toHaveLength(1)
  })

  it('changes the data and the time of the last change, not the time or request of the registration', () => {
    const { registeredAt, fingerprint } = patientFact('PatientRegistered', { fingerprint: hash('f') }).data
    expect(stateAfter(patientFact('PatientRegistered', { fingerprint: hash('f') }))).toMatchObject({
      registeredAt,
      updatedAt: registeredAt,
      fingerprint,
    })
    expect(stateAfter(patientFact('PatientRegistered', { fingerprint: hash('f') }), corrected)).toEqual({
      status: 'registered',
      organisationId: ids.org,
      patientId: ids.patient,
      person,
      registeredAt,
      fingerprint,
      updatedAt: at(5),
    })
  })

  it('is refused for a patient who does not exist, was revoked, or was erased', () => {
    given(patients).when(correctPatient, whole).thenRefused('not-found')
    given(patients, registered, patientFact('PatientRegistrationRevoked'))
      .when(correctPatient, whole)
      .thenRefused('not-found')
    const erased = patientFact('PatientRegistered', { person: null })
    given(patients, erased).when(correctPatient, whole).thenRefused('subject-erased')
    given(patients, erased).when(correctPatient, nothing).thenRefused('subject-erased')
  })

  it('is undone if it lost an identifier in another spelling', () => {
    const [, lost] = identifiers
    const undo = {
      before: stateAfter(registered),
      after: stateAfter(registered, corrected),
      lost: [{ scheme: ` ${lost?.scheme}`, value: `${lost?.value}\u00a0` }],
      now: new Date(at(6)),
    }
    const undone = undoCorrection(undo, stateAfter(registered, corrected))
    expect(undone).toMatchObject([{ data: { person: { identifiers: expect.not.arrayContaining([lost]) } } }])
  })

  it('is undone if it lost an identifier, except for later corrections', () => {
    const [kept, lost] = identifiers
    if (kept === undefined || lost === undefined) throw new Error('two identifiers are needed')
    const undo = {
      before: stateAfter(registered),
      after: stateAfter(registered, corrected),
      lost: [lost],
      now: new Date(at(6)),
    }
    given(patients, registered, corrected)
      .when(undoCorrection, undo)
      .thenEvents([correctedTo({}, at(6))])
    const since = patientFact('PatientCorrected', { person: { ...person, dob: '1970-03-02', identifiers: [lost] } })
    given(patients, registered, corrected, since)
      .when(undoCorrection, undo)
      .thenEvents([correctedTo({ dob: '1970-03-02', identifiers: [] }, at(6))])
    given(
      patients,
      registered,
      corrected,
      patientFact('PatientCorrected', { person: { ...person, identifiers: [kept] } }),
    )
      .when(undoCorrection, undo)
      .thenNothing()
    given(patients, registered, patientFact('PatientRegistrationRevoked')).when(undoCorrection, undo).thenNothing()
  })
})

describe('opening a case', () => {
  const opened = caseFact('CaseOpened')
  const { openedAt: _, ...data } = opened.data
  const command = { ...data, now: new Date(at(0)) }

  it('by its assessment happens once, by route or process', () => {
    given(cases).when(openCase, command).thenEvents([opened])
    given(cases, opened)
      .when(openCase, { ...command, now: new Date(at(9)), clinicalContext: null })
      .thenNothing()
  })

  it('by a client happens once for a keyed request, and refuses another body', () => {
    const keyed = { ...command, assessmentId: null, fingerprint: hash('f') }
    const own = caseFact('CaseOpened', { assessmentId: null, fingerprint: hash('f') })
    given(cases).when(openCase, keyed).thenEvents([own])
    given(cases, own)
      .when(openCase, { ...keyed, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
    given(cases, own).when(openCase, command).thenRefused('idempotency-key-reused')
  })
})

describe('rules that the schema of a body cannot express', () => {
  /** The second of March begins on Kiritimati (UTC+14). */
  const now = new Date('2026-03-01T10:00:00.000Z')
  const codes = (dob: string) => birthErrors(dob, '/dob', now).map(({ code }) => code)

  it('a date of birth is 1850 or later, and not after today anywhere on earth', () => {
    expect(codes('1849-12-31')).toEqual(['too-early'])
    expect(codes('1850-01-01')).toEqual([])
    expect(codes('2026-03-03')).toEqual(['in-the-future'])
    expect(codes('2026-03-02')).toEqual([])
    expect(birthErrors('2026-03-02', '/dob', new Date(now.getTime() - 1))).toHaveLength(1)
  })

  it('a clinical context has at most 16 levels and 64 KiB', () => {
    const nested = (levels: number): Record<string, unknown> => (levels === 1 ? {} : { a: nested(levels - 1) })
    expect(freeFormErrors({ clinical_context: nested(16) })).toEqual([])
    expect(freeFormErrors({ clinical_context: nested(17) })).toEqual([
      expect.objectContaining({ pointer: '/clinical_context', code: 'too-deep' }),
    ])
    const sized = (bytes: number) => ({ clinical_context: { a: 'x'.repeat(bytes - 8) } })
    expect(freeFormErrors(sized(64 * 1024))).toEqual([])
    expect(freeFormErrors(sized(64 * 1024 + 1))).toEqual([expect.objectContaining({ code: 'too-large' })])
    expect(freeFormErrors({ clinical_context: { a: 'ß'.repeat(33 * 1024) } })).toHaveLength(1)
    expect(freeFormErrors({})).toEqual([])
  })
})
