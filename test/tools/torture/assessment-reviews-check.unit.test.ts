import { describe, expect, test } from 'vitest'
import { checkAssessmentReviews, reviewsUnderWay } from '../../../tools/torture/checks/assessment-reviews.ts'
import { underWay } from '../../../tools/torture/stage/quiet.ts'
import { streamOf, exampleLog, type ExampleEvent } from '../../../tools/torture/example-log.ts'

const assessment = (type: string, data = {}): ExampleEvent => [
  streamOf('assessment', 'a1'),
  `Assessment${type}`,
  { assessmentId: 'a1', ...data },
]
const task = (type: string, taskId = 't1', data = {}): ExampleEvent => [
  streamOf('humanreviewtask', taskId),
  `HumanReview${type}`,
  { taskId, ...data },
]
const completed = assessment('Completed', { aiReviewId: 'r1' })
const opened = task('TaskOpened', 't1', { assessmentId: 'a1' })
const [ended, withdrawn] = [task('TaskDecided'), task('TaskCancelled')]
const what = (...log: readonly ExampleEvent[]) =>
  checkAssessmentReviews(exampleLog(...log)).findings.map((finding) => finding.what)
const [openedInAssessment, decidedInAssessment, cancelledInAssessment] = ['Opened', 'Decided', 'Cancelled'].map(
  (type) => assessment(`HumanReview${type}`, { taskId: 't1' }),
) as [ExampleEvent, ExampleEvent, ExampleEvent]
const decided = [opened, completed, ended, openedInAssessment, decidedInAssessment] as const
const alone = task('TaskOpened', 't2')
const second = { taskId: 't2' }

describe('the check of the human reviews of assessments', () => {
  test.each<readonly [string, readonly ExampleEvent[]]>([
    ['a decision', decided],
    ['a cancellation', [completed, opened, openedInAssessment, withdrawn, cancelledInAssessment]],
    ['an open review', [completed, opened, openedInAssessment]],
    ['no task', [completed]],
    ['a task without an assessment', [completed, alone, task('TaskDecided', 't2')]],
    [
      'the tasks of two reviews, one of which got its assessment after its decision',
      [
        ...decided,
        alone,
        task('TaskDecided', 't2'),
        task('AssessmentAssigned', 't2', { assessmentId: 'a1' }),
        ...['Opened', 'Decided'].map((type) => assessment(`HumanReview${type}`, second)),
      ],
    ],
  ])('accepts %s', (_, log) => {
    expect(what(...log)).toEqual([])
    expect(reviewsUnderWay(exampleLog(...log))).toEqual([])
  })

  test('finds what is missing, and waits for it', () => {
    const late = [assessment('Failed', { aiReviewId: null }), opened, ended]
    expect(what(...late)).toEqual(
      ['Opened', 'Decided'].map((type) => `an assessment without AssessmentHumanReview${type}`),
    )
    const log = decided.slice(0, -1)
    expect(what(...log)).toEqual(['an assessment without AssessmentHumanReviewDecided'])
    expect(underWay(exampleLog(...log))).toEqual(expect.arrayContaining([expect.stringContaining('lacks Assessment')]))
  })

  test('finds what is there twice, or is not so in the task', () => {
    const uncalled = 'a human review that its task does not have'
    expect(what(...decided, decidedInAssessment)).toEqual([uncalled])
    expect(what(completed, opened, openedInAssessment, ended, cancelledInAssessment)).toEqual([uncalled])
    expect(what(completed, alone, assessment('HumanReviewOpened', second))).toEqual([uncalled])
  })
})
