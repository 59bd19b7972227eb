import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { partOf } from '../../engine/projections/batch-writer.ts'
import { wavesOf } from '../../engine/projections/statements-at-once.ts'
import type { BatchPart } from '../../engine/projections/checkpoint-moves.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
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
const stages: readonly [GivenEvent[]][] = [
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
]

function partsOf(events: readonly RecordedEvent[]): BatchPart[] {
  const to = events.at(-1)?.position ?? startOfLog
  return [...readModels, ...processes.map(({ list }) => list)].map((each) => partOf(each, events, startOfLog, to))
}

const writesOf = (parts: readonly BatchPart[]) => parts.flatMap(({ writes }) => writes).length
const mostWaves = (parts: readonly BatchPart[]) => Math.max(...parts.map(({ writes }) => wavesOf(writes).length))

it.each(stages)('a batch from $0.type is written by one statement', (given) => {
  const parts = partsOf(recorded(given))
  for (const { projector, writes } of parts)
    expect([projector.name, wavesOf(writes).length]).toEqual([projector.name, Math.min(1, writes.length)])
  expect(writesOf(parts)).toBeLessThanOrEqual(mostWrites)
})

/** The same events of another assessment, of another patient. */
function ofAnother(given: GivenEvent, index: number): GivenEvent {
  const other = (id: string) =>
    `${id.slice(0, -12)}${createHash('md5').update(`${index} ${id}`).digest('hex').slice(0, 12)}`
  const text = JSON.stringify(given).replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) => (id === ids.org ? id : other(id)))
  return JSON.parse(text) as GivenEvent
}

it('a batch of assessments at different stages is written by few statements', () => {
  const mixed = [...stages, ...stages]
    .toReversed()
    .flatMap(([given], index) => given.map((event) => ofAnother(event, index)))
  const parts = partsOf(recorded(mixed))
  expect(writesOf(parts)).toBeGreaterThan(3 * mostWrites)
  expect(mostWaves(parts)).toBeLessThanOrEqual(4)
})
