import { expect, test } from 'vitest'
import { checkFindings, withoutFindings } from '../../../tools/torture/checks/findings.ts'
import { underWay } from '../../../tools/torture/stage/quiet.ts'
import { streamOf, exampleLog } from '../../../tools/torture/example-log.ts'

const review = streamOf('ai_review', 'r1')
const ofCase = streamOf('case', 'c1')
const completed = [review, 'AiReviewCompleted', { aiReviewId: 'r1', lesions: [{ lesionNumber: 1 }] }] as const
const superseded = [review, 'AiReviewSuperseded', { aiReviewId: 'r1' }] as const
const recorded = (type: string, lesionNumber = 1) => [ofCase, type, { aiReviewId: 'r1', lesionNumber }] as const
const pair = [recorded('CaseFindingRecorded'), recorded('CaseDiagnosisRecorded')] as const
const replaced = recorded('CaseDiagnosisSuperseded')

const said = (...log: readonly (readonly [string, string, Readonly<Record<string, unknown>>])[]) =>
  checkFindings(exampleLog(...log)).findings.map(({ what }) => what)

test('accepts a finding and a diagnosis per lesion, superseded with its review', () => {
  expect(checkFindings(exampleLog(completed, ...pair))).toMatchObject({ examined: 1, findings: [] })
  expect(said(completed, ...pair, superseded, replaced)).toEqual([])
  expect(said([review, 'AiReviewCompleted', { aiReviewId: 'r1', lesions: [] }])).toEqual([])
})

test('accepts diagnoses of clinicians, and those of the AI that a clinician superseded', () => {
  const of = { aiReviewId: 'r1', lesionNumber: 1, taskId: 't1' }
  const added = [ofCase, 'CaseDiagnosisRecorded', { ...of, source: 'clinician' }] as const
  const corrected = [ofCase, 'CaseDiagnosisSuperseded', of] as const
  expect(said(completed, ...pair, added)).toEqual([])
  expect(said(completed, ...pair, corrected, added, superseded)).toEqual([])
  expect(said(completed, pair[0], added)).toEqual(['not recorded'])
  expect(said(completed, ...pair, corrected, corrected)).toEqual(['a second CaseDiagnosisSuperseded'])
})

test('finds a missing one, a second one, one without a lesion, and one superseded alone', () => {
  expect(said(completed, pair[0])).toEqual(['not recorded'])
  expect(said(completed, ...pair, superseded)).toEqual(['not recorded'])
  expect(said(completed, ...pair, pair[1])).toEqual(['a second CaseDiagnosisRecorded'])
  expect(said(completed, ...pair, superseded, replaced, replaced)).toEqual(['a second CaseDiagnosisSuperseded'])
  expect(said(completed, ...pair, recorded('CaseFindingRecorded', 2))).toEqual(['CaseFindingRecorded of no lesion'])
  expect(said(completed, ...pair, replaced)).toEqual(['superseded, but its review is not'])
})

test('a run with missing findings is not finished', () => {
  expect(withoutFindings(exampleLog(completed, ...pair, superseded))).toEqual(['CaseDiagnosisSuperseded r1 1'])
  const published = (type: string, cause: string) => ['ai_review.events', type, {}, { $causationId: cause }] as const
  expect(underWay(exampleLog(completed, published('ai_review.completed', 'event-0')))).toEqual([
    'CaseFindingRecorded r1 1',
    'CaseDiagnosisRecorded r1 1',
  ])
})
