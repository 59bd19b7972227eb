import { describe, expect, it } from 'vitest'
import { v5 } from 'uuid'
import {
  decisionBatches,
  endHumanReview,
  hasFindings,
  startHumanReview,
} from '../../../commands/clinical/human-reviews.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import type { CaseEvent } from '../../../streams/case/events.ts'
import { humanReviewTasks, type HumanReviewTask } from '../../../streams/human-review-task/aggregate.ts'
import type { LesionDecision } from '../../../streams/human-review-task/events.ts'
import { appendLimitBytes } from '../../../engine/store/appending.ts'
import { given } from '../../support/given-decider.ts'
import { at, caseFact, ids } from '../../streams/facts.ts'
import { opinionOn, taskFact } from '../../streams/human-review-facts.ts'

const opened = caseFact('CaseOpened')
const started = caseFact('CaseHumanReviewStarted')
const otherProduct = '00000000-0000-4000-8000-0000000000a7'
const ended = caseFact('CaseHumanReviewEnded')
const closed = caseFact('CaseClosed')
const [icd10, snomed] = [
  { code: 'C44.9', term: 'Malignant neoplasm of skin' },
  { code: '372130007', term: 'Malignant tumor of skin' },
]

/** The finding and the diagnosis of the AI for a lesion of the review. */
function pairOf(lesionNumber: number): CaseEvent[] {
  const findingId = v5(String(lesionNumber), ids.review)
  const found = { findingId, lesionNumber, ordinal: lesionNumber, lesionCount: 2 }
  const diagnosisId = v5('diagnosis', findingId)
  return [
    caseFact('CaseFindingRecorded', found),
    caseFact('CaseDiagnosisRecorded', { findingId, lesionNumber, diagnosisId }),
  ]
}

const found = [opened, ...pairOf(1), ...pairOf(2), started]

/** A decided task whose AI found lesions 1 and 2. */
function decided(...lesions: LesionDecision[]): HumanReviewTask {
  const opinion = taskFact('HumanReviewOpinionGiven', opinionOn(...lesions))
  const { state } = given(
    humanReviewTasks,
    taskFact('HumanReviewTaskOpened'),
    opinion,
    taskFact('HumanReviewTaskDecided'),
  )
  if (state.status === 'absent') throw new Error('the task does not exist')
  return state
}

const nothing = { icd10: null, snomed: null, category: null }
const confirm = (lesionNumber: number): LesionDecision => ({ lesionNumber, outcome: 'confirm', ...nothing })
const reject = (lesionNumber: number): LesionDecision => ({ lesionNumber, outcome: 'reject', ...nothing })
const correct = (lesionNumber: number): LesionDecision => ({
  lesionNumber,
  outcome: 'correct',
  icd10,
  snomed,
  category: 'MALIGNANT',
})

function ending(task: HumanReviewTask) {
  const [batch] = decisionBatches(task)
  if (batch === undefined) throw new Error('a task has no batch')
  return { task, batch, now: new Date(at(90)) }
}

type Correction = Extract<CaseEvent, { type: 'CaseDiagnosisRecorded' }>['data']['correction']

/** The clinician's diagnosis of a lesion. */
function added(lesionNumber: number, correction: Correction = null): CaseEvent {
  const { lesions } = taskFact('HumanReviewTaskOpened').data
  const noCode = { code: null, term: null }
  return caseFact('CaseDiagnosisRecorded', {
    ...(correction === null
      ? lesions.find((lesion) => lesion.lesionNumber === lesionNumber)
      : { lesionNumber, icd10: noCode, snomed: noCode, category: null }),
    patientId: ids.patient,
    correction,
    diagnosisId: v5(String(lesionNumber), ids.task),
    findingId: v5(String(lesionNumber), ids.review),
    lesionNumber,
    source: 'clinician',
    taskId: ids.task,
    recordedAt: at(90),
  })
}

/** The diagnosis of the AI, superseded by the task. */
function replaced(lesionNumber: number, ordinal: number): CaseEvent {
  const findingId = v5(String(lesionNumber), ids.review)
  const diagnosisId = v5('diagnosis', findingId)
  const by = { supersededById: ids.task, taskId: ids.task, supersededAt: at(90) }
  return caseFact('CaseDiagnosisSuperseded', {
    findingId,
    diagnosisId,
    lesionNumber,
    ordinal,
    diagnosisCount: 2,
    ...by,
  })
}

describe('a case with a new task', () => {
  const command = { taskId: ids.task, aiReviewId: ids.review, productId: ids.product, now: new Date(at(60)) }

  it('is in review, once', () => {
    const state = given(cases, opened).when(startHumanReview, command).thenEvents([started])
    expect(state).toMatchObject({ status: 'in_review', updatedAt: at(60) })
    given(cases, opened, started, ended).when(startHumanReview, command).thenNothing()
  })

  it('stays closed', () => {
    const state = given(cases, opened, closed)
      .when(startHumanReview, command)
      .thenEvents([caseFact('CaseHumanReviewStarted', { caseStatus: 'closed' })])
    expect(state).toMatchObject({ status: 'closed' })
  })

  it('records the assessment that it has for the product of the review by then', () => {
    const ofClient = caseFact('CaseOpened', { assessmentId: null, productId: null })
    const assigned = caseFact('CaseAssessmentAssigned')
    const alone = caseFact('CaseHumanReviewStarted', { assessmentId: null })
    given(cases, ofClient).when(startHumanReview, command).thenEvents([alone])
    given(cases, ofClient, assigned).when(startHumanReview, command).thenEvents([started])
    given(cases, ofClient, alone, assigned).when(startHumanReview, command).thenNothing()
    const other = { ...command, productId: otherProduct }
    const ofOther = caseFact('CaseHumanReviewStarted', { assessmentId: null, productId: otherProduct })
    for (const before of [[opened], [ofClient, assigned]])
      given(cases, ...before)
        .when(startHumanReview, other)
        .thenEvents([ofOther])
  })

  it('of another service has no stream, and gets none', () => {
    given(cases).when(startHumanReview, command).thenNothing()
  })
})

describe('a decision', () => {
  it('adds the diagnosis of the AI again for a confirmed lesion, and keeps that of the AI', () => {
    const state = given(cases, ...found)
      .when(endHumanReview, ending(decided(confirm(1), confirm(2))))
      .thenEvents([added(1), added(2), ended])
    expect(state).toMatchObject({ status: 'open', updatedAt: at(90) })
  })

  it('adds the given codes for a corrected lesion, and supersedes the diagnosis of the AI', () => {
    const codes = { icd10, snomed, category: 'MALIGNANT' }
    given(cases, ...found)
      .when(endHumanReview, ending(decided(correct(1), confirm(2))))
      .thenEvents([replaced(1, 1), added(1, codes), added(2), ended])
    const none = { ...codes, snomed: { code: null, term: null } }
    given(cases, ...found)
      .when(endHumanReview, ending(decided({ ...correct(1), snomed: null }, confirm(2))))
      .thenEvents([replaced(1, 1), added(1, none), added(2), ended])
  })

  it('adds nothing for a rejected lesion, and supersedes the diagnosis of the AI', () => {
    given(cases, ...found)
      .when(endHumanReview, ending(decided(reject(1), reject(2))))
      .thenEvents([replaced(1, 1), replaced(2, 2), ended])
  })

  it('leaves what another AI review has superseded', () => {
    const before = caseFact('CaseDiagnosisSuperseded', { diagnosisCount: 2 })
    given(cases, ...found, before)
      .when(endHumanReview, ending(decided(reject(1), reject(2))))
      .thenEvents([replaced(2, 2), ended])
  })

  it('waits for the findings', () => {
    const task = decided(reject(1), confirm(2))
    for (const story of [[], [opened], [opened, ...pairOf(1)]])
      expect(hasFindings(task, given(cases, ...story).state)).toBe(false)
    expect(hasFindings(task, given(cases, ...found).state)).toBe(true)
    given(cases, opened, started).when(endHumanReview, ending(task)).thenRefused('conflict')
    given(cases).when(endHumanReview, ending(task)).thenRefused('not-found')
  })

  it('is recorded in a closed case, which stays closed', () => {
    const ofClosed = caseFact('CaseHumanReviewStarted', { caseStatus: 'closed' })
    given(cases, ...found.slice(0, -1), closed, ofClosed)
      .when(endHumanReview, ending(decided(confirm(1), reject(2))))
      .thenEvents([replaced(2, 1), added(1), caseFact('CaseHumanReviewEnded', { caseStatus: 'closed' })])
  })
})

describe('the end of a task', () => {
  const { state } = given(humanReviewTasks, taskFact('HumanReviewTaskOpened'), taskFact('HumanReviewTaskCancelled'))
  if (state.status === 'absent') throw new Error('the task does not exist')
  const command = ending(state)

  it('makes the case open, without a diagnosis if the task was cancelled', () => {
    given(cases, opened, started).when(endHumanReview, command).thenEvents([ended])
    given(cases, opened).when(endHumanReview, command).thenNothing()
  })

  it('leaves the case in review while another task is open', () => {
    const other = caseFact('CaseHumanReviewStarted', { taskId: ids.event, aiReviewId: ids.newReview })
    const after = given(cases, opened, started, other)
      .when(endHumanReview, command)
      .thenEvents([caseFact('CaseHumanReviewEnded', { caseStatus: 'in_review' })])
    expect(after).toMatchObject({ status: 'in_review' })
  })
})

describe('a decision about many lesions', () => {
  const long = '\u0001'.repeat(255)
  const numbers = Array.from({ length: 250 }, (_, index) => index + 1)
  const task: HumanReviewTask = {
    ...decided(confirm(1), confirm(2)),
    lesions: numbers.map((lesionNumber) => ({ lesionNumber, icd10, snomed, category: 'MALIGNANT' })),
    decision: {
      ...taskFact('HumanReviewOpinionGiven').data,
      lesions: numbers.map((lesionNumber) => ({
        ...correct(lesionNumber),
        icd10: { code: long, term: long },
        category: long,
      })),
    },
  }

  it('takes several appends, each within the limit, and ends with the last one', () => {
    const batches = decisionBatches(task)
    expect(batches.length).toBeGreaterThan(2)
    expect(batches.flatMap(({ lesions }) => lesions.map(({ lesionNumber }) => lesionNumber))).toEqual(numbers)
    let { state } = given(cases, opened, ...numbers.flatMap(pairOf), started)
    const ordinals: number[] = []
    for (const batch of batches) {
      const events = endHumanReview({ task, batch, now: new Date(at(90)) }, state)
      if ('refused' in events) throw new Error(events.refused)
      expect(Buffer.byteLength(JSON.stringify(events))).toBeLessThan(appendLimitBytes * 0.8)
      expect(events.some(({ type }) => type === 'CaseHumanReviewEnded')).toBe(batch === batches.at(-1))
      for (const { type, data } of events) if (type === 'CaseDiagnosisSuperseded') ordinals.push(data.ordinal)
      state = events.reduce(cases.evolve, state)
      expect(endHumanReview({ task, batch, now: new Date(at(90)) }, state)).toEqual([])
    }
    expect(ordinals).toEqual(numbers)
    expect(state).toMatchObject({ status: 'open' })
  })

  it('has the same batches when an erasure has made its texts unreadable', () => {
    const { decision } = task
    const unread = decision && {
      ...decision,
      lesions: decision.lesions.map((lesion) => ({ ...lesion, ...nothing })),
    }
    const startsOf = (of: HumanReviewTask) => decisionBatches(of).map(({ before }) => before)
    expect(startsOf({ ...task, decision: unread })).toEqual(startsOf(task))
  })
})
