import { describe, expect, it } from 'vitest'
import { viewOf } from '../../../commands/assessments/views.ts'
import { recordHumanReview } from '../../../commands/assessments/record-human-review.ts'
import { toAssessmentRecord } from '../../../contracts/assessments/record.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import { humanReviewTasks, type OpenedTask } from '../../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent } from '../../../streams/human-review-task/events.ts'
import { given } from '../../support/given-decider.ts'
import { assessmentFact as fact, ids } from '../../streams/facts.ts'
import { taskFact } from '../../streams/human-review-facts.ts'

const submitted = [fact('AssessmentRequested'), fact('AssessmentSubmitted')] as const
const ends = [fact('AssessmentCompleted'), fact('AssessmentFailed', { code: 'IMAGE_QUALITY_INSUFFICIENT' })] as const
const opened = fact('AssessmentHumanReviewOpened')
const decided = fact('AssessmentHumanReviewDecided')
const cancelled = fact('AssessmentHumanReviewCancelled')

const decision = [taskFact('HumanReviewOpinionGiven'), taskFact('HumanReviewTaskDecided')] as const

/** The command after these events of the task, which follow its opening. */
function following(...events: readonly HumanReviewTaskEvent[]) {
  return followingTask({}, ...events)
}

function followingTask(opening: Partial<OpenedTask>, ...events: readonly HumanReviewTaskEvent[]) {
  const task = [taskFact('HumanReviewTaskOpened', opening), ...events].reduce(
    humanReviewTasks.evolve,
    humanReviewTasks.initialState,
  )
  if (task.status === 'absent') throw new Error('the task was not opened')
  return { task }
}

describe.each(ends)('the human review of an assessment after $type', (end) => {
  it('is open when its task is opened, and the same while it is claimed, released or has an opinion', () => {
    given(assessments, ...submitted, end)
      .when(recordHumanReview, following())
      .thenEvents([opened])
    for (const event of [
      taskFact('HumanReviewTaskClaimed'),
      taskFact('HumanReviewTaskReleased'),
      taskFact('HumanReviewOpinionGiven'),
    ])
      given(assessments, ...submitted, end, opened)
        .when(recordHumanReview, following(event))
        .thenEvents([])
  })

  it('is decided or cancelled with its task', () => {
    given(assessments, ...submitted, end, opened)
      .when(recordHumanReview, following(...decision))
      .thenEvents([decided])
    given(assessments, ...submitted, end, opened)
      .when(recordHumanReview, following(taskFact('HumanReviewTaskCancelled')))
      .thenEvents([cancelled])
  })

  it('is opened and ended in one append if its task ended before the opening was recorded', () => {
    given(assessments, ...submitted, end)
      .when(recordHumanReview, following(...decision))
      .thenEvents([opened, decided])
    given(assessments, ...submitted, end)
      .when(recordHumanReview, following(taskFact('HumanReviewTaskCancelled')))
      .thenEvents([opened, cancelled])
  })

  it('does not change after its end', () => {
    for (const last of [decided, cancelled])
      for (const task of [following(), following(...decision), following(taskFact('HumanReviewTaskCancelled'))])
        given(assessments, ...submitted, end, opened, last)
          .when(recordHumanReview, task)
          .thenEvents([])
  })

  function recordAfter(...events: readonly AssessmentEvent[]) {
    const state = [...submitted, end, ...events].reduce(assessments.evolve, assessments.initialState)
    if (state.status === 'absent') throw new Error('the assessment was not requested')
    return toAssessmentRecord(viewOf(state), new Map())
  }

  it('is that of the newest review with a task, in whatever order the tasks come', () => {
    const newer = { taskId: '00000000-0000-5000-8000-00000000000b', aiReviewId: ids.newReview, reviewOrdinal: 9 }
    const { taskId, aiReviewId, reviewOrdinal } = newer
    const openedNewer = fact('AssessmentHumanReviewOpened', { taskId, reviewOrdinal })
    const decidedNewer = fact('AssessmentHumanReviewDecided', { taskId, aiReviewId })
    given(assessments, ...submitted, end, opened, decided)
      .when(recordHumanReview, followingTask(newer))
      .thenEvents([openedNewer])
    given(assessments, ...submitted, end, opened, decided, openedNewer)
      .when(recordHumanReview, followingTask(newer, ...decision))
      .thenEvents([decidedNewer])
    expect(recordAfter(opened, decided, openedNewer).review).toMatchObject({ status: 'open' })

    // The decision about the older review comes last. It is recorded, and the record stays.
    const late = [
      fact('AssessmentHumanReviewOpened', { isNewest: false }),
      fact('AssessmentHumanReviewDecided', { isNewest: false }),
    ]
    given(assessments, ...submitted, end, openedNewer)
      .when(recordHumanReview, following(...decision))
      .thenEvents(late)
    expect(recordAfter(openedNewer, ...late).review).toEqual(recordAfter(openedNewer).review)
    given(assessments, ...submitted, end, opened, openedNewer)
      .when(recordHumanReview, following(...decision))
      .thenEvents([fact('AssessmentHumanReviewDecided', { isNewest: false })])
    given(assessments, ...submitted, end, openedNewer, ...late)
      .when(recordHumanReview, following(...decision))
      .thenNothing()
  })

  it('is the only change of the record', () => {
    const before = recordAfter()
    expect(before).not.toHaveProperty('review')
    const open = { status: 'open', decided_at: null, agrees_with_ai: null }
    expect(recordAfter(opened)).toEqual({ ...before, review: open })
    const { decidedAt: decided_at } = decided.data
    expect(recordAfter(opened, decided)).toEqual({
      ...before,
      review: { status: 'decided', decided_at, agrees_with_ai: false },
    })
    expect(recordAfter(opened, cancelled)).toEqual({ ...before, review: { ...open, status: 'cancelled' } })
  })
})

describe('an assessment that has not ended', () => {
  it('has no human review', () => {
    given(assessments, ...submitted)
      .when(recordHumanReview, following(...decision))
      .thenEvents([])
    given(assessments).when(recordHumanReview, following()).thenEvents([])
  })
})
