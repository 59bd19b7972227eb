import { expect, test } from 'vitest'
import { checkReviewedCases, withoutResult } from '../../../tools/torture/checks/reviewed-cases.ts'
import { streamOf, exampleLog, type ExampleEvent } from '../../../tools/torture/example-log.ts'

const task = (type: string, data = {}): ExampleEvent => [
  streamOf('humanreviewtask', 't1'),
  type,
  { taskId: 't1', ...data },
]
const ofCase = (type: string, data = {}): ExampleEvent => [streamOf('case', 'c1'), type, { taskId: 't1', ...data }]

const started = ofCase('CaseHumanReviewStarted')
const ended = ofCase('CaseHumanReviewEnded')
const coded = (code: string) => ({ icd10: { code, term: `Term of ${code}` }, category: 'Benign' })
const ofAi = [1, 2, 3].map((lesionNumber) => ({ lesionNumber, ...coded('D22') }))
const opened = task('HumanReviewTaskOpened', { aiReviewId: 'r1', lesions: ofAi })
const lesions = ['confirm', 'correct', 'reject'].map((outcome, index) => ({
  lesionNumber: index + 1,
  outcome,
}))
const decided = [task('HumanReviewOpinionGiven', { lesions }), task('HumanReviewTaskDecided', { opinion: 1 })]
const correction = { correction: { $phi: 'sealed' } }
const added = (lesionNumber: number, codes: object = lesionNumber === 1 ? coded('D22') : correction) =>
  ofCase('CaseDiagnosisRecorded', { lesionNumber, source: 'clinician', ...codes })
const replaced = (lesionNumber: number, data = {}) =>
  ofCase('CaseDiagnosisSuperseded', { aiReviewId: 'r1', lesionNumber, ...data })
const byLaterReview = [2, 3].map((lesionNumber) => replaced(lesionNumber, { taskId: null }))
const results = [replaced(2), replaced(3), added(1), added(2)]

const what = (...log: readonly ExampleEvent[]) =>
  checkReviewedCases(exampleLog(...log)).findings.map((finding) => finding.what)

test('accepts the results of decided and cancelled tasks', () => {
  expect(what(started, opened, ...decided, ...results, ended)).toEqual([])
  expect(what(started, opened, task('HumanReviewTaskCancelled'), ended)).toEqual([])
  expect(what(started, opened)).toEqual([])
  // Another AI review superseded the diagnoses first.
  expect(what(started, opened, ...decided, ...byLaterReview, added(1), added(2), ended)).toEqual([])
})

test('finds a missing result, a second one, a wrong one, and a task that its case does not know', () => {
  const missing = 'no result of a task in its case'
  expect(what(started, opened, ...decided, ...byLaterReview, added(1), ended)).toEqual([missing])
  expect(what(started, opened, ...decided, replaced(2), added(1), added(2), ended)).toEqual([missing])
  expect(what(started, opened, ...decided, ...results)).toEqual([missing])
  expect(what(started, opened, ...decided, ...results, added(1), ended)).toEqual([
    'a second CaseDiagnosisRecorded of a task',
  ])
  expect(what(started, opened, ...decided, ...byLaterReview, added(1), ended, added(2))).toEqual([
    'a result after the end of a review',
  ])
  expect(what(started, opened, ...decided, ...results, added(3), ended)).toEqual([
    'CaseDiagnosisRecorded that nobody decided',
  ])
  expect(what(started, opened, ...decided, ...results, replaced(1), ended)).toEqual([
    'CaseDiagnosisSuperseded that nobody decided',
  ])
  for (const wrong of [
    [added(1, coded('C44')), added(2)],
    [added(1, correction), added(2)],
    [added(1), added(2, coded('D22'))],
  ])
    expect(what(started, opened, ...decided, ...byLaterReview, ...wrong, ended)).toEqual([
      'a diagnosis with other codes than decided',
    ])
  expect(what(opened, started)).toEqual(['a task that its case does not know'])
})

test('a run with missing results is not finished', () => {
  expect(withoutResult(exampleLog(started, opened, ...decided, added(1)))).toEqual([
    't1 CaseHumanReviewEnded',
    't1 CaseDiagnosisRecorded 2',
    'r1 AI 2',
    'r1 AI 3',
  ])
})
