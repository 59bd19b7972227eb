import { describe, expect, it } from 'vitest'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import { todosAfter } from '../../support/given-process.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { rowsInMemory } from '../../support/rows-in-memory.ts'
import { assessmentFact as fact, at, ids } from '../../streams/facts.ts'
import { ownTask, taskFact, taskId } from '../../streams/human-review-facts.ts'

const own = (event: AssessmentEvent) => ({ ...event, stream: assessments.of(ids.org, ids.assessment).stream })

const completed = own(fact('AssessmentCompleted'))
const failed = own(fact('AssessmentFailed', { code: 'IMAGE_QUALITY_INSUFFICIENT' }))
const opened = ownTask(taskFact('HumanReviewTaskOpened'))
const decided = ownTask(taskFact('HumanReviewTaskDecided'))
const cancelled = ownTask(taskFact('HumanReviewTaskCancelled'))
const openedInAssessment = own(fact('AssessmentHumanReviewOpened'))
const decidedInAssessment = own(fact('AssessmentHumanReviewDecided'))
const cancelledInAssessment = own(fact('AssessmentHumanReviewCancelled'))

const assigned = ownTask(taskFact('HumanReviewAssessmentAssigned'))
const alone = ownTask(taskFact('HumanReviewTaskOpened', { assessmentId: null }))

const begun = [own(fact('AssessmentRequested')), own(fact('AssessmentSubmitted'))]
const expired = own(fact('AssessmentFailed', { aiReviewId: null, code: 'ANALYSIS_TIMEOUT' }))
const endedByNewer = own(fact('AssessmentCompleted', { aiReviewId: ids.newReview }))

/** The steps about human review. */
function due(...given: GivenEvent[]): string[] {
  return todosAfter(assessmentsProcess, recorded([...begun, ...given]))
    .filter(({ step }) => step.startsWith('follow-'))
    .map(({ key, step, orgId, dueAt, payload }) => {
      expect([key, orgId, payload]).toMatchObject([taskId, ids.org, { assessmentId: ids.assessment }])
      return `${step} ${dueAt.toISOString()}`
    })
}

describe('an assessment follows each task of its reviews', () => {
  it.each([completed, failed, expired, endedByNewer])('from its opening on, in either order with $type', (end) => {
    expect(due(end)).toEqual([])
    expect(due(opened)).toEqual([`follow-opened-task ${at(60)}`])
    expect(due(end, opened)).toEqual([`follow-opened-task ${at(60)}`])
    expect(due(opened, end)).toEqual([`follow-opened-task ${at(60)}`])
    expect(due(opened, decided, end)).toEqual([`follow-ended-task ${at(90)}`, `follow-opened-task ${at(60)}`])
    expect(due(end, opened, openedInAssessment)).toEqual([])
  })

  it('to its end', () => {
    expect(due(completed, opened, openedInAssessment, decided)).toEqual([`follow-ended-task ${at(90)}`])
    expect(due(completed, opened, openedInAssessment, cancelled)).toEqual([`follow-ended-task ${at(100)}`])
    expect(due(completed, opened, openedInAssessment, decided, decidedInAssessment)).toEqual([])
    expect(due(completed, opened, openedInAssessment, cancelled, cancelledInAssessment)).toEqual([])
  })

  it('to its end, also if that comes before the opening is recorded', () => {
    expect(due(completed, opened, decided)).toEqual([`follow-ended-task ${at(90)}`, `follow-opened-task ${at(60)}`])
    // The step had read the open task. The end of the task is still due.
    expect(due(completed, opened, decided, openedInAssessment)).toEqual([`follow-ended-task ${at(90)}`])
    expect(due(completed, opened, decided, openedInAssessment, decidedInAssessment)).toEqual([])
    expect(due(opened, decided, completed, openedInAssessment, decidedInAssessment)).toEqual([])
    expect(due(opened, cancelled, completed, openedInAssessment, cancelledInAssessment)).toEqual([])
  })

  it('from the assignment on if the case got the assessment after the task, also after its decision', () => {
    expect(due(alone, completed)).toEqual([])
    expect(due(alone, completed, decided)).toEqual([])
    expect(due(alone, assigned)).toEqual([`follow-opened-task ${at(62)}`])
    expect(due(alone, assigned, decided)).toEqual([`follow-ended-task ${at(90)}`, `follow-opened-task ${at(62)}`])
    expect(due(alone, decided, assigned)).toEqual([`follow-opened-task ${at(62)}`])
    expect(due(alone, decided, assigned, openedInAssessment, decidedInAssessment)).toEqual([])
  })

  it('and the tasks of two reviews apart', () => {
    const newer = { taskId: humanReviewTaskId(ids.newReview), aiReviewId: ids.newReview }
    const [openedNewer, decidedNewer] = [
      taskFact('HumanReviewTaskOpened', newer),
      taskFact('HumanReviewTaskDecided', newer),
    ].map((event) => ({ ...event, stream: humanReviewTasks.of(ids.org, newer.taskId).stream }))
    if (openedNewer === undefined || decidedNewer === undefined) throw new Error('two events')
    const story = [
      ...begun,
      completed,
      opened,
      openedNewer,
      decidedNewer,
      decided,
      openedInAssessment,
      decidedInAssessment,
    ]
    const left = todosAfter(assessmentsProcess, recorded(story)).map(({ key, step }) => [key, step])
    expect(left).toEqual([
      [newer.taskId, 'follow-ended-task'],
      [newer.taskId, 'follow-opened-task'],
    ])
  })

  it('but no claim, release, opinion or review without a task', () => {
    for (const event of [
      taskFact('HumanReviewTaskClaimed'),
      taskFact('HumanReviewTaskReleased'),
      taskFact('HumanReviewOpinionGiven'),
    ])
      expect(due(completed, opened, openedInAssessment, ownTask(event))).toEqual([])
    expect(due(completed, ownTask(taskFact('HumanReviewNotSelected')))).toEqual([])
  })

  it('and keeps nothing about it afterwards', () => {
    const kept = (...events: GivenEvent[]) =>
      Object.values(rowsInMemory(assessmentsProcess.list, recorded([...begun, ...events]))).flat()
    expect(kept(completed, opened, openedInAssessment, decided, decidedInAssessment)).toEqual([])
    expect(kept(completed, alone, decided)).toEqual([])
    expect(kept(completed)).toEqual([])
  })
})
