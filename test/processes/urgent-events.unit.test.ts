import { expect, it } from 'vitest'
import { partOf } from '../../engine/projections/batch-writer.ts'
import { mayRunAtOnce } from '../../engine/projections/statements-at-once.ts'
import { startOfLog } from '../../platform/kit/positions.ts'
import { processes } from '../../processes/registry.ts'
import { readModels } from '../../projections/registry.ts'
import { aiReviewSlots } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { aiReviewChannelStream } from '../../streams/channels/ai-review.ts'
import { assessmentChannelStream } from '../../streams/channels/assessment.ts'
import { clinicalChannelStream } from '../../streams/channels/clinical.ts'
import { recorded, type GivenEvent } from '../support/given-projector.ts'
import { reviewFact, slotFact } from '../streams/ai-review-facts.ts'
import { assessmentPublicFact, clinicalPublicFact, reviewPublicFact } from '../streams/channel-facts.ts'
import { assessmentFact, at, caseFact, ids } from '../streams/facts.ts'

const ofReview = (event: GivenEvent): GivenEvent => ({ ...event, stream: aiReviews.of(ids.org, ids.review).stream })
const ofAssessment = (event: GivenEvent): GivenEvent => ({
  ...event,
  stream: assessments.of(ids.org, ids.assessment).stream,
})
const onReviewChannel = (event: GivenEvent): GivenEvent => ({ ...event, stream: aiReviewChannelStream.name })
const onChannel = (event: GivenEvent): GivenEvent => ({ ...event, stream: assessmentChannelStream.name })
const onClinicalChannel = (event: GivenEvent): GivenEvent => ({ ...event, stream: clinicalChannelStream.name })
const ofCase = (event: GivenEvent): GivenEvent => ({ ...event, stream: cases.of(ids.org, ids.case).stream })
const ofSlot = (event: GivenEvent): GivenEvent => ({
  ...event,
  stream: aiReviewSlots.of(ids.org, ids.case, ids.product).stream,
})

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
  [ofAssessment(assessmentFact('AssessmentReviewRequested')), ['assessments']],
  [onReviewChannel(reviewPublicFact('ai_review.requested')), ['ai_review']],
  [ofReview(reviewFact('AiReviewRequested')), ['ai_review']],
  [ofReview(reviewFact('AiReviewStarted')), []],
  [onReviewChannel(reviewPublicFact('ai_review.started')), []],
  [ofReview(reviewFact('AiReviewProviderCaseCreated')), ['ai_review']],
  [ofReview(reviewFact('AiReviewImageSent')), []],
  [ofReview(reviewFact('AiReviewCompleted')), []],
  [onReviewChannel(reviewPublicFact('ai_review.completed')), ['assessments', 'clinical', 'human_review']],
  [ofAssessment(assessmentFact('AssessmentCompleted')), ['webhooks']],
  [onChannel(assessmentPublicFact('assessment.completed')), []],
])('the lists that wait for $type', (event, lists) => {
  expect(hurrying(event).toSorted()).toEqual(lists)
})

/** Most writes of one statement. */
const mostWrites = 20

/** The events of an assessment as they come together, up to one that hurries. */
it.each<[GivenEvent[]]>([
  [
    [
      ofAssessment(assessmentFact('AssessmentRequested')),
      ofAssessment(assessmentFact('AssessmentSubmitted')),
      ofAssessment(assessmentFact('AssessmentReviewRequested', { isCaseOpen: false })),
    ],
  ],
  [
    [
      ofCase(caseFact('CaseOpened')),
      onClinicalChannel(clinicalPublicFact('clinical.case.opened')),
      onReviewChannel(reviewPublicFact('ai_review.requested')),
    ],
  ],
  [[ofSlot(slotFact('AiReviewSlotClaimed')), ofReview(reviewFact('AiReviewRequested'))]],
  [
    [
      ofReview(reviewFact('AiReviewStarted')),
      ofReview(reviewFact('AiReviewCallAttempted')),
      onReviewChannel(reviewPublicFact('ai_review.started')),
      ofReview(reviewFact('AiReviewProviderCaseCreated')),
      ofReview(reviewFact('AiReviewCallAttempted')),
    ],
  ],
  [
    [
      ofReview(reviewFact('AiReviewImageSent')),
      ofReview(reviewFact('AiReviewCallAttempted')),
      ofReview(reviewFact('AiReviewProcessingAccepted')),
    ],
  ],
  [
    [
      ofReview(reviewFact('AiReviewCallAttempted')),
      ofReview(reviewFact('AiReviewCompleted')),
      onReviewChannel(reviewPublicFact('ai_review.completed')),
    ],
  ],
  [
    [
      ofCase(caseFact('CaseFindingRecorded')),
      ofCase(caseFact('CaseDiagnosisRecorded')),
      ofAssessment(assessmentFact('AssessmentCompleted')),
      onClinicalChannel(clinicalPublicFact('clinical.finding.recorded')),
      onClinicalChannel(clinicalPublicFact('clinical.diagnosis.recorded')),
      onChannel(assessmentPublicFact('assessment.completed')),
    ],
  ],
])('a batch from $0.type is written by one statement', (given) => {
  const events = recorded(given)
  const to = events.at(-1)?.position ?? startOfLog
  const parts = [...readModels, ...processes.map(({ list }) => list)].map((each) =>
    partOf(each, events, startOfLog, to),
  )
  for (const { projector, writes } of parts)
    expect([projector.name, mayRunAtOnce(writes)]).toEqual([projector.name, true])
  expect(parts.flatMap(({ writes }) => writes).length).toBeLessThanOrEqual(mostWrites)
})
