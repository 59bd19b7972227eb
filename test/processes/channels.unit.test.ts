import { describe, expect, it } from 'vitest'
import { v5 } from 'uuid'
import { aiReviewEventsChannel, type AiReviewChannelDependencies } from '../../processes/ai-review/ai-review.channel.ts'
import { consentEventsChannel } from '../../processes/consent/consent.channel.ts'
import { channels } from '../../processes/registry.ts'
import type { ChannelDefinition } from '../../processes/relay/channel.ts'
import { publicEvents } from '../../processes/relay/envelope.ts'
import { aiReviewFailures } from '../../platform/records/ai-review.ts'
import { Classification } from '../../streams/ai-review/events.ts'
import { aiReviewStream } from '../../streams/ai-review/stream.ts'
import { assessmentStream } from '../../streams/assessment/stream.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { consentStream } from '../../streams/consent/stream.ts'
import type { DomainEvent, Fold, Loaded, RecordedEvent } from '../../streams/store/events.ts'
import { lesion, reviewFact } from '../streams/ai-review-facts.ts'
import { assessmentFact, at, consentFact, ids } from '../streams/facts.ts'

const correlation = v5('correlation', ids.event)

function stored(event: DomainEvent, stream: string): RecordedEvent {
  const metadata = { commandId: ids.claim, $correlationId: correlation, orgId: ids.org, schemaVersion: 1, signature: '' }
  return { ...event, id: ids.requestEvent, stream, revision: 4n, position: { commit: 9n, prepare: 9n }, recordedAt: at(40), metadata }
}

/** A review as its stream tells it; every other stream is empty. */
const deps: AiReviewChannelDependencies = {
  store: {
    load: async <State, Event extends DomainEvent>({ initialState, evolve }: Fold<State, Event>, stream: string): Promise<Loaded<State>> => {
      const requested: DomainEvent = reviewFact('AiReviewRequested')
      return stream === aiReviewStream(ids.org, ids.review) ? { state: evolve(initialState, requested as Event), revision: 0n, position: undefined } : { state: initialState, revision: 'no_stream', position: undefined }
    },
  },
  objects: { presignRead: async (key, seconds) => ({ url: `https://store.example/${key}?for=${seconds}`, expiresAt: new Date(at(seconds)) }) },
  configuration: { readUrlTtlSeconds: 600 },
}

/** What the relay would append for one fact: each event checked against the channel's contract. */
async function published<Deps>(channel: ChannelDefinition<Deps>, event: RecordedEvent, given: Deps) {
  const outputs = (await channel.translate[event.type]?.(event, given)) ?? []
  const events = publicEvents(channel, event, outputs)
  for (const { type, data } of events) {
    expect(catalogue.entry(type)?.category).toBe(channel.stream)
    expect(catalogue.entry(type)?.refusals(data)).toEqual([])
    expect(JSON.stringify(data).toLowerCase()).not.toContain('canary')
  }
  return events
}

const review = { aiReviewId: ids.review, caseId: ids.case, productId: ids.product, orgId: ids.org, correlationId: ids.event }
const reviewed = (event: DomainEvent) => published(aiReviewEventsChannel, stored(event, aiReviewStream(ids.org, ids.review)), deps)

describe('the AI-review channel', () => {
  it('asks for a review with addresses that are signed now, by the same correlation', async () => {
    const asked = stored(assessmentFact('AssessmentReviewRequested'), assessmentStream(ids.org, ids.assessment))
    const [event, ...more] = await published(aiReviewEventsChannel, asked, deps)
    expect(more).toEqual([])
    expect(event).toMatchObject({ type: 'ai_review.requested', metadata: { source: '9/9', $causationId: ids.requestEvent, $correlationId: correlation, orgId: ids.org } })
    expect(event?.data).toMatchObject({
      caseId: ids.case,
      productId: ids.product,
      orgId: ids.org,
      patientId: ids.patient,
      correlationId: correlation,
      requestedAt: at(1),
      occurred_at: at(40),
      event_id: event?.id,
      causation_id: ids.requestEvent,
      hop: 0,
    })
    const keys = assessmentFact('AssessmentReviewRequested').data.images.map(({ objectKey }) => objectKey)
    expect(event?.data).toMatchObject({
      images: [
        { imageId: ids.image, imageType: 'DERMOSCOPIC', presignedUrl: `https://store.example/${keys[0]}?for=600`, presignedUrlExpiresAt: at(600) },
        { imageId: ids.secondImage, imageType: 'MACROSCOPIC', presignedUrl: `https://store.example/${keys[1]}?for=600`, presignedUrlExpiresAt: at(600) },
      ],
    })
  })

  it('says that a review started, completed or was cancelled', async () => {
    expect(await reviewed(reviewFact('AiReviewStarted'))).toMatchObject([{ type: 'ai_review.started', data: { ...review, startedAt: at(3) } }])
    const [completed] = await reviewed(reviewFact('AiReviewCompleted'))
    const result = { assessedByProviderVersion: '4.2', reportDate: at(17), analysisResult: 'SUCCESSFUL_PROCESSING', lesions: [lesion] }
    expect(completed).toMatchObject({ type: 'ai_review.completed', data: { ...review, ...result, imageQuality: reviewFact('AiReviewCompleted').data.imageQuality } })
    expect(JSON.stringify(completed)).not.toContain('raw-responses')
    const [cancelled] = await reviewed(reviewFact('AiReviewCancelled'))
    expect(cancelled).toMatchObject({ type: 'ai_review.cancelled', data: { ...review, reason: 'consent_withdrawn', cancelledAt: at(14) } })
  })

  it('says which review superseded one, and why if it was said', async () => {
    const superseded = { oldAiReviewId: ids.review, newAiReviewId: ids.newReview, caseId: ids.case, productId: ids.product, orgId: ids.org, supersededAt: at(15) }
    expect(await reviewed(reviewFact('AiReviewSuperseded'))).toMatchObject([{ type: 'ai_review.superseded', data: { ...superseded, reason: 'expired addresses' } }])
    const [silent] = await reviewed(reviewFact('AiReviewSuperseded', { reason: null }))
    expect(silent).toMatchObject({ type: 'ai_review.superseded', data: superseded })
    expect(silent?.data).not.toHaveProperty('reason')
  })

  it.each([
    ['image_fetch_failed', 3594.999, false],
    ['image_fetch_failed', 3595, true],
    ['image_fetch_failed', 3600, true],
    ['provider_client_error', 7200, false],
  ] as const)('says of a failure with %s after %d s whether the addresses had expired (T30): %s', async (classification, seconds, addressesExpired) => {
    expect(await reviewed(reviewFact('AiReviewFailed', { classification, failedAt: at(seconds) }))).toMatchObject([{ data: { addressesExpired } }])
  })

  it.each(Classification.enum)('says that a review failed with %s, in fixed words', async (classification) => {
    const { message, retriable } = aiReviewFailures[classification]
    const error = { errorCode: classification, errorClassification: classification, errorMessage: message, retriable, addressesExpired: false }
    expect(await reviewed(reviewFact('AiReviewFailed', { classification }))).toMatchObject([{ type: 'ai_review.failed', data: { ...review, ...error } }])
  })

  it('keeps to itself what happens between start and end', async () => {
    for (const type of ['AiReviewRequested', 'AiReviewCallAttempted', 'AiReviewProviderCaseCreated', 'AiReviewImageSent', 'AiReviewPollDeferred'] as const) {
      expect(await reviewed(reviewFact(type))).toEqual([])
    }
  })

  it('stops at an event of a review that was never requested', async () => {
    const orphan = stored(reviewFact('AiReviewStarted'), aiReviewStream(ids.org, ids.event))
    await expect(published(aiReviewEventsChannel, orphan, deps)).rejects.toThrow('never requested')
  })
})

describe('the consent channel', () => {
  it.each(['granted', 'denied', 'withdrawn'] as const)('says %s, and not by whom', async (decision) => {
    const recorded = stored(consentFact('ConsentRecorded', { decision, recordedAt: at(-60) }), consentStream(ids.org, ids.patient))
    const [event, ...more] = await published(consentEventsChannel, recorded, {})
    expect(more).toEqual([])
    const type = `consent.${decision}`
    const payload = { type, patient_id: ids.patient, org_id: ids.org, consent_type_code: 'ai_analysis', timestamp: at(-60) }
    expect(event).toMatchObject({ type, data: { ...payload, event_type: type, occurred_at: at(40) } })
  })
})

describe('the registry of channels', () => {
  it('translates events that exist, from the categories that it draws on, into every event of the contract', () => {
    for (const { stream, sources, translate } of channels) {
      expect(catalogue.categories).toContain(stream)
      for (const type of Object.keys(translate)) expect(sources).toContain(`${catalogue.entry(type)?.category}-`)
    }
    expect(new Set(channels.map(({ stream }) => stream)).size).toBe(channels.length)
  })
})
