import { describe, expect, it } from 'vitest'
import {
  approveErasure,
  cancelErasure,
  completeErasure,
  endStep,
  failStep,
  placeHold,
  releaseHold,
  requestErasure,
} from '../../../commands/clinical/erase-patient.ts'
import { patientErasures } from '../../../streams/patient-erasure/aggregate.ts'
import { ErasureStep } from '../../../streams/patient-erasure/events.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { erasureFact as fact } from '../../streams/patient-erasure-facts.ts'
import { given } from '../../support/given-decider.ts'

const { patient: patientId, org: organisationId, client: first, claim: second } = ids
const patient = { patientId, organisationId }
const request = {
  ...patient,
  reason: 'person_request',
  reference: 'letter/12',
  request: fact('PatientErasureRequested').data.request,
  now: new Date(at(0)),
} as const
const alone = { ...request, approvals: 1, actor: null, requestedBy: first }
const byTwo = { ...request, approvals: 2, actor: first, requestedBy: first }
const decide = { ...patient, actor: second, request: null, now: new Date(at(10)) }
const keyed = { ...decide, request: fact('PatientErasureApproved').data.request }

const requested = fact('PatientErasureRequested')
const requestedAlone = fact('PatientErasureRequested', { approvals: 1 })
const started = fact('PatientErasureStarted')
const startedAtOnce = fact('PatientErasureStarted', { startedAt: at(0) })
const approved = fact('PatientErasureApproved')
const cancelled = fact('PatientErasureCancelled')
const erased = fact('SubjectErased')
const held = fact('LegalHoldPlaced')
const heldUntil = fact('LegalHoldPlaced', { until: at(5) })
const released = fact('LegalHoldReleased')

describe('a request to erase a patient', () => {
  it('starts the erasure at once, and once', () => {
    given(patientErasures).when(requestErasure, alone).thenEvents([requestedAlone, startedAtOnce])
    given(patientErasures, requestedAlone, started, erased).when(requestErasure, alone).thenNothing()
  })

  it('waits for a second person where two are required, and needs an actor then', () => {
    given(patientErasures).when(requestErasure, byTwo).thenEvents([requested])
    given(patientErasures)
      .when(requestErasure, { ...byTwo, actor: null })
      .thenRefused('actor-context-missing')
    given(patientErasures, requested)
      .when(requestErasure, { ...byTwo, actor: second })
      .thenNothing()
  })

  it('keeps the rule under which it was made', () => {
    given(patientErasures, requested).when(requestErasure, alone).thenNothing()
    expect(given(patientErasures, requested).state.erasure?.status).toBe('awaiting_approval')
  })

  it('may be made again after it was cancelled, with another key', () => {
    const again = { ...byTwo, request: null }
    given(patientErasures, requested, cancelled)
      .when(requestErasure, again)
      .thenEvents([fact('PatientErasureRequested', { request: null })])
  })

  it('is not made again by a repeat of its key after it was cancelled', () => {
    given(patientErasures, requested, cancelled).when(requestErasure, byTwo).thenNothing()
    given(patientErasures, requested, cancelled)
      .when(requestErasure, { ...byTwo, request: { key: hash('c'), fingerprint: hash('e') } })
      .thenRefused('idempotency-key-reused')
  })
})

describe('a request to erase a patient for whom an erasure waits', () => {
  const { reason, reference } = request
  const joined = fact('PatientErasureJoined', { reason, reference })
  const another = { ...byTwo, actor: second, requestedBy: second, now: new Date(at(5)) }
  const keyedAnother = { ...another, request: joined.data.request }

  it('changes nothing without a key', () => {
    given(patientErasures, requested)
      .when(requestErasure, { ...another, request: null })
      .thenNothing()
  })

  it('keeps its key, so a repeat after the cancellation asks for none', () => {
    given(patientErasures, requested).when(requestErasure, keyedAnother).thenEvents([joined])
    given(patientErasures, requested, joined, cancelled).when(requestErasure, keyedAnother).thenNothing()
    expect(given(patientErasures, requested, joined, cancelled).state.erasure?.status).toBe('cancelled')
  })
})

describe('a request to erase a patient for another reason', () => {
  const other = {
    ...byTwo,
    actor: second,
    requestedBy: second,
    reason: 'legal_obligation',
    reference: 'order/7',
  } as const
  const later = { ...other, request: null, now: new Date(at(5)) }
  const joined = fact('PatientErasureJoined', { request: null })

  it.each([
    ['waits', [requested]],
    ['runs', [requestedAlone, started]],
    ['is complete', [requested, approved, started, erased]],
  ])('records the reason once while the erasure %s', (_, events) => {
    given(patientErasures, ...events)
      .when(requestErasure, later)
      .thenEvents([joined])
    given(patientErasures, ...events, joined)
      .when(requestErasure, { ...later, now: new Date(at(30)) })
      .thenNothing()
    expect(given(patientErasures, ...events, joined).state.erasure).toMatchObject({ reason: 'person_request' })
  })
})

describe('an erasure that waits', () => {
  it('starts when another user approves it', () => {
    given(patientErasures, requested).when(approveErasure, keyed).thenEvents([approved, started])
    given(patientErasures, requested)
      .when(approveErasure, { ...keyed, actor: first })
      .thenRefused('second-person-required')
    given(patientErasures, requested)
      .when(approveErasure, { ...keyed, actor: null })
      .thenRefused('actor-context-missing')
  })

  it('is cancelled by anybody who may erase, also by the user who asked', () => {
    given(patientErasures, requested).when(cancelErasure, decide).thenEvents([cancelled], 'erasure-not-waiting')
    expect(cancelErasure({ ...decide, actor: first }, given(patientErasures, requested).state)).toMatchObject([
      { data: { cancelledBy: first } },
    ])
  })

  it('is not cancelled by a repeat of the key that cancelled an earlier one', () => {
    const { request: key } = keyed
    const cancelledBefore = fact('PatientErasureCancelled', { request: key })
    const anew = fact('PatientErasureRequested', { request: null })
    given(patientErasures, requested, cancelledBefore, anew).when(cancelErasure, keyed).thenNothing()
  })

  it('is neither approved nor cancelled in another state', () => {
    for (const events of [
      [requestedAlone, started],
      [requested, cancelled],
      [requested, approved, started, erased],
    ]) {
      given(patientErasures, ...events)
        .when(approveErasure, decide)
        .thenRefused('erasure-not-waiting')
      given(patientErasures, ...events)
        .when(cancelErasure, decide)
        .thenRefused('erasure-not-waiting')
    }
    given(patientErasures).when(approveErasure, decide).thenRefused('not-found')
    given(patientErasures).when(cancelErasure, decide).thenRefused('not-found')
  })
})

describe('a step of an erasure', () => {
  const step = { patientId, step: 'objects_deleted', now: new Date(at(11)) } as const
  const fail = { ...step, errorCode: 'object-store-unavailable' }
  const done = fact('PatientErasureStepDone', { step: 'objects_deleted' })
  const failed = fact('PatientErasureStepFailed')
  const running = [requestedAlone, started]

  it('fails with a code, once, and is done once', () => {
    given(patientErasures, ...running)
      .when(failStep, fail)
      .thenEvents([failed])
    given(patientErasures, ...running, failed)
      .when(endStep, step)
      .thenEvents([done])
    given(patientErasures, ...running, done)
      .when(failStep, fail)
      .thenNothing()
    given(patientErasures, requested).when(endStep, step).thenNothing()
    expect(given(patientErasures, ...running, failed, done).state.erasure?.steps.get('objects_deleted')).toEqual({
      doneAt: at(11),
      errorCode: null,
    })
  })

  it('is the last one before the last event', () => {
    const all = ErasureStep.enum.map((name) => fact('PatientErasureStepDone', { step: name }))
    const complete = { ...patient, now: new Date(at(20)) }
    given(patientErasures, ...running, ...all)
      .when(completeErasure, complete)
      .thenEvents([erased])
    given(patientErasures, ...running, ...all.slice(1))
      .when(completeErasure, complete)
      .thenNothing()
  })
})

describe('a legal hold', () => {
  const place = { ...patient, reason: 'lawsuit', until: null, placedBy: first, now: new Date(at(1)) }
  const release = { patientId, releasedBy: first, now: new Date(at(2)) }

  it('is placed, replaced and released', () => {
    given(patientErasures).when(placeHold, place).thenEvents([held])
    given(patientErasures, held)
      .when(placeHold, { ...place, until: at(5) })
      .thenEvents([heldUntil])
    given(patientErasures, held).when(releaseHold, release).thenEvents([released])
    given(patientErasures).when(releaseHold, release).thenNothing()
  })

  it('stops request and approval while it is in force', () => {
    given(patientErasures, held).when(requestErasure, alone).thenRefused('legal-hold')
    given(patientErasures, requested, held).when(approveErasure, keyed).thenRefused('legal-hold')
    given(patientErasures, heldUntil).when(requestErasure, alone).thenRefused('legal-hold')
  })

  it('stops nothing after its end, and after its release', () => {
    given(patientErasures, requested, heldUntil).when(approveErasure, keyed).thenEvents([approved, started])
    given(patientErasures, held, released).when(requestErasure, alone).thenEvents([requestedAlone, startedAtOnce])
  })

  it('is refused during and after an erasure', () => {
    for (const events of [
      [requestedAlone, started],
      [requestedAlone, started, erased],
    ]) {
      given(patientErasures, ...events)
        .when(placeHold, place)
        .thenRefused('subject-erased')
      given(patientErasures, ...events)
        .when(releaseHold, release)
        .thenRefused('subject-erased')
    }
  })
})
