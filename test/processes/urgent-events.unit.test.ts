import { expect, it } from 'vitest'
import { processes } from '../../processes/registry.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { aiReviewChannelStream } from '../../streams/channels/ai-review.ts'
import { assessmentChannelStream } from '../../streams/channels/assessment.ts'
import { recorded, type GivenEvent } from '../support/given-projector.ts'
import { reviewFact } from '../streams/ai-review-facts.ts'
import { assessmentPublicFact, reviewPublicFact } from '../streams/channel-facts.ts'
import { assessmentFact, at, ids } from '../streams/facts.ts'

const ofReview = (event: GivenEvent): GivenEvent => ({ ...event, stream: aiReviews.of(ids.org, ids.review).stream })
const ofAssessment = (event: GivenEvent): GivenEvent => ({
  ...event,
  stream: assessments.of(ids.org, ids.assessment).stream,
})
const onReviewChannel = (event: GivenEvent): GivenEvent => ({ ...event, stream: aiReviewChannelStream.name })
const onChannel = (event: GivenEvent): GivenEvent => ({ ...event, stream: assessmentChannelStream.name })

/** The lists that have the event written at once, a minute after the first event. */
function hurrying(given: GivenEvent): string[] {
  const [event] = recorded([given])
  if (event === undefined) throw new Error('no event')
  return processes.flatMap(({ name, list }) => {
    const handler = list.handlers[event.type]
    return handler !== undefined && list.isUrgent?.(handler(event), { recordedAt: at(60) }) === true ? [name] : []
  })
}

/** Each event that hurries costs a batch of all read models, for which the next one waits. */
it.each<[GivenEvent, readonly string[]]>([
  [ofAssessment(assessmentFact('AssessmentReviewRequested')), []],
  [onReviewChannel(reviewPublicFact('ai_review.requested')), ['ai_review']],
  [ofReview(reviewFact('AiReviewRequested')), ['ai_review']],
  [ofReview(reviewFact('AiReviewStarted')), []],
  [onReviewChannel(reviewPublicFact('ai_review.started')), []],
  [ofReview(reviewFact('AiReviewProviderCaseCreated')), []],
  [ofReview(reviewFact('AiReviewImageSent')), []],
  [ofReview(reviewFact('AiReviewCompleted')), []],
  [onReviewChannel(reviewPublicFact('ai_review.completed')), ['assessments', 'clinical', 'human_review']],
  [ofAssessment(assessmentFact('AssessmentCompleted')), ['webhooks']],
  [onChannel(assessmentPublicFact('assessment.completed')), []],
])('the lists that wait for $type', (event, lists) => {
  expect(hurrying(event).toSorted()).toEqual(lists)
})
