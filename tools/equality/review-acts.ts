import { aiReviewChannelStream } from '../../streams/channels/ai-review.ts'
import { aiReviewSlots } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { DomainEvent } from '../../engine/store/events.ts'
import type { SeededRandom } from 'embedded-eventstore/seeded-random'
import { lesion, reviewFact as fact, slotFact } from '../../test/streams/ai-review-facts.ts'
import { reviewPublicFact } from '../../test/streams/channel-facts.ts'
import { ids } from '../../test/streams/facts.ts'
import type { Act } from './clinical-acts.ts'
import type { OpenRequest, Review, Story } from './story.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'

/**
 * The oldest request of the channel gets a review, or the answer that one exists. Without such a request, a client
 * requests a review, or a case with a review gets another request.
 */
export const takeSlot: Act = (story, random) => {
  const asked =
    story.requests.shift() ??
    (story.reviews.length > 0 && random.oneIn(2) ? askedAgain(story, random) : askedAnew(story, random))
  const holder = story.reviews.find((review) => review.caseId === asked.caseId && review.status !== 'superseded')
  if (holder === undefined) claim(story, random, asked, null)
  else if (asked.eventId !== null && random.oneIn(2)) answer(story, random, asked.eventId, holder)
  else supersede(story, random, holder, asked)
}

function askedAnew(story: Story, random: SeededRandom): Asked {
  const patient = story.patients.length === 0 || random.oneIn(4) ? undefined : random.pick(story.patients)
  const orgId = patient?.orgId ?? random.pick(story.organisations)
  return {
    eventId: null,
    orgId: tenantOfFact(orgId),
    caseId: story.id(random),
    patient,
    imageIds: [story.id(random), story.id(random)],
  }
}

function askedAgain(story: Story, random: SeededRandom): Asked {
  const { orgId, caseId, patient, imageIds } = random.pick(story.reviews)
  const asked = { orgId, caseId, patient, imageIds }
  if (random.oneIn(2)) return { ...asked, eventId: null }
  const at = story.instant(random)
  const published = { caseId, orgId, requestedAt: at, occurred_at: at }
  const [eventId = null] = story.append(
    orgId,
    aiReviewChannelStream.name,
    reviewPublicFact('ai_review.requested', published),
  )
  return { ...asked, eventId }
}

type Asked = Omit<OpenRequest, 'eventId'> & { readonly eventId: string | null }

function claim(
  story: Story,
  random: SeededRandom,
  { eventId, orgId, caseId, patient, imageIds }: Asked,
  superseded: Review | null,
): Review {
  const id = story.id(random)
  const review: Review = {
    id,
    orgId,
    caseId,
    productId: ids.product,
    patient,
    imageIds,
    requestEventId: eventId,
    status: 'claimed',
    polls: 0,
  }
  const supersedes = superseded === null ? null : { aiReviewId: superseded.id, reason: null }
  const claimed = { ...detailOf(review), requestEventId: eventId, supersedes, claimedAt: story.instant(random) }
  story.append(orgId, aiReviewSlots.of(orgId, caseId, ids.product).stream, slotFact('AiReviewSlotClaimed', claimed))
  story.reviews.push(review)
  return review
}

function answer(story: Story, random: SeededRandom, requestEventId: string, { id, orgId, caseId }: Review): void {
  const answered = { aiReviewId: id, caseId, requestEventId, answeredAt: story.instant(random) }
  story.append(
    orgId,
    aiReviewSlots.of(orgId, caseId, ids.product).stream,
    slotFact('AiReviewRequestAnswered', answered),
  )
}

/** Another review supersedes one. Sometimes the channel has not published that yet. */
export function supersede(story: Story, random: SeededRandom, holder: Review, asked: Asked): void {
  const next = claim(story, random, asked, holder)
  // A claimed review is opened first if it was not. Only an open review can be superseded.
  if (holder.status === 'claimed') say(story, holder, requested(story, random, holder))
  say(
    story,
    holder,
    fact('AiReviewSuperseded', { aiReviewId: holder.id, supersededById: next.id, supersededAt: story.instant(random) }),
  )
  holder.status = 'superseded'
  const { orgId, caseId } = holder
  const published = {
    oldAiReviewId: holder.id,
    newAiReviewId: next.id,
    orgId,
    caseId,
    occurred_at: story.instant(random),
  }
  if (random.oneIn(3)) return
  story.append(orgId, aiReviewChannelStream.name, reviewPublicFact('ai_review.superseded', published))
  const analysis = story.analyses.find(({ review }) => review.id === holder.id)
  if (analysis !== undefined) analysis.supersededById = next.id
}

/** Appends the next possible event of a review. */
export const advanceReview: Act = (story, random) => {
  const open = story.reviews.filter(isOpen)
  if (open.length > 0) advance(story, random, random.pick(open))
}

/** Takes one review to its end. */
export function endReview(story: Story, random: SeededRandom): void {
  const review = story.reviews.find(isOpen)
  if (review === undefined) return
  while (isOpen(review)) advance(story, random, review)
}

function isOpen({ status }: Review): boolean {
  return status !== 'over' && status !== 'superseded'
}

function advance(story: Story, random: SeededRandom, review: Review): void {
  if (review.status === 'claimed') {
    say(story, review, requested(story, random, review))
    review.status = 'open'
    return
  }
  if (random.oneIn(8)) return end(story, random, review, false)
  if (random.oneIn(6)) return confirmConsent(story, random, review)
  if (review.status === 'awaiting') poll(story, random, review)
  else start(story, random, review)
}

function start(story: Story, random: SeededRandom, review: Review): void {
  const of = { aiReviewId: review.id }
  const at = story.instant(random)
  const started = fact('AiReviewStarted', { ...of, patientId: review.patient?.id ?? ids.patient, startedAt: at })
  const attempted = fact('AiReviewCallAttempted', {
    ...of,
    attemptId: story.id(random),
    attemptedAt: at,
    leaseUntil: story.instant(random),
  })
  const created = fact('AiReviewProviderCaseCreated', { ...of, providerCaseId: random.below(1_000), createdAt: at })
  const deferred = fact('AiReviewStartDeferred', { ...of, deferredAt: at, retryAt: story.instant(random) })
  const postponed = fact('AiReviewCallPostponed', {
    ...of,
    call: random.pick(['case', 'image', 'process'] as const),
    postponedAt: at,
    retryAt: story.instant(random),
  })
  const sent = () =>
    fact('AiReviewImageSent', {
      ...of,
      imageId: random.pick(review.imageIds),
      providerImageId: random.below(1_000),
      providerImageHash: random.oneIn(3) ? null : 'h',
      sentAt: at,
    })
  const accepted = fact('AiReviewProcessingAccepted', {
    ...of,
    acceptedAt: at,
    nextPollAt: story.instant(random),
    deadlineAt: story.instant(random),
  })
  if (review.status === 'open') {
    const said: DomainEvent = random.pick<DomainEvent>([started, attempted, created, created, deferred, postponed])
    if (said === created) review.status = 'case'
    return say(story, review, said)
  }
  const said = random.pick<DomainEvent>([attempted, sent(), sent(), created, deferred, postponed, accepted, accepted])
  if (said === accepted) review.status = 'awaiting'
  say(story, review, said)
}

function poll(story: Story, random: SeededRandom, review: Review): void {
  if (review.polls > 0 && random.oneIn(2)) return end(story, random, review, true)
  review.polls += 1
  const at = story.instant(random)
  const next = story.instant(random)
  const postponed = fact('AiReviewCallPostponed', {
    aiReviewId: review.id,
    call: 'result',
    postponedAt: at,
    retryAt: next,
  })
  const deferred = fact('AiReviewPollDeferred', {
    aiReviewId: review.id,
    attemptCount: review.polls,
    polledAt: at,
    nextPollAt: next,
  })
  say(story, review, random.oneIn(4) ? postponed : deferred)
}

function confirmConsent(story: Story, random: SeededRandom, review: Review): void {
  const refusal = story.refusals.findLast(({ patientId }) => patientId === review.patient?.id)
  say(
    story,
    review,
    fact('AiReviewConsentConfirmed', { aiReviewId: review.id, checkedAt: refusal?.at ?? story.instant(random) }),
  )
}

function end(story: Story, random: SeededRandom, review: Review, canComplete: boolean): void {
  const of = { aiReviewId: review.id }
  const at = story.instant(random)
  const came = canComplete ? 'completed' : random.pick(['failed', 'cancelled'] as const)
  review.status = 'over'
  const lesions = Array.from({ length: random.below(3) }, (_, index) => ({
    ...lesion,
    lesionNumber: index + 1,
    coordinates: null,
  }))
  const imageQuality = review.imageIds.map((imageId) => ({
    imageId,
    quality: random.oneIn(2) ? null : 'IMAGE_QUALITY_SUITABLE',
  }))
  const completed = {
    ...of,
    attemptCount: review.polls + 1,
    lesions,
    lesionCount: lesions.length,
    imageQuality,
    completedAt: at,
  }
  if (came === 'completed') say(story, review, fact('AiReviewCompleted', completed))
  const providerOutcome =
    review.polls === 0 ? null : { analysisResult: 'PROCESSING_FAILED', providerVersion: '4.2', imageQuality }
  if (came === 'failed')
    say(story, review, fact('AiReviewFailed', { ...of, attemptCount: review.polls, providerOutcome, failedAt: at }))
  if (came === 'cancelled') say(story, review, fact('AiReviewCancelled', { ...of, cancelledAt: at }))
  const { orgId, caseId } = review
  const published = { ...of, orgId, caseId, occurred_at: at }
  const started = reviewPublicFact('ai_review.started', published)
  const ended =
    came === 'completed'
      ? reviewPublicFact('ai_review.completed', { ...published, lesions })
      : reviewPublicFact(`ai_review.${came}`, published)
  story.append(orgId, aiReviewChannelStream.name, started, ended)
  if (came !== 'completed' || lesions.length === 0) return
  story.analyses.push({
    review,
    lesionNumbers: lesions.map(({ lesionNumber }) => lesionNumber),
    isRecorded: false,
    supersededById: null,
    areSuperseded: false,
  })
}

function requested(story: Story, random: SeededRandom, review: Review) {
  return fact('AiReviewRequested', { ...detailOf(review), requestedAt: story.instant(random) })
}

function detailOf({ id, orgId, caseId, productId, patient, imageIds }: Review) {
  const [usual] = fact('AiReviewRequested').data.images
  const images = usual === undefined ? [] : imageIds.map((imageId) => ({ ...usual, imageId }))
  return { aiReviewId: id, orgId, caseId, productId, patientId: patient?.id ?? null, images }
}

function say(story: Story, { orgId, id }: Review, event: DomainEvent): void {
  story.append(orgId, aiReviews.of(orgId, id).stream, event)
}
