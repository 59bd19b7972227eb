import { v5 } from 'uuid'
import { describe, expect, it } from 'vitest'
import { lesionBatches } from '../../../commands/clinical/lesion-batches.ts'
import { recordFindings } from '../../../commands/clinical/record-findings.ts'
import { supersedeDiagnoses } from '../../../commands/clinical/supersede-diagnoses.ts'
import type { Lesion } from '../../../streams/ai-review/events.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { appendLimitBytes } from '../../../engine/store/appending.ts'
import { lesion } from '../../streams/ai-review-facts.ts'
import { at, caseFact, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const opened = caseFact('CaseOpened')
const pair = [caseFact('CaseFindingRecorded'), caseFact('CaseDiagnosisRecorded')]
const bare: Lesion = {
  ...lesion,
  lesionNumber: 7,
  coordinates: null,
  category: null,
  suspectedDiagnosisIcd10Code: null,
  suspectedDiagnosisIcd10Term: null,
  suspectedDiagnosisSnomedCode: null,
  suspectedDiagnosisSnomedTerm: null,
}

/** Ids after the contract's rule: the same lesion always gets the same ids. */
function foundOf(aiReviewId: string, lesionNumber: number) {
  const finding = { aiReviewId, lesionNumber, findingId: v5(String(lesionNumber), aiReviewId) }
  return { finding, diagnosis: { ...finding, diagnosisId: v5('diagnosis', finding.findingId) } }
}

function recording(lesions: readonly Lesion[]) {
  return {
    aiReviewId: ids.review,
    batch: { lesions, before: 0 },
    lesionCount: lesions.length,
    bodySiteId: ids.bodySite,
    now: new Date(at(18)),
  }
}

describe('the lesions of an AI review', () => {
  it('become one finding and one diagnosis each, once', () => {
    given(cases, opened)
      .when(recordFindings, recording([lesion]))
      .thenEvents(pair)
  })

  it('become a diagnosis also without a suspicion, and a finding without a body site', () => {
    const state = given(cases, opened).when(recordFindings, { ...recording([bare]), bodySiteId: null })
    const none = { code: null, term: null }
    const of = foundOf(ids.review, 7)
    state.thenEvents([
      caseFact('CaseFindingRecorded', { ...of.finding, bodySiteId: null, coordinates: null }),
      caseFact('CaseDiagnosisRecorded', { ...of.diagnosis, icd10: none, snomed: none, category: null }),
    ])
  })

  it('stay separate from the lesions of another review of the case', () => {
    const after = given(cases, opened, ...pair).when(recordFindings, {
      ...recording([lesion]),
      aiReviewId: ids.newReview,
    })
    const { finding, diagnosis } = foundOf(ids.newReview, 1)
    const state = after.thenEvents([
      caseFact('CaseFindingRecorded', finding),
      caseFact('CaseDiagnosisRecorded', diagnosis),
    ])
    expect(state).toMatchObject({
      status: 'open',
      patientId: ids.patient,
      externalReference: 'canary-reference',
      updatedAt: at(18),
    })
  })

  it('give each finding its number and the total', () => {
    const lesions = [lesion, { ...lesion, lesionNumber: 2 }, { ...lesion, lesionNumber: 3 }]
    const command = { ...recording(lesions), batch: { lesions: lesions.slice(1), before: 1 } }
    const decision = recordFindings(command, given(cases, opened).state)
    const places =
      'refused' in decision
        ? []
        : decision.flatMap(({ type, data }) =>
            type === 'CaseFindingRecorded' ? [[data.lesionNumber, data.ordinal, data.lesionCount]] : [],
          )
    expect(places).toEqual([
      [2, 2, 3],
      [3, 3, 3],
    ])
  })

  it('are recorded in a case that was closed meanwhile, or is in review', () => {
    for (const event of [caseFact('CaseClosed'), caseFact('CaseHumanReviewStarted')])
      given(cases, opened, event)
        .when(recordFindings, recording([lesion]))
        .thenEvents(pair)
  })

  it('are refused for a case that does not exist', () => {
    given(cases)
      .when(recordFindings, recording([lesion]))
      .thenRefused('not-found')
  })
})

describe('an AI review that another one has replaced', () => {
  const command = {
    aiReviewId: ids.review,
    batch: { lesions: [lesion], before: 0 },
    diagnosisCount: 1,
    supersededById: ids.newReview,
    now: new Date(at(20)),
  }
  const superseded = caseFact('CaseDiagnosisSuperseded')

  it('has its diagnoses superseded, once, and keeps its findings', () => {
    const state = given(cases, opened, ...pair)
      .when(supersedeDiagnoses, command)
      .thenEvents([superseded])
    expect(recordFindings(recording([lesion]), state)).toEqual([])
  })

  it('has its diagnoses superseded although the case is closed', () => {
    given(cases, opened, ...pair, caseFact('CaseClosed'))
      .when(supersedeDiagnoses, command)
      .thenEvents([superseded])
  })

  it('does not change the diagnoses of its successor', () => {
    const { finding, diagnosis } = foundOf(ids.newReview, 1)
    const own = [caseFact('CaseFindingRecorded', finding), caseFact('CaseDiagnosisRecorded', diagnosis)]
    const state = given(cases, opened, ...pair, ...own)
      .when(supersedeDiagnoses, command)
      .thenEvents([superseded])
    expect(
      state.status === 'open' && [...state.analyses].map(([review, analysis]) => [review, analysis.get(1)?.status]),
    ).toEqual([
      [ids.review, 'superseded'],
      [ids.newReview, 'active'],
    ])
  })

  it('has them superseded in a closed case, too', () => {
    given(cases, opened, ...pair, caseFact('CaseClosed'))
      .when(supersedeDiagnoses, command)
      .thenEvents([superseded])
  })

  it('does not supersede again what a clinician has superseded, and counts it', () => {
    const second = foundOf(ids.review, 2)
    const two = [caseFact('CaseFindingRecorded', second.finding), caseFact('CaseDiagnosisRecorded', second.diagnosis)]
    const byClinician = caseFact('CaseDiagnosisSuperseded', {
      ...second.diagnosis,
      supersededById: ids.task,
      taskId: ids.task,
      diagnosisCount: 2,
    })
    const batch = { lesions: [lesion, { ...lesion, lesionNumber: 2 }], before: 0 }
    given(cases, opened, ...pair, ...two, byClinician)
      .when(supersedeDiagnoses, { ...command, batch, diagnosisCount: 2 })
      .thenEvents([caseFact('CaseDiagnosisSuperseded', { ordinal: 2, diagnosisCount: 2 })])
  })

  it('keeps the diagnoses of clinicians', () => {
    const confirmed = caseFact('CaseDiagnosisRecorded', {
      diagnosisId: ids.clinicianDiagnosis,
      source: 'clinician',
      taskId: ids.task,
    })
    const state = given(cases, opened, ...pair, confirmed)
      .when(supersedeDiagnoses, command)
      .thenEvents([superseded])
    expect(state.status !== 'absent' && [...state.clinicianDiagnoses]).toEqual([ids.clinicianDiagnosis])
  })

  it('is refused while its lesions are not recorded', () => {
    given(cases, opened).when(supersedeDiagnoses, command).thenRefused('conflict')
    given(cases).when(supersedeDiagnoses, command).thenRefused('not-found')
  })
})

describe('the batches of lesions that one append takes', () => {
  const many = (count: number, changes: Partial<Lesion> = {}) =>
    Array.from({ length: count }, (_, index) => ({ ...lesion, ...changes, lesionNumber: index + 1 }))
  const sizes = (lesions: readonly Lesion[]) =>
    lesionBatches(lesions).map((batch) => [batch.before, batch.lesions.length])

  it('contain all lesions in order, at most a hundred each', () => {
    expect(sizes([])).toEqual([])
    expect(sizes(many(100))).toEqual([[0, 100]])
    expect(sizes(many(250))).toEqual([
      [0, 100],
      [100, 100],
      [200, 50],
    ])
    expect(lesionBatches(many(250)).flatMap(({ lesions }) => lesions)).toEqual(many(250))
  })

  it('are smaller if the texts are long, and fit into one append with any escaping', () => {
    const long = '\u0001'.repeat(10_000)
    const texts = {
      category: long,
      suspectedDiagnosisIcd10Code: long,
      suspectedDiagnosisIcd10Term: long,
      suspectedDiagnosisSnomedCode: long,
      suspectedDiagnosisSnomedTerm: long,
    }
    expect(sizes(many(3, texts))).toEqual([
      [0, 2],
      [2, 1],
    ])
    const worst = many(100, { category: long.slice(0, 505) }).with(99, { ...lesion, ...texts, lesionNumber: 100 })
    for (const lesions of [worst, many(3, texts)]) {
      const [batch = { lesions: [], before: 0 }] = lesionBatches(lesions)
      const decision = recordFindings({ ...recording(lesions), batch }, given(cases, opened).state)
      expect(Buffer.byteLength(JSON.stringify(decision))).toBeLessThan(appendLimitBytes * 0.8)
    }
  })
})
