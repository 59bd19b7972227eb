import { describe, expect, it } from 'vitest'
import { reservations } from '../../../engine/commands/reservation/aggregate.ts'
import { casesProjector } from '../../../projections/clinical/cases.projector.ts'
import { patientsProjector } from '../../../projections/clinical/patients.projector.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { recorded, rowsAfter, type GivenEvent } from '../../support/given-projector.ts'
import { at, caseFact, ids, patientFact, reservationFact } from '../../streams/facts.ts'

describe('the patients read model', () => {
  const registered = patientFact('PatientRegistered')
  const row = {
    patient_id: ids.patient,
    org_id: ids.org,
    person: registered.data.person,
    registered_at: at(0),
    updated_at: at(0),
    stream_revision: '0',
  }
  const key = 'a'.repeat(64)
  const claim = { org_id: ids.org, identifier_key: key, patient_id: ids.patient }
  const ofKey = (fact: ReturnType<typeof reservationFact>, one = key) => ({
    ...fact,
    stream: reservations.of(ids.org, one).stream,
  })
  const stream = patients.of(ids.org, ids.patient).stream

  it('has a row for each registered patient', async () => {
    const other = patientFact('PatientRegistered', {
      patientId: ids.otherPatient,
      organisationId: ids.otherOrg,
      person: null,
    })
    const { patients } = await rowsAfter(patientsProjector, recorded([registered, { ...other, stream: 'other' }]))
    expect(patients).toEqual([row, { ...row, patient_id: ids.otherPatient, org_id: ids.otherOrg, person: null }])
  })

  it('has no row for a revoked registration', async () => {
    const rows = await rowsAfter(patientsProjector, recorded([registered, patientFact('PatientRegistrationRevoked')]))
    expect(rows).toEqual({ patients: [], identifier_claims: [] })
  })

  it('has the revision of a claim that expired, and no row before the registration', async () => {
    const expired = { ...patientFact('PatientIdentifierClaimExpired'), stream }
    const ofExpired = async (...events: Parameters<typeof recorded>[0][number][]) =>
      (await rowsAfter(patientsProjector, recorded(events))).patients
    expect(await ofExpired(expired)).toEqual([])
    expect(await ofExpired(expired, { ...registered, stream })).toEqual([{ ...row, stream_revision: '1' }])
    expect(await ofExpired({ ...registered, stream }, expired)).toEqual([{ ...row, stream_revision: '1' }])
  })

  it("contains only ids and instants after the patient's erasure", async () => {
    const erased = patientFact('PatientRegistered', { person: null })
    const nobody = { ...row, person: null }
    expect(await rowsAfter(patientsProjector, recorded([erased]))).toEqual({
      patients: [nobody],
      identifier_claims: [],
    })
    const corrected = patientFact('PatientCorrected', { person: null })
    const rows = await rowsAfter(
      patientsProjector,
      recorded([
        { ...erased, stream },
        { ...corrected, stream },
      ]),
    )
    expect(rows).toEqual({
      patients: [{ ...nobody, updated_at: at(5), stream_revision: '1' }],
      identifier_claims: [],
    })
  })

  it('contains the last correction of a patient', async () => {
    const person = { givenName: 'Canary-corrected', familyName: 'Canary', dob: '1970-03-01', identifiers: [] }
    const events = [
      registered,
      patientFact('PatientCorrected'),
      patientFact('PatientCorrected', { person, correctedAt: at(7) }),
    ].map((event) => ({ ...event, stream }))
    const rows = await rowsAfter(patientsProjector, recorded(events))
    expect(rows).toEqual({
      patients: [{ ...row, person, updated_at: at(7), stream_revision: '2' }],
      identifier_claims: [],
    })
  })

  it('has the present owner of each claimed identifier, by its HMAC', async () => {
    const claimed = reservationFact('ReservationClaimed')
    const { stream: otherStream } = patients.of(ids.org, ids.otherPatient)
    const byOther = reservationFact('ReservationClaimed', { ownerId: ids.otherPatient, ownerStream: otherStream })
    const byUser = reservationFact('ReservationClaimed', { ownerStream: `user-${ids.event}`, ownerId: ids.event })
    const released = reservationFact('ReservationReleased')
    const claims = async (...events: GivenEvent[]) =>
      (await rowsAfter(patientsProjector, recorded(events)))['identifier_claims']
    expect(await claims(ofKey(claimed), ofKey(byUser, 'b'.repeat(64)))).toEqual([claim])
    expect(await claims(ofKey(claimed), ofKey(released))).toEqual([])
    expect(await claims(ofKey(claimed), ofKey(released), ofKey(byOther))).toEqual([
      { ...claim, patient_id: ids.otherPatient },
    ])
  })
})

describe('the cases read model', () => {
  it('has a row for each case, without its free text', async () => {
    const opened = caseFact('CaseOpened')
    const own = caseFact('CaseOpened', {
      caseId: ids.event,
      productId: null,
      assessmentId: null,
      externalReference: null,
    })
    const { cases } = await rowsAfter(casesProjector, recorded([opened, { ...own, stream: 'other' }]))
    const row = {
      case_id: ids.case,
      org_id: ids.org,
      patient_id: ids.patient,
      product_id: ids.product,
      status: 'open',
      external_reference: 'canary-reference',
      workflow_instance_id: null,
      opened_at: at(0),
      updated_at: at(0),
      stream_revision: '0',
    }
    expect(cases).toEqual([{ ...row, case_id: ids.event, product_id: null, external_reference: null }, row])
  })

  it('names the workflow instance of a case, and its end', async () => {
    const stream = cases.of(ids.org, ids.case).stream
    const workflow = {
      workflowInstanceId: ids.workflowInstance,
      workflowDefinitionId: ids.workflowDefinition,
      definitionVersion: 1,
    }
    const story = [
      caseFact('CaseOpened', { workflow }),
      caseFact('CaseAssessmentAssigned'),
      caseFact('CaseClosed'),
    ].map((event) => ({ ...event, stream }))
    const { cases: rows } = await rowsAfter(casesProjector, recorded(story))
    const closed = { status: 'closed', workflow_instance_id: ids.workflowInstance, updated_at: at(40) }
    expect(rows).toEqual([expect.objectContaining({ ...closed, stream_revision: '2' })])
  })

  it('has a row for each finding and each diagnosis, and updates the case', async () => {
    const stream = cases.of(ids.org, ids.case).stream
    const [opened, found, diagnosed, superseded] = [
      caseFact('CaseOpened'),
      caseFact('CaseFindingRecorded'),
      caseFact('CaseDiagnosisRecorded'),
      caseFact('CaseDiagnosisSuperseded'),
    ].map((event) => ({ ...event, stream }))
    const events = [opened, found, diagnosed, superseded].filter((event) => event !== undefined)
    const finding = {
      finding_id: ids.finding,
      org_id: ids.org,
      case_id: ids.case,
      source: 'ai',
      ai_review_id: ids.review,
      lesion_number: 1,
      body_site_id: ids.bodySite,
      coordinates: { x1: 40, y1: 41, x2: 100, y2: 101.5 },
      created_at: at(18),
      stream_revision: '1',
    }
    const diagnosis = {
      diagnosis_id: ids.diagnosis,
      org_id: ids.org,
      case_id: ids.case,
      finding_id: ids.finding,
      source: 'ai',
      task_id: null,
      status: 'active',
      icd10: { code: 'D22.9', term: 'Melanocytic naevi, unspecified' },
      snomed: { code: '400010006', term: 'Melanocytic naevus of skin' },
      category: 'Benign',
      correction: null,
      lesion_number: 1,
      created_at: at(18),
      superseded_at: null,
      stream_revision: '2',
    }
    const before = await rowsAfter(casesProjector, recorded(events.slice(0, 3)))
    expect(before).toMatchObject({
      findings: [finding],
      diagnoses: [diagnosis],
      cases: [{ updated_at: at(18), stream_revision: '2' }],
    })
    const after = await rowsAfter(casesProjector, recorded(events))
    expect(after['findings']).toEqual([finding])
    expect(after['diagnoses']).toEqual([
      { ...diagnosis, status: 'superseded', superseded_at: at(20), stream_revision: '3' },
    ])
    expect(after['cases']).toMatchObject([
      { case_id: ids.case, opened_at: at(0), updated_at: at(20), stream_revision: '3' },
    ])
  })

  it('shows a case in review, and the diagnosis of a clinician beside that of the AI', async () => {
    const diagnosisOfClinician = {
      diagnosisId: ids.clinicianDiagnosis,
      source: 'clinician',
      taskId: ids.task,
      category: null,
      patientId: ids.patient,
      correction: {
        icd10: { code: 'C43.9', term: 'canary-term' },
        snomed: { code: null, term: null },
        category: 'canary-category',
      },
      recordedAt: at(90),
    } as const
    const story = [
      caseFact('CaseOpened'),
      caseFact('CaseDiagnosisRecorded'),
      caseFact('CaseHumanReviewStarted'),
      caseFact('CaseDiagnosisSuperseded', { supersededById: ids.task, taskId: ids.task, supersededAt: at(90) }),
      caseFact('CaseDiagnosisRecorded', diagnosisOfClinician),
      caseFact('CaseHumanReviewEnded'),
    ].map((event) => ({ ...event, stream: cases.of(ids.org, ids.case).stream }))
    const during = await rowsAfter(casesProjector, recorded(story.slice(0, 3)))
    expect(during['cases']).toMatchObject([{ status: 'in_review', updated_at: at(60), stream_revision: '2' }])
    const after = await rowsAfter(casesProjector, recorded(story))
    expect(after['cases']).toMatchObject([{ status: 'open', updated_at: at(90), stream_revision: '5' }])
    expect(after['diagnoses']).toMatchObject([
      { diagnosis_id: ids.diagnosis, source: 'ai', task_id: null, status: 'superseded', superseded_at: at(90) },
      {
        diagnosis_id: ids.clinicianDiagnosis,
        source: 'clinician',
        task_id: ids.task,
        status: 'active',
        category: null,
        correction: diagnosisOfClinician.correction,
      },
    ])
  })
})
