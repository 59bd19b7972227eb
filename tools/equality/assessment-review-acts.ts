import { assessments } from '../../streams/assessment/aggregate.ts'
import { assessmentChannelStream } from '../../streams/channels/assessment.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import { assessmentPublicFact } from '../../test/streams/channel-facts.ts'
import { assessmentFact } from '../../test/streams/facts.ts'
import { taskFact } from '../../test/streams/human-review-facts.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import { scheduleDeliveries } from './assessment-acts.ts'
import type { Act } from './clinical-acts.ts'
import type { Assessment, Story } from './story.ts'

/** A task of a review of an assessment goes a step further. The assessment follows. */
export const reviewAssessment: Act = (story, random) => {
  const reviewed = story.assessments.filter(
    ({ aiReviewId, status, task }) =>
      aiReviewId !== null && task !== 'followed' && (status === 'over' || (status === 'asked' && task === 'none')),
  )
  if (reviewed.length === 0) return
  const assessment = random.pick(reviewed)
  if (assessment.task === 'none') openTask(story, random, assessment)
  else if (assessment.task === 'open' && random.oneIn(2)) {
    append(story, assessment, opening(story, random, assessment))
    assessment.task = 'recorded'
  } else endTask(story, random, assessment)
}

function openTask(story: Story, random: SeededRandom, assessment: Assessment): void {
  const { id: assessmentId, patient, caseId } = assessment
  const { taskId, aiReviewId, stream } = taskOf(assessment)
  const of = { taskId, aiReviewId, assessmentId, caseId, patientId: patient.id, organisationId: patient.orgId }
  story.append(patient.orgId, stream, taskFact('HumanReviewTaskOpened', { ...of, openedAt: story.instant(random) }))
  assessment.task = 'open'
}

/** The assessment may learn of the opening only now. */
function endTask(story: Story, random: SeededRandom, assessment: Assessment): void {
  const { id: assessmentId, patient, task } = assessment
  const { taskId, stream } = taskOf(assessment)
  const opened = task === 'open' ? [opening(story, random, assessment)] : []
  const at = story.instant(random)
  assessment.task = 'followed'
  if (random.oneIn(4)) {
    story.append(patient.orgId, stream, taskFact('HumanReviewTaskCancelled', { taskId, cancelledAt: at }))
    const cancelled = { assessmentId, taskId, cancelledAt: at }
    append(story, assessment, ...opened, assessmentFact('AssessmentHumanReviewCancelled', cancelled))
    return
  }
  const note = patient.readsAsNull ? null : 'note'
  const opinion = taskFact('HumanReviewOpinionGiven', { taskId, patientId: patient.id, note, givenAt: at })
  story.append(patient.orgId, stream, opinion, taskFact('HumanReviewTaskDecided', { taskId, decidedAt: at }))
  const decided = assessmentFact('AssessmentHumanReviewDecided', { assessmentId, taskId, decidedAt: at })
  const eventIds = append(story, assessment, ...opened, decided)
  scheduleDeliveries(story, assessment, 'assessment.reviewed', eventIds.at(-1) ?? '')
  const named = { org_id: patient.orgId, assessment_id: assessmentId, patient_id: patient.id }
  const published = { ...named, decided_at: at, event_id: story.id(random).toLowerCase() }
  story.append(
    patient.orgId,
    assessmentChannelStream.name,
    assessmentPublicFact('assessment.reviewed', { ...published, occurred_at: at }),
  )
}

function opening(story: Story, random: SeededRandom, assessment: Assessment) {
  const { taskId } = taskOf(assessment)
  const openedAt = story.instant(random)
  return assessmentFact('AssessmentHumanReviewOpened', { assessmentId: assessment.id, taskId, openedAt })
}

function taskOf({ aiReviewId, patient }: Assessment) {
  if (aiReviewId === null) throw new Error('an assessment without a review has no task')
  const taskId = humanReviewTaskId(aiReviewId)
  return { aiReviewId, taskId, stream: humanReviewTasks.of(patient.orgId, taskId).stream }
}

function append(story: Story, { id, patient }: Assessment, ...events: ReturnType<typeof assessmentFact>[]): string[] {
  return story.append(patient.orgId, assessments.of(patient.orgId, id).stream, ...events)
}
