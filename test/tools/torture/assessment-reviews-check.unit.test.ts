import { describe, expect, test } from 'vitest'
import { checkAssessmentReviews, reviewsUnderWay } from '../../../tools/torture/checks/assessment-reviews.ts'
import { underWay } from '../../../tools/torture/stage/settle.ts'
import { streamOf, toldLog, type Told } from '../../../tools/torture/told-log.ts'

const assessment = (type: string, data = {}): Told => [
  streamOf('assessment', 'a1'),
  `Assessment${type}`,
  { assessmentId: 'a1', ...data },
]
const task = (type: string, taskId = 't1', data = {}): Told => [
  streamOf('humanreviewtask', taskId),
  `HumanReviewTask${type}`,
  { taskId, ...data },
]
const completed = assessment('Completed', { aiReviewId: 'r1' })
const opened = task('Opened', 't1', { aiReviewId: 'r1' })
const what = (...log: readonly Told[]) =>
  checkAssessmentReviews(toldLog(...log)).findings.map((finding) => finding.what)
const [toldOpened, toldDecided, toldCancelled] = ['Opened', 'Decided', 'Cancelled'].map((type) =>
  assessment(`HumanReview${type}`),
) as [Told, Told, Told]
const decided = [opened, completed, task('Decided'), toldOpened, toldDecided] as const

describe('the check of the human reviews of assessments', () => {
  test.each<readonly [string, readonly Told[]]>([
    ['a decision', decided],
    ['a cancellation', [completed, opened, toldOpened, task('Cancelled'), toldCancelled]],
    ['an open review', [completed, opened, toldOpened]],
    ['no task', [completed]],
    ['an end without a review', [assessment('Failed', { aiReviewId: null }), opened, task('Decided')]],
    ['a task of another review', [completed, task('Opened', 't2', { aiReviewId: 'r2' }), task('Decided', 't2')]],
  ])('accepts %s', (_, log) => {
    expect(what(...log)).toEqual([])
    expect(reviewsUnderWay(toldLog(...log))).toEqual([])
  })

  test('finds what is missing, and waits for it', () => {
    const log = decided.slice(0, -1)
    expect(what(...log)).toEqual(['an assessment without AssessmentHumanReviewDecided'])
    expect(underWay(toldLog(...log))).toEqual(expect.arrayContaining([expect.stringContaining('lacks Assessment')]))
  })

  test('finds what is there twice, or is not so in the task', () => {
    const uncalled = 'a human review that its task does not have'
    expect(what(...decided, toldDecided)).toEqual([uncalled])
    expect(what(completed, opened, toldOpened, task('Decided'), toldCancelled)).toEqual([uncalled])
    expect(what(assessment('Failed', { aiReviewId: null }), opened, toldOpened)).toEqual([uncalled])
  })
})
