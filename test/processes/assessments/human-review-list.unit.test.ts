import { describe, expect, it } from 'vitest'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import { humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import { todosAfter } from '../../support/given-process.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { rowsInMemory } from '../../support/rows-in-memory.ts'
import { assessmentFact as fact, at, ids } from '../../streams/facts.ts'
import { ownTask, selectsAll, taskFact } from '../../streams/human-review-facts.ts'

const own = (event: AssessmentEvent) => ({ ...event, stream: assessments.of(ids.org, ids.assessment).stream })

const completed = own(fact('AssessmentCompleted'))
const failed = own(fact('AssessmentFailed', { code: 'IMAGE_QUALITY_INSUFFICIENT' }))
const opened = ownTask(taskFact('HumanReviewTaskOpened'))
const decided = ownTask(taskFact('HumanReviewTaskDecided'))
const cancelled = ownTask(taskFact('HumanReviewTaskCancelled'))
const toldOpened = own(fact('AssessmentHumanReviewOpened'))
const toldDecided = own(fact('AssessmentHumanReviewDecided'))
const toldCancelled = own(fact('AssessmentHumanReviewCancelled'))

const begun = [own(fact('AssessmentRequested')), own(fact('AssessmentSubmitted'))]
const before = [selectsAll, ...begun]

/** The steps about human review. */
function due(...given: GivenEvent[]): string[] {
  return todosAfter(assessmentsProcess, recorded([...before, ...given]))
    .filter(({ step }) => step.startsWith('follow-'))
    .map(({ key, step, orgId, dueAt }) => {
      expect([key, orgId]).toEqual([ids.assessment, ids.org])
      return `${step} ${dueAt.toISOString()}`
    })
}

describe('F16: an assessment follows the task of the review that ended it', () => {
  it.each([completed, failed])('from its opening on, in either order with $type', (end) => {
    expect(due(end)).toEqual([])
    expect(due(opened)).toEqual([])
    expect(due(end, opened)).toEqual([`follow-opened-task ${at(60)}`])
    expect(due(opened, end)).toEqual([`follow-opened-task ${at(30)}`])
    expect(due(opened, decided, end)).toEqual([`follow-opened-task ${at(30)}`])
    expect(due(end, opened, toldOpened)).toEqual([])
  })

  it('to its end', () => {
    expect(due(completed, opened, toldOpened, decided)).toEqual([`follow-ended-task ${at(90)}`])
    expect(due(completed, opened, toldOpened, cancelled)).toEqual([`follow-ended-task ${at(100)}`])
    expect(due(completed, opened, toldOpened, decided, toldDecided)).toEqual([])
    expect(due(completed, opened, toldOpened, cancelled, toldCancelled)).toEqual([])
  })

  it('to its end, also if that comes before the opening is recorded', () => {
    expect(due(completed, opened, decided)).toEqual([`follow-ended-task ${at(90)}`, `follow-opened-task ${at(60)}`])
    // The step had read the open task. The end of the task is still due.
    expect(due(completed, opened, decided, toldOpened)).toEqual([`follow-ended-task ${at(90)}`])
    expect(due(completed, opened, decided, toldOpened, toldDecided)).toEqual([])
    expect(due(opened, decided, completed, toldOpened, toldDecided)).toEqual([])
    expect(due(opened, cancelled, completed, toldOpened, toldCancelled)).toEqual([])
  })

  it('and no other task: of a later review, of another organisation, or after an end without a review', () => {
    const later = own(fact('AssessmentCompleted', { aiReviewId: ids.newReview }))
    expect(due(later, opened, decided)).toEqual([])
    expect(due(opened, later, decided)).toEqual([])
    const foreign = { ...opened, stream: humanReviewTasks.of(ids.otherOrg, ids.task).stream }
    expect(due(foreign, completed)).toEqual([])
    const expired = own(fact('AssessmentFailed', { aiReviewId: null, code: 'ANALYSIS_TIMEOUT' }))
    expect(due(expired, opened, decided)).toEqual([])
    expect(due(opened, expired, decided)).toEqual([])
  })

  it('nor a claim, a release, an opinion or a review without a task', () => {
    for (const event of [
      taskFact('HumanReviewTaskClaimed'),
      taskFact('HumanReviewTaskReleased'),
      taskFact('HumanReviewOpinionGiven'),
    ])
      expect(due(completed, opened, toldOpened, ownTask(event))).toEqual([])
    expect(due(completed, ownTask(taskFact('HumanReviewNotSelected')))).toEqual([])
  })

  it('and keeps nothing about it afterwards, nor if the organisation never had a policy', () => {
    const kept = (...events: GivenEvent[]) =>
      Object.entries(rowsInMemory(assessmentsProcess.list, recorded(events))).flatMap(([table, rows]) =>
        table === 'reviewing_organisations' ? [] : rows,
      )
    expect(kept(...before, completed, opened, toldOpened, decided, toldDecided)).toEqual([])
    expect(kept(...before, completed, ownTask(taskFact('HumanReviewNotSelected')))).toEqual([])
    expect(kept(...before, completed)).toHaveLength(1)
    expect(kept(...begun, completed)).toEqual([])
  })
})
