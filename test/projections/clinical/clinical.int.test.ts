import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { casesProjector } from '../../../projections/clinical/cases.projector.ts'
import { patientsProjector } from '../../../projections/clinical/patients.projector.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { at, caseFact, ids, patientFact } from '../../streams/facts.ts'

/** Characters of four bytes that do not compress. */
function randomText(length: number): string {
  return Array.from({ length }, () => String.fromCodePoint(0x2_0000 + randomInt(0xa000))).join('')
}

describe('the patients read model', () => {
  const registered = patientFact('PatientRegistered')
  const row = {
    patient_id: ids.patient,
    org_id: ids.org,
    given_name: 'Canary',
    family_name: 'Müller-canary',
    dob: '1970-02-28',
    identifiers: [{ scheme: 'nhs', value: 'canary-9434765919' }],
    registered_at: at(0),
    updated_at: at(0),
    stream_revision: '0',
  }
  const ofPatient = (scheme: string, value: string) => ({ patient_id: ids.patient, scheme, value, org_id: ids.org })
  const stream = patients.of(ids.org, ids.patient).stream

  it('has a row for each registered patient', async () => {
    const other = patientFact('PatientRegistered', {
      patientId: ids.otherPatient,
      organisationId: ids.otherOrg,
      identifiers: [],
    })
    const { patients, patient_identifiers: identifiers } = await rowsAfter(
      patientsProjector,
      recorded([registered, { ...other, stream: 'other' }]),
    )
    expect(patients).toEqual([row, { ...row, patient_id: ids.otherPatient, org_id: ids.otherOrg, identifiers: [] }])
    expect(identifiers).toEqual([ofPatient('nhs', 'canary-9434765919')])
  })

  it('has no row for a revoked registration', async () => {
    const rows = await rowsAfter(patientsProjector, recorded([registered, patientFact('PatientRegistrationRevoked')]))
    expect(rows).toEqual({ patients: [], patient_identifiers: [] })
  })

  it("contains only ids and instants after the patient's erasure", async () => {
    const erased = patientFact('PatientRegistered', { givenName: null, familyName: null, dob: null, identifiers: null })
    const nobody = { ...row, given_name: null, family_name: null, dob: null, identifiers: null }
    expect(await rowsAfter(patientsProjector, recorded([erased]))).toEqual({
      patients: [nobody],
      patient_identifiers: [],
    })
    const corrected = patientFact('PatientCorrected', {
      givenName: null,
      familyName: null,
      dob: null,
      identifiers: null,
    })
    const rows = await rowsAfter(
      patientsProjector,
      recorded([
        { ...erased, stream },
        { ...corrected, stream },
      ]),
    )
    expect(rows).toEqual({
      patients: [{ ...nobody, updated_at: at(5), stream_revision: '1' }],
      patient_identifiers: [],
    })
  })

  it('contains the last correction of a patient, with its identifiers only', async () => {
    const events = [
      registered,
      patientFact('PatientCorrected'),
      patientFact('PatientCorrected', {
        identifiers: [
          { scheme: 'mrn', value: 'canary-17' },
          { scheme: 'mrn', value: 'canary-18' },
        ],
        correctedAt: at(7),
      }),
    ].map((event) => ({ ...event, stream }))
    const rows = await rowsAfter(patientsProjector, recorded(events))
    const identifiers = [
      { scheme: 'mrn', value: 'canary-17' },
      { scheme: 'mrn', value: 'canary-18' },
    ]
    expect(rows).toEqual({
      patients: [
        {
          ...row,
          given_name: 'Canary-corrected',
          dob: '1970-03-01',
          identifiers,
          updated_at: at(7),
          stream_revision: '2',
        },
      ],
      patient_identifiers: [ofPatient('mrn', 'canary-17'), ofPatient('mrn', 'canary-18')],
    })
  })

  it('writes one row for identifiers that are equal in Postgres, and accepts the longest identifiers', async () => {
    const identifiers = [
      { scheme: 'a', value: 'b\u0000' },
      { scheme: 'a', value: 'b\u{fffd}' },
      { scheme: randomText(255), value: randomText(255) },
    ]
    const { patient_identifiers: rows } = await rowsAfter(
      patientsProjector,
      recorded([patientFact('PatientRegistered', { identifiers })]),
    )
    expect(rows).toEqual(expect.arrayContaining([ofPatient('a', 'b\u{fffd}')]))
    expect(rows).toHaveLength(2)
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
      category: 'Malignant',
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
      { diagnosis_id: ids.clinicianDiagnosis, source: 'clinician', task_id: ids.task, status: 'active' },
    ])
  })
})
