import { describe, expect, it } from 'vitest'
import { aiReviewsProjector } from '../../../projections/ai-review/ai-reviews.projector.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { lesion, reviewFact as fact } from '../../streams/ai-review-facts.ts'
import { at, ids } from '../../streams/facts.ts'

const requested = fact('AiReviewRequested')
const started = fact('AiReviewStarted')
const attempted = fact('AiReviewCallAttempted')
const caseCreated = fact('AiReviewProviderCaseCreated')
const sent = fact('AiReviewImageSent')
const accepted = fact('AiReviewProcessingAccepted')

const review = {
  ai_review_id: ids.review,
  org_id: ids.org,
  case_id: ids.case,
  product_id: ids.product,
  patient_id: ids.patient,
  status: 'pending',
  attempt_count: 0,
  correlation_id: ids.event,
  provider_case_id: null,
  provider_checksum: null,
  provider_version: null,
  analysis_result: null,
  error_classification: null,
  upstream_status: null,
  failures: 0,
  failing_since: null,
  last_failed_at: null,
  failure_code: null,
  failed_at: null,
  cancel_reason: null,
  superseded_by_id: null,
  superseded_at: null,
  created_at: at(2),
  updated_at: at(2),
  completed_at: null,
  stream_revision: '0',
}

const rows = (...events: AiReviewEvent[]) => rowsAfter(aiReviewsProjector, recorded(events))

/** The review after these facts: the members that differ from a review that was only requested. */
async function changes(...events: AiReviewEvent[]): Promise<Record<string, unknown>> {
  const { ai_reviews: [row] = [] } = await rows(...events)
  return Object.fromEntries(Object.entries(row ?? {}).filter(([name, value]) => value !== Reflect.get(review, name)))
}

describe('the AI reviews read model', () => {
  it('contains the request and its images, but no addresses', async () => {
    const all = await rows(requested)
    expect(all['ai_reviews']).toEqual([review])
    const image = {
      ai_review_id: ids.review,
      provider_image_id: null,
      provider_image_hash: null,
      image_quality: null,
      created_at: at(2),
    }
    expect(all['ai_review_images']).toEqual([
      { ...image, clinical_image_id: ids.image, ordinal: 0, image_type: 'DERMOSCOPIC' },
      { ...image, clinical_image_id: ids.secondImage, ordinal: 1, image_type: 'MACROSCOPIC' },
    ])
    expect(JSON.stringify(all)).not.toContain('https://')
  })

  it('takes the patient from the start', async () => {
    const unknown = fact('AiReviewRequested', { patientId: null })
    expect(await changes(unknown)).toEqual({ patient_id: null })
    expect(await changes(unknown, started)).toEqual({ updated_at: at(3), stream_revision: '1' })
  })

  it('follows each provider call', async () => {
    expect(await changes(requested, attempted)).toEqual({ updated_at: at(4), stream_revision: '1' })
    expect(await changes(requested, fact('AiReviewCallPostponed'))).toEqual({ updated_at: at(5), stream_revision: '1' })
    const inProgress = { status: 'in_progress', provider_case_id: 700 }
    expect(await changes(requested, caseCreated)).toEqual({ ...inProgress, updated_at: at(5), stream_revision: '1' })
    const awaiting = { ...inProgress, status: 'awaiting_result', provider_checksum: 'checksum' }
    expect(await changes(requested, caseCreated, accepted)).toEqual({
      ...awaiting,
      updated_at: at(8),
      stream_revision: '2',
    })
    const polled = fact('AiReviewPollDeferred', { attemptCount: 3 })
    expect(await changes(requested, caseCreated, accepted, polled)).toEqual({
      ...awaiting,
      attempt_count: 3,
      updated_at: at(13),
      stream_revision: '3',
    })
  })

  it('contains the tries that failed, until one succeeds', async () => {
    const first = fact('AiReviewStartDeferred', { retry: 1, upstreamStatus: 503, deferredAt: at(5) })
    const second = fact('AiReviewStartDeferred', { retry: 2, upstreamStatus: null, deferredAt: at(7) })
    const tried = (failures: number, last: string, code: string) => ({
      failures,
      failing_since: at(5),
      last_failed_at: last,
      failure_code: code,
    })
    const failuresIn = async (...events: AiReviewEvent[]) => {
      const { updated_at: _, stream_revision: __, ...changed } = await changes(requested, ...events)
      return changed
    }
    expect(await failuresIn(first)).toEqual(tried(1, at(5), '503'))
    expect(await failuresIn(first, second)).toEqual(tried(2, at(7), second.data.classification))
    expect(Object.keys(await failuresIn(first, caseCreated))).toEqual(['status', 'provider_case_id'])
    const answered = (status: number | null) => ({ attemptId: ids.event, status, durationMs: 5 })
    const poll = (status: number | null) =>
      fact('AiReviewPollDeferred', {
        attemptCount: 1,
        upstreamStatus: status,
        answered: answered(status),
        polledAt: at(13),
      })
    expect(await failuresIn(poll(200))).toEqual({ attempt_count: 1 })
    const failed = { attempt_count: 1, failures: 1, last_failed_at: at(13) }
    expect(await failuresIn(poll(502))).toEqual({ ...failed, failure_code: '502' })
    expect(await failuresIn(poll(null))).toEqual(failed)
    expect(await failuresIn(poll(502), poll(200))).toEqual({ attempt_count: 1 })
  })

  it('counts a failure as one of an outside system by its classification', async () => {
    for (const [classification, isOfOutside] of [
      ['consent_missing', false],
      ['provider_processing_failed', false],
      ['provider_auth_failed', true],
      ['image_host_unavailable', true],
    ] as const) {
      const found = await changes(requested, fact('AiReviewFailed', { classification }))
      expect([classification, found['failed_at']]).toEqual([classification, isOfOutside ? at(9) : undefined])
    }
    const superseded = await changes(requested, fact('AiReviewFailed'), fact('AiReviewSuperseded'))
    expect(superseded).not.toHaveProperty('failed_at')
  })

  it('removes the image ids of a replaced provider case', async () => {
    const { ai_review_images: images } = await rows(requested, caseCreated, sent)
    expect(images?.map((image) => [image['provider_image_id'], image['provider_image_hash']])).toEqual([
      [71, 'h71'],
      [null, null],
    ])
    const replaced = await rows(
      requested,
      caseCreated,
      sent,
      fact('AiReviewProviderCaseCreated', { providerCaseId: 701 }),
    )
    expect(replaced['ai_review_images']?.map((image) => image['provider_image_id'])).toEqual([null, null])
    expect(replaced['ai_reviews']?.[0]).toMatchObject({ provider_case_id: 701, status: 'in_progress' })
  })

  it('contains the result, its lesions and the quality of each image', async () => {
    const second = { ...lesion, lesionNumber: 2, category: 'Malignant' }
    const completed = fact('AiReviewCompleted', { lesions: [lesion, second], lesionCount: 2 })
    const all = await rows(requested, caseCreated, sent, accepted, completed)
    expect(all['ai_reviews']).toEqual([
      {
        ...review,
        status: 'completed',
        attempt_count: 2,
        provider_case_id: 700,
        provider_checksum: 'checksum',
        provider_version: '4.2',
        analysis_result: 'SUCCESSFUL_PROCESSING',
        updated_at: at(18),
        completed_at: at(18),
        stream_revision: '4',
      },
    ])
    const result = { analysis_status: 'DONE', lesion_count: 2, processing_type: 'STANDARD', sensitivity_set: null }
    expect(all['ai_review_results']).toEqual([
      { ai_review_id: ids.review, ...result, report_date: at(17), created_at: at(18) },
    ])
    expect(all['ai_review_lesions']).toEqual([
      { ai_review_id: ids.review, lesion_number: 1, lesion, created_at: at(18) },
      { ai_review_id: ids.review, lesion_number: 2, lesion: second, created_at: at(18) },
    ])
    expect(all['ai_review_images']?.map((image) => image['image_quality'])).toEqual(['IMAGE_QUALITY_SUITABLE', null])
    expect(JSON.stringify(all)).not.toContain('raw-responses')
  })

  it('contains a completed review without lesions', async () => {
    const all = await rows(requested, caseCreated, accepted, fact('AiReviewCompleted', { lesions: [], lesionCount: 0 }))
    expect(all['ai_review_lesions']).toEqual([])
    expect(all['ai_review_results']).toHaveLength(1)
  })

  it('contains the reason of a failure and of a cancellation', async () => {
    const failed = {
      status: 'failed',
      error_classification: 'provider_client_error',
      upstream_status: 422,
      failures: 1,
      last_failed_at: at(9),
      failure_code: '422',
      failed_at: at(9),
      updated_at: at(9),
      completed_at: at(9),
      stream_revision: '1',
    }
    expect(await changes(requested, fact('AiReviewFailed'))).toEqual(failed)
    for (const reason of ['requested', 'consent_withdrawn'] as const) {
      const cancelled = { status: 'cancelled', cancel_reason: reason, updated_at: at(14), stream_revision: '1' }
      expect(await changes(requested, fact('AiReviewCancelled', { reason }))).toEqual(cancelled)
    }
  })

  it('contains the verdict, provider version and image quality of a review that failed after processing', async () => {
    const imageQuality = [{ imageId: ids.image, quality: 'IMAGE_QUALITY_UNSUITABLE' }]
    const providerOutcome = { analysisResult: 'PROCESSING_FAILED', providerVersion: '4.2', imageQuality }
    const all = await rows(
      requested,
      caseCreated,
      sent,
      accepted,
      fact('AiReviewFailed', { classification: 'provider_processing_failed', providerOutcome }),
    )
    expect(all['ai_reviews']).toMatchObject([
      { status: 'failed', analysis_result: 'PROCESSING_FAILED', provider_version: '4.2' },
    ])
    expect(all['ai_review_images']?.map((image) => image['image_quality'])).toEqual(['IMAGE_QUALITY_UNSUITABLE', null])
    expect(all['ai_review_results']).toEqual([])
  })

  it('contains the superseding review and the instant, for a review of any status', async () => {
    const superseded = {
      status: 'superseded',
      superseded_by_id: ids.newReview,
      superseded_at: at(15),
      updated_at: at(15),
    }
    expect(await changes(requested, fact('AiReviewSuperseded'))).toEqual({ ...superseded, stream_revision: '1' })
    const cancelled = await changes(requested, fact('AiReviewCancelled'), fact('AiReviewSuperseded'))
    expect(cancelled).toEqual({ ...superseded, cancel_reason: 'consent_withdrawn', stream_revision: '2' })
    const all = await rows(
      requested,
      caseCreated,
      sent,
      accepted,
      fact('AiReviewCompleted'),
      fact('AiReviewSuperseded'),
    )
    expect(all['ai_reviews']).toMatchObject([{ ...superseded, completed_at: at(18), provider_version: '4.2' }])
    expect(all['ai_review_results']).toHaveLength(1)
  })
})
