import { aiReviewChannelStream } from '../../streams/channels/ai-review.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { deliveryIdOf } from '../../streams/webhook-delivery/aggregate.ts'
import type { WebhookEventType } from '../../streams/webhook-subscriptions/events.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import { reviewPublicFact } from '../../test/streams/channel-facts.ts'
import { assessmentFact, hash, ids } from '../../test/streams/facts.ts'
import type { Act } from './clinical-acts.ts'
import type { Assessment, Story } from './story.ts'

/** Inline requests are submitted in the same append. The others wait for their uploads. */
export const requestAssessment: Act = (story, random, text) => {
  if (story.patients.length === 0) return
  const patient = random.pick(story.patients)
  const imageIds = Array.from({ length: 1 + random.below(3) }, () => story.id(random))
  const assessment: Assessment = {
    id: story.id(random),
    patient,
    caseId: story.id(random),
    imageIds,
    status: 'awaiting',
    aiReviewId: story.id(random),
    task: 'none',
  }
  const images = imageIds.map((imageId) => ({
    imageId,
    captureType: random.pick(['dermoscopic', 'macroscopic', 'other'] as const),
    mimeType: 'image/jpeg',
  }))
  const phi = patient.readsAsNull
    ? { externalReference: null, clinicalContext: null, customFields: null }
    : { externalReference: text }
  const names = { assessmentId: assessment.id, organisationId: patient.orgId, patientId: patient.id }
  const requested = assessmentFact('AssessmentRequested', {
    ...names,
    images,
    requestedAt: story.instant(random),
    ...phi,
  })
  const isInline = random.oneIn(2)
  const awaited = assessmentFact('AssessmentUploadsAwaited', {
    assessmentId: assessment.id,
    closesAt: story.instant(random),
  })
  story.append(
    patient.orgId,
    streamOf(assessment),
    requested,
    isInline ? submitted(story, random, assessment) : awaited,
  )
  if (isInline) assessment.status = 'submitted'
  story.assessments.push(assessment)
}

export const advanceAssessment: Act = (story, random) => {
  const open = story.assessments.filter(({ status }) => status !== 'over')
  if (open.length === 0) return
  const assessment = random.pick(open)
  if (random.oneIn(4)) return end(story, random, assessment)
  if (assessment.status === 'awaiting') {
    story.append(assessment.patient.orgId, streamOf(assessment), submitted(story, random, assessment))
    assessment.status = 'submitted'
  } else if (assessment.status === 'submitted') askForReview(story, random, assessment)
  else if (random.oneIn(3)) {
    const review = story.reviews.find(({ caseId }) => caseId === assessment.caseId)
    const renewed = {
      assessmentId: assessment.id,
      aiReviewId: review?.id ?? ids.review,
      renewedAt: story.instant(random),
    }
    story.append(assessment.patient.orgId, streamOf(assessment), assessmentFact('AssessmentReviewRenewed', renewed))
  } else end(story, random, assessment)
}

function submitted(story: Story, random: SeededRandom, { id, caseId, imageIds }: Assessment) {
  const images = imageIds.map((imageId) => ({
    imageId,
    object: { key: `images/${imageId}`, sha256: hash('a'), bytes: 1 },
    width: 600,
    height: null,
  }))
  const instants = { submittedAt: story.instant(random), deadlineAt: story.instant(random) }
  return assessmentFact('AssessmentSubmitted', { assessmentId: id, caseId, images, ...instants })
}

function askForReview(story: Story, random: SeededRandom, assessment: Assessment): void {
  const { id, caseId, patient, imageIds } = assessment
  const { orgId } = patient
  const asked = { assessmentId: id, caseId, patientId: patient.id, requestedAt: story.instant(random) }
  story.append(orgId, streamOf(assessment), assessmentFact('AssessmentReviewRequested', asked))
  assessment.status = 'asked'
  const published = {
    caseId,
    orgId,
    patientId: patient.id,
    requestedAt: asked.requestedAt,
    occurred_at: asked.requestedAt,
  }
  const [eventId] = story.append(orgId, aiReviewChannelStream.name, reviewPublicFact('ai_review.requested', published))
  if (eventId !== undefined) story.requests.push({ eventId, orgId, caseId, patient, imageIds })
}

function end(story: Story, random: SeededRandom, assessment: Assessment): void {
  const { id, patient, status } = assessment
  const isCompleted = status === 'asked' && random.oneIn(2)
  const at = story.instant(random)
  if (status === 'awaiting') assessment.aiReviewId = null
  const { aiReviewId } = assessment
  const code = status === 'awaiting' ? 'UPLOAD_WINDOW_EXPIRED' : random.pick(['ANALYSIS_FAILED', 'CANCELLED'] as const)
  const fact =
    isCompleted && aiReviewId !== null
      ? assessmentFact('AssessmentCompleted', { assessmentId: id, aiReviewId, completedAt: at })
      : assessmentFact('AssessmentFailed', { assessmentId: id, aiReviewId, failedAt: at, code })
  const [eventId = ''] = story.append(patient.orgId, streamOf(assessment), fact)
  assessment.status = 'over'
  scheduleDeliveries(story, assessment, isCompleted ? 'assessment.completed' : 'assessment.failed', eventId)
}

/** A delivery to each active subscription of the organisation that names the type. */
export function scheduleDeliveries(
  story: Story,
  { id, patient }: Assessment,
  type: WebhookEventType,
  eventId: string,
): void {
  const receivers = story.subscriptions.filter(
    ({ orgId, eventTypes, status }) => status === 'active' && orgId === patient.orgId && eventTypes.includes(type),
  )
  for (const { id: subscriptionId, orgId } of receivers) {
    const delivery = {
      id: deliveryIdOf(subscriptionId, eventId),
      orgId,
      subscriptionId,
      eventId,
      eventType: type,
      assessmentId: id,
    } as const
    story.deliveries.push({ ...delivery, status: 'due', attempts: 0, isScheduled: false })
  }
}

function streamOf({ id, patient }: Assessment): string {
  return assessments.of(patient.orgId, id).stream
}
