import { randomUUID } from 'node:crypto'
import { openCaseAndRequestReview } from '../../../commands/assessments/open-assessment-case.ts'
import { withReview } from '../../../commands/assessments/request-review.ts'
import { dayOf, imageKey } from '../../../commands/assessments/image-key.ts'
import { at as memberAt } from '../../../app/demo/members.ts'
import type { AiReviewDetails } from '../../../contracts/ai-review/record.ts'
import { getReview, listReviews } from '../../../read-api/ai-review/queries.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { consents } from '../../../streams/consent/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { assessmentFact, consentFact, ids } from '../../streams/facts.ts'
import type { ProcessWorld } from '../../support/process-world.ts'
import type { GivenTimeline } from './given-timeline.ts'

/** A submitted assessment of one image. */
export interface Analysis {
  readonly assessmentId: string
  readonly caseId: string
  readonly submittedAt: Date
}

/**
 * An assessment submitted now, for a patient of its own, with an hour until its deadline. As the route does, it opens the
 * case and requests the review.
 */
export async function submitAnalysis(world: ProcessWorld, patientId: string = randomUUID()): Promise<Analysis> {
  const [assessmentId, caseId] = [randomUUID(), randomUUID()]
  const submittedAt = world.now()
  world.services.patientId = patientId
  const key = imageKey({
    day: dayOf(submittedAt),
    orgId: world.orgId,
    ownerId: assessmentId,
    imageId: ids.image,
    randomPart: '0',
  })
  const object = await world.deps.objects.put(key, Buffer.from(`bytes ${randomUUID()}`), 'image/jpeg')
  const deadlineAt = new Date(submittedAt.getTime() + world.configuration.assessmentDeadlineSeconds * 1000)
  const images = [{ imageId: ids.image, captureType: 'dermoscopic' as const, mimeType: 'image/jpeg' as const }]
  const story = [
    assessmentFact('AssessmentRequested', {
      assessmentId,
      organisationId: world.orgId,
      patientId,
      images,
      requestedAt: submittedAt.toISOString(),
    }),
    assessmentFact('AssessmentSubmitted', {
      assessmentId,
      caseId,
      images: [{ imageId: ids.image, object, width: null, height: null }],
      submittedAt: submittedAt.toISOString(),
      deadlineAt: deadlineAt.toISOString(),
    }),
  ]
  const target = assessments.of(world.orgId, assessmentId)
  const withRequest = withReview(story, { status: 'absent' }, { isCaseOpen: false, now: submittedAt })
  await world.store.append(target, 'no_stream', withRequest, contextOf(world))
  const { state } = await world.store.load(target)
  if (state.status !== 'processing') throw new Error('a submitted assessment is not processing')
  await openCaseAndRequestReview(world, state, contextOf(world))
  return { assessmentId, caseId, submittedAt }
}

/** A decision of the patient whose case was opened last. The consent service answers with it from then on. */
export async function decideConsent(
  world: ProcessWorld,
  decision: 'granted' | 'denied' | 'withdrawn',
  consent: ProcessWorld['services']['consent'] = decision,
): Promise<void> {
  world.services.consent = consent
  const patientId = world.services.patientId ?? ids.patient
  const stream = consents.of(world.orgId, patientId).stream
  const { revision } = await world.store.load({ fold: consents, stream })
  const recordedAt = world.now().toISOString()
  const decided = consentFact('ConsentRecorded', {
    consentId: randomUUID(),
    organisationId: world.orgId,
    patientId,
    decision,
    recordedAt,
    createdAt: recordedAt,
  })
  await world.store.append({ fold: consents, stream }, revision, [decided], contextOf(world))
}

/** The answer to the GET of the review of its case; null without a review. */
async function findReview(
  { timeline: { pool }, world: { orgId } }: GivenTimeline,
  { caseId }: Analysis,
): Promise<AiReviewDetails | null> {
  const { rows } = await listReviews(pool, orgId, { caseId }, { after: null, limit: 1 })
  const [review] = rows
  return review === undefined ? null : (await getReview(pool, orgId, review.aiReviewId)).details
}

export async function reviewOf(given: GivenTimeline, analysis: Analysis): Promise<AiReviewDetails> {
  const review = await findReview(given, analysis)
  if (review === null) throw new Error('the case has no review')
  return review
}

export async function reviewEventsOf(given: GivenTimeline, analysis: Analysis): Promise<AiReviewEvent[]> {
  const { id } = await reviewOf(given, analysis)
  const { otherStore, orgId } = given.world
  const events: AiReviewEvent[] = []
  for await (const { type, data } of otherStore.readStream(aiReviews.of(orgId, id).stream))
    events.push({ type, data } as AiReviewEvent)
  return events
}

/** The assessment's events after its submission. */
export async function assessmentEventsOf(
  { world: { otherStore, orgId } }: GivenTimeline,
  { assessmentId }: Analysis,
): Promise<AssessmentEvent[]> {
  const events: AssessmentEvent[] = []
  for await (const { type, data } of otherStore.readStream(assessments.of(orgId, assessmentId).stream))
    events.push({ type, data } as AssessmentEvent)
  return events.slice(2)
}

/** Seconds from the attempt of `process` to that of each poll. */
export function pollInstants(events: readonly AiReviewEvent[]): number[] {
  const attempts = (call: string) =>
    events.flatMap((event) =>
      event.type === 'AiReviewCallAttempted' && event.data.call === call ? [Date.parse(event.data.attemptedAt)] : [],
    )
  const accepted = events.flatMap((event) =>
    event.type === 'AiReviewProcessingAccepted' ? [Date.parse(event.data.acceptedAt)] : [],
  )
  return attempts('result').map((instant) => (instant - (accepted[0] ?? 0)) / 1000)
}

export interface Ending {
  /** The codes of the assessment's ends, `completed` for a success. There must be exactly one. */
  readonly assessment: readonly string[]
  /** Null without a review. */
  readonly review: string | null
  /** The reason of a failure. */
  readonly classification: string | null
  /** The contents of its webhooks. */
  readonly webhooks: readonly string[]
}

/** The end of an analysis, and its notifications. */
export async function endingOf(given: GivenTimeline, analysis: Analysis): Promise<Ending> {
  const review = await findReview(given, analysis)
  const assessment = (await assessmentEventsOf(given, analysis)).flatMap((event) =>
    event.type === 'AssessmentCompleted' ? ['completed'] : event.type === 'AssessmentFailed' ? [event.data.code] : [],
  )
  const bodies = given.receiver.received.map(({ body }) => JSON.parse(body) as unknown)
  const webhooks = bodies.flatMap((body) =>
    memberAt(body, 'id') === analysis.assessmentId
      ? [String(memberAt(body, 'error', 'code') ?? memberAt(body, 'status'))]
      : [],
  )
  return { assessment, review: review?.status ?? null, classification: review?.errorClassification ?? null, webhooks }
}
