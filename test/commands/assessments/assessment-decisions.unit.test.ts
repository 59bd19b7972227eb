import { describe, expect, it } from 'vitest'
import { closeUploads } from '../../../commands/assessments/expire-assessment.ts'
import {
  concludeAssessment,
  unsuitableQuality,
  type ReviewEnd,
} from '../../../commands/assessments/conclude-assessment.ts'
import {
  createInlineAssessment,
  createSlotAssessment,
  type CreateInlineAssessment,
  type CreateSlotAssessment,
} from '../../../commands/assessments/create-assessment.ts'
import { expireAssessment } from '../../../commands/assessments/expire-assessment.ts'
import { outcomeOf } from '../../../commands/assessments/outcome-mapping.ts'
import { requestReview } from '../../../commands/assessments/request-review.ts'
import {
  meetSubmission,
  submitAssessment,
  type SubmitAssessment,
} from '../../../commands/assessments/submit-assessment.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { FailureCode } from '../../../streams/assessment/events.ts'
import type { Classification } from '../../../streams/ai-review/events.ts'
import { lesion } from '../../streams/ai-review-facts.ts'
import { assessmentFact as fact, at, hash, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const requested = fact('AssessmentRequested')
const submitted = fact('AssessmentSubmitted')
const reviewRequested = fact('AssessmentReviewRequested')
/** In the append of the submission. */
const reviewAtOnce = fact('AssessmentReviewRequested', { isCaseOpen: false, requestedAt: at(0) })
const ended = { completed: fact('AssessmentCompleted'), failed: fact('AssessmentFailed') }
const slotRequested = fact('AssessmentRequested', { mode: 'slot' })
const awaited = fact('AssessmentUploadsAwaited')
const closed = fact('AssessmentFailed', {
  aiReviewId: null,
  code: 'UPLOAD_WINDOW_EXPIRED',
  failedAt: awaited.data.closesAt,
})
const processing = [requested, submitted, reviewRequested] as const

describe('creating an assessment from inline images', () => {
  const { mode: _, images: declared, requestedAt: _at, ...request } = requested.data
  const command: CreateInlineAssessment = {
    ...request,
    caseId: ids.case,
    images: declared.flatMap((image) => {
      const received = submitted.data.images.find(({ imageId }) => imageId === image.imageId)
      return received === undefined ? [] : [{ ...image, ...received }]
    }),
    deadlineMs: 3_600_000,
    now: new Date(at(0)),
  }

  it('requests, submits and asks for the review in one append; the same keyed request again does nothing', () => {
    given(assessments).when(createInlineAssessment, command).thenEvents([requested, submitted, reviewAtOnce])
  })

  it('refuses another body under the same key, and any repeat of a request without one', () => {
    given(assessments, requested, submitted)
      .when(createInlineAssessment, { ...command, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
    const unkeyed = { ...command, fingerprint: null }
    given(assessments, fact('AssessmentRequested', { fingerprint: null }), submitted)
      .when(createInlineAssessment, unkeyed)
      .thenRefused('idempotency-key-reused')
  })

  it.each(Object.entries(ended))('appends nothing for a repeat when the assessment is %s', (_status, end) => {
    given(assessments, ...processing, end)
      .when(createInlineAssessment, command)
      .thenNothing()
  })
})

describe('creating an assessment from declared images', () => {
  const { mode: _, requestedAt: _at, ...request } = requested.data
  const command: CreateSlotAssessment = { ...request, uploadWindowMs: 86_400_000, now: new Date(at(0)) }

  it('awaits the uploads in the same append; the same keyed request again does nothing', () => {
    given(assessments).when(createSlotAssessment, command).thenEvents([slotRequested, awaited])
  })

  it('refuses another body under the same key, and any repeat of a request without one', () => {
    given(assessments, slotRequested, awaited)
      .when(createSlotAssessment, { ...command, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
    given(assessments, slotRequested, awaited)
      .when(createSlotAssessment, { ...command, fingerprint: null })
      .thenRefused('idempotency-key-reused')
  })

  it('appends nothing for a repeat when the assessment is submitted or closed', () => {
    given(assessments, slotRequested, awaited, submitted).when(createSlotAssessment, command).thenNothing()
    given(assessments, slotRequested, awaited, closed).when(createSlotAssessment, command).thenNothing()
  })
})

describe('submitting uploads', () => {
  const request = { key: hash('c'), fingerprint: hash('d') }
  const other = { ...request, key: hash('e') }
  const command: SubmitAssessment = {
    request,
    caseId: ids.case,
    images: submitted.data.images,
    deadlineMs: 3_600_000,
    now: new Date(at(0)),
  }
  const bySubmit = fact('AssessmentSubmitted', { request })
  const closesAt = Date.parse(awaited.data.closesAt)

  it('submits and asks for the review once, with a key or without', () => {
    given(assessments, slotRequested, awaited).when(submitAssessment, command).thenEvents([bySubmit, reviewAtOnce])
    given(assessments, slotRequested, awaited)
      .when(submitAssessment, { ...command, request: null })
      .thenEvents([submitted, reviewAtOnce])
  })

  it('does nothing after a submission, for any caller', () => {
    for (const story of [[], [reviewRequested], [reviewRequested, ended.completed]]) {
      given(assessments, slotRequested, awaited, bySubmit, ...story)
        .when(submitAssessment, command)
        .thenNothing()
      given(assessments, slotRequested, awaited, bySubmit, ...story)
        .when(submitAssessment, { ...command, request: other })
        .thenNothing()
      given(assessments, slotRequested, awaited, bySubmit, ...story)
        .when(submitAssessment, { ...command, request: null })
        .thenNothing()
      given(assessments, requested, submitted, ...story)
        .when(submitAssessment, command)
        .thenNothing()
    }
  })

  it('refuses a failed assessment, except for the key that submitted it', () => {
    const failed = given(assessments, slotRequested, awaited, bySubmit, ended.failed)
    failed.when(submitAssessment, command).thenNothing()
    failed.when(submitAssessment, { ...command, request: other }).thenRefused('assessment-not-awaiting-images')
    failed.when(submitAssessment, { ...command, request: null }).thenRefused('assessment-not-awaiting-images')
    given(assessments, requested, submitted, ended.failed)
      .when(submitAssessment, { ...command, request: null })
      .thenRefused('assessment-not-awaiting-images')
    given(assessments, slotRequested, awaited, closed)
      .when(submitAssessment, command)
      .thenRefused('assessment-not-awaiting-images')
  })

  it('refuses a key that was used with another body', () => {
    const changed = { ...command, request: { ...request, fingerprint: hash('e') } }
    given(assessments, slotRequested, awaited, bySubmit)
      .when(submitAssessment, changed)
      .thenRefused('idempotency-key-reused')
  })

  it('refuses an unknown assessment, and one in inline mode', () => {
    given(assessments).when(submitAssessment, command).thenRefused('not-found')
    given(assessments, requested).when(submitAssessment, command).thenRefused('assessment-not-awaiting-images')
  })

  it('accepts the last millisecond of the window, and no later one', () => {
    const last = { ...command, now: new Date(closesAt - 1) }
    const { state } = given(assessments, slotRequested, awaited)
    expect(meetSubmission(last, state)).toBe('uploads')
    given(assessments, slotRequested, awaited)
      .when(submitAssessment, { ...command, now: new Date(closesAt) })
      .thenRefused('assessment-not-awaiting-images')
  })
})

describe('closing the upload window', () => {
  const closesAt = Date.parse(awaited.data.closesAt)

  it('ends the assessment at the end of the window, not a millisecond before', () => {
    given(assessments, slotRequested, awaited)
      .when(closeUploads, { now: new Date(closesAt - 1) })
      .thenNothing()
    given(assessments, slotRequested, awaited)
      .when(closeUploads, { now: new Date(closesAt) })
      .thenEvents([closed])
  })

  it('does not change an assessment that is submitted, has ended, or is in inline mode', () => {
    const late = { now: new Date(closesAt + 60_000) }
    given(assessments).when(closeUploads, late).thenNothing()
    given(assessments, requested).when(closeUploads, late).thenNothing()
    given(assessments, slotRequested, awaited, submitted).when(closeUploads, late).thenNothing()
    given(assessments, slotRequested, awaited, submitted, ended.completed).when(closeUploads, late).thenNothing()
    given(assessments, slotRequested, awaited, closed).when(closeUploads, late).thenNothing()
  })
})

describe('requesting the review', () => {
  const command = { isCaseOpen: true, now: new Date(at(1)) }

  it('names each image once, and sends images that are not dermoscopic as MACROSCOPIC', () => {
    given(assessments, requested, submitted).when(requestReview, command).thenEvents([reviewRequested])
  })

  it('does nothing before the images are submitted, or after the end', () => {
    given(assessments).when(requestReview, command).thenNothing()
    given(assessments, requested).when(requestReview, command).thenNothing()
    given(assessments, requested, submitted, ended.failed).when(requestReview, command).thenNothing()
    given(assessments, ...processing, ended.completed)
      .when(requestReview, command)
      .thenNothing()
  })
})

describe('concluding an assessment', () => {
  const imageQuality = [{ imageId: ids.image, quality: 'IMAGE_QUALITY_SUITABLE' }]
  const command = (end: ReviewEnd) => ({ aiReviewId: ids.review, end, now: new Date(at(30)) })
  const failed = (code: FailureCode) => fact('AssessmentFailed', { code })

  it('completes with the outcome of the review', () => {
    const outcome = outcomeOf([lesion], imageQuality)
    given(assessments, ...processing)
      .when(
        concludeAssessment,
        command({ kind: 'completed', aiProvider: 'inference-provider', lesions: [lesion], imageQuality }),
      )
      .thenEvents([fact('AssessmentCompleted', { outcome })])
  })

  it('fails when one image of a completed review is unsuitable, for any findings', () => {
    const quality = [...imageQuality, { imageId: ids.secondImage, quality: unsuitableQuality }]
    given(assessments, ...processing)
      .when(
        concludeAssessment,
        command({
          kind: 'completed',
          aiProvider: 'inference-provider',
          lesions: [{ ...lesion, category: 'Malignant' }],
          imageQuality: quality,
        }),
      )
      .thenEvents([failed('IMAGE_QUALITY_INSUFFICIENT')])
  })

  it.each<[Classification, FailureCode]>([
    ['consent_missing', 'CONSENT_MISSING'],
    ['provider_result_timeout', 'ANALYSIS_TIMEOUT'],
    ['provider_processing_failed', 'ANALYSIS_FAILED'],
    ['provider_upstream_transient', 'PROVIDER_UNAVAILABLE'],
    ['provider_auth_failed', 'PROVIDER_UNAVAILABLE'],
    ['image_host_unavailable', 'PROVIDER_UNAVAILABLE'],
    ['consent_check_unavailable', 'PROVIDER_UNAVAILABLE'],
    ['case_lookup_unavailable', 'PROVIDER_UNAVAILABLE'],
    ['budget_exceeded', 'PROVIDER_UNAVAILABLE'],
    ['provider_client_error', 'PROVIDER_REJECTED'],
    ['image_fetch_failed', 'IMAGE_FETCH_FAILED'],
  ])('turns %s into %s', (classification, code) => {
    given(assessments, ...processing)
      .when(concludeAssessment, command({ kind: 'failed', classification }))
      .thenEvents([failed(code)])
  })

  it('fails when the review was cancelled, with different codes for withdrawn consent and a request', () => {
    given(assessments, ...processing)
      .when(concludeAssessment, command({ kind: 'cancelled', reason: 'consent_withdrawn' }))
      .thenEvents([failed('CONSENT_MISSING')])
    given(assessments, ...processing)
      .when(concludeAssessment, command({ kind: 'cancelled', reason: 'requested' }))
      .thenEvents([failed('CANCELLED')])
  })

  it.each(Object.entries(ended))('does not change an assessment that is %s', (_status, end) => {
    given(assessments, ...processing, end)
      .when(concludeAssessment, command({ kind: 'failed', classification: 'image_fetch_failed' }))
      .thenNothing()
  })

  it('does nothing for an assessment that was never submitted', () => {
    given(assessments, requested)
      .when(concludeAssessment, command({ kind: 'failed', classification: 'image_fetch_failed' }))
      .thenNothing()
    given(assessments)
      .when(concludeAssessment, command({ kind: 'failed', classification: 'image_fetch_failed' }))
      .thenNothing()
  })
})

describe('expiring an assessment', () => {
  const timedOut = fact('AssessmentFailed', {
    aiReviewId: null,
    code: 'ANALYSIS_TIMEOUT',
    failedAt: submitted.data.deadlineAt,
  })

  it('ends the assessment at its deadline, not a millisecond before', () => {
    const deadline = Date.parse(submitted.data.deadlineAt)
    given(assessments, ...processing)
      .when(expireAssessment, { now: new Date(deadline - 1) })
      .thenNothing()
    given(assessments, ...processing)
      .when(expireAssessment, { now: new Date(deadline) })
      .thenEvents([timedOut])
    given(assessments, requested, submitted)
      .when(expireAssessment, { now: new Date(deadline + 60_000) })
      .thenEvents([timedOut])
  })

  it.each(Object.entries(ended))('does not change an assessment that is %s', (_status, end) => {
    given(assessments, ...processing, end)
      .when(expireAssessment, { now: new Date(at(7200)) })
      .thenNothing()
  })
})
