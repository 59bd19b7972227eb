import { Type, type Static } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import {
  CausingRequest,
  Count,
  Id,
  Instant,
  Int32,
  Nullable,
  Sha256,
  StoredObject,
} from '../../engine/aggregates/types.ts'
import { GivenAddresses, reviewRequest } from './review-image.ts'

export const AiReviewStatus = Type.Enum([
  'pending',
  'in_progress',
  'awaiting_result',
  'completed',
  'failed',
  'cancelled',
  'superseded',
])
export type AiReviewStatus = Static<typeof AiReviewStatus>

/** Specification 7.3, three for servers that did not answer, and the budget of the organisation. */
export const Classification = Type.Enum([
  'provider_auth_failed',
  'provider_upstream_transient',
  'provider_client_error',
  'provider_result_timeout',
  'provider_processing_failed',
  'image_fetch_failed',
  'image_host_unavailable',
  'consent_missing',
  'consent_check_unavailable',
  'case_lookup_unavailable',
  'budget_exceeded',
])
export type Classification = Static<typeof Classification>

export const CancellationReason = Type.Enum(['requested', 'consent_withdrawn', 'subject_erased'])
export type CancellationReason = Static<typeof CancellationReason>

export const ProviderCall = Type.Enum(['case', 'image', 'process', 'result'])
export type ProviderCall = Static<typeof ProviderCall>

export const Coordinates = Type.Object({ x1: Type.Number(), y1: Type.Number(), x2: Type.Number(), y2: Type.Number() })

const text = Nullable(Type.String())

export const Lesion = Type.Object({
  lesionNumber: Count,
  providerLesionId: Int32,
  coordinates: Nullable(Coordinates),
  classification: text,
  category: text,
  priority: Nullable(Int32),
  suspectedDiagnosisIcd10Code: text,
  suspectedDiagnosisIcd10Term: text,
  suspectedDiagnosisSnomedCode: text,
  suspectedDiagnosisSnomedTerm: text,
  referralFlag: text,
  referralRecommendation: text,
  referralRecommendationGuidance: text,
  interpretationGuidance: text,
})
export type Lesion = Static<typeof Lesion>

export const ImageQuality = Type.Object({ imageId: Id, quality: text })
export type ImageQuality = Static<typeof ImageQuality>

/** The parts of the provider's result that a failed review records, in addition to the raw response. */
export const ProviderOutcome = Type.Object({
  analysisResult: Type.String(),
  providerVersion: text,
  imageQuality: Type.Array(ImageQuality),
})
export type ProviderOutcome = Static<typeof ProviderOutcome>

/** The call that an outcome is about, without a login before it. */
export const ProviderAnswered = Type.Object({
  attemptId: Id,
  /** HTTP status. Null if no answer came. */
  status: Nullable(Int32),
  durationMs: Count,
})
export type ProviderAnswered = Static<typeof ProviderAnswered>

/** Null if a check before the call failed, and in version 1. */
const answered = { answered: Nullable(ProviderAnswered) }
const answeredUpcasters = { 1: (data: unknown) => ({ ...Object(data), answered: null }) }

/** The bytes of an image as they were sent. */
export const SentBytes = Type.Object({ sha256: Sha256, bytes: Type.Integer({ minimum: 0 }) })
export type SentBytes = Static<typeof SentBytes>

/** The answer of the provider. `contentSha256` is of its text before the encryption. Null in version 1. */
export const RawResponse = Type.Object({ ...StoredObject.properties, contentSha256: Nullable(Sha256) })
export type RawResponse = Static<typeof RawResponse>

const attemptUpcasters = { 1: (data: unknown) => ({ ...Object(data), consentDecisionId: null }) }
const sentUpcasters = { 1: (data: unknown) => ({ ...Object(data), sent: null, answered: null }) }
const resultUpcasters = {
  1(data: unknown) {
    const { rawResponse, ...others } = Object(data)
    const raw = rawResponse === null ? null : { ...Object(rawResponse), contentSha256: null }
    return { ...others, rawResponse: raw, answered: null }
  },
}

/** Version 1 of `AiReviewCancelled` covered withdrawn consents only, without a request. */
const cancelledUpcasters = { 1: (data: unknown) => ({ ...Object(data), request: null }) }

/** Version 1 of `AiReviewStarted` was about requests that named the patient. */
const startedUpcasters = { 1: (data: unknown) => ({ ...Object(data), addresses: null }) }

export const aiReviewEvents = {
  AiReviewRequested: defineEvent('AiReviewRequested', Type.Object({ ...reviewRequest, requestedAt: Instant }), {
    subject: 'patientId',
  }),
  /**
   * The start job began, and the case supplied the patient. `addresses` are those of a request without a patient: only
   * now is there a key of the patient to seal them.
   */
  AiReviewStarted: defineEvent(
    'AiReviewStarted',
    Type.Object({ aiReviewId: Id, patientId: Id, addresses: GivenAddresses, startedAt: Instant }),
    { version: 2, upcasters: startedUpcasters, subject: 'patientId' },
  ),
  /**
   * Recorded before each provider call. Another worker that finds it open waits until `leaseUntil` (architecture
   * section 6).
   */
  AiReviewCallAttempted: defineEvent(
    'AiReviewCallAttempted',
    Type.Object({
      aiReviewId: Id,
      attemptId: Id,
      call: ProviderCall,
      imageId: Nullable(Id),
      /** When the last check found the consent granted. Every `case` and `process` call has one (invariant 3). */
      consentCheckedAt: Nullable(Instant),
      /** The decision that this check found. Null if another consent service answered, and in version 1. */
      consentDecisionId: Nullable(Id),
      attemptedAt: Instant,
      leaseUntil: Instant,
    }),
    { version: 2, upcasters: attemptUpcasters },
  ),
  AiReviewProviderCaseCreated: defineEvent(
    'AiReviewProviderCaseCreated',
    Type.Object({ aiReviewId: Id, providerCaseId: Int32, createdAt: Instant, ...answered }),
    { version: 2, upcasters: answeredUpcasters },
  ),
  AiReviewImageSent: defineEvent(
    'AiReviewImageSent',
    Type.Object({
      aiReviewId: Id,
      imageId: Id,
      providerImageId: Int32,
      providerImageHash: text,
      /** Null in version 1. */
      sent: Nullable(SentBytes),
      sentAt: Instant,
      ...answered,
    }),
    { version: 2, upcasters: sentUpcasters },
  ),
  AiReviewProcessingAccepted: defineEvent(
    'AiReviewProcessingAccepted',
    Type.Object({
      aiReviewId: Id,
      providerChecksum: Type.String(),
      acceptedAt: Instant,
      nextPollAt: Instant,
      deadlineAt: Instant,
      ...answered,
    }),
    { version: 2, upcasters: answeredUpcasters },
  ),
  /** A start run ended with a temporary failure. The next one is due at `retryAt`. */
  AiReviewStartDeferred: defineEvent(
    'AiReviewStartDeferred',
    Type.Object({
      aiReviewId: Id,
      retry: Type.Integer({ minimum: 1 }),
      classification: Classification,
      upstreamStatus: Nullable(Int32),
      /** It is unknown what the provider stored of the last call, so the next run starts a new provider case. */
      abandonsProviderCase: Type.Boolean(),
      deferredAt: Instant,
      retryAt: Instant,
      ...answered,
    }),
    { version: 2, upcasters: answeredUpcasters },
  ),
  /** The call was not sent (open circuit). It is due again and uses up no attempt. */
  AiReviewCallPostponed: defineEvent(
    'AiReviewCallPostponed',
    Type.Object({ aiReviewId: Id, call: ProviderCall, postponedAt: Instant, retryAt: Instant }),
  ),
  AiReviewPollDeferred: defineEvent(
    'AiReviewPollDeferred',
    Type.Object({
      aiReviewId: Id,
      attemptCount: Type.Integer({ minimum: 1 }),
      upstreamStatus: Nullable(Int32),
      polledAt: Instant,
      nextPollAt: Instant,
      ...answered,
    }),
    { version: 2, upcasters: answeredUpcasters },
  ),
  AiReviewCompleted: defineEvent(
    'AiReviewCompleted',
    Type.Object({
      aiReviewId: Id,
      attemptCount: Type.Integer({ minimum: 1 }),
      /** Name of the provider of the result. */
      aiProvider: Type.String(),
      analysisResult: Type.String(),
      analysisStatus: text,
      lesionCount: Count,
      processingType: text,
      sensitivitySet: text,
      reportDate: Nullable(Instant),
      providerVersion: text,
      imageQuality: Type.Array(ImageQuality),
      lesions: Type.Array(Lesion),
      /** The provider's whole answer, encrypted with the patient's key. */
      rawResponse: RawResponse,
      completedAt: Instant,
      ...answered,
    }),
    { version: 2, upcasters: resultUpcasters },
  ),
  AiReviewFailed: defineEvent(
    'AiReviewFailed',
    Type.Object({
      aiReviewId: Id,
      classification: Classification,
      upstreamStatus: Nullable(Int32),
      /** Null unless the provider processed the case and reported a failure (specification 7.3). */
      providerOutcome: Nullable(ProviderOutcome),
      /** Null, or the answer of a provider that processed the case. */
      rawResponse: Nullable(RawResponse),
      attemptCount: Type.Integer({ minimum: 0 }),
      failedAt: Instant,
      ...answered,
    }),
    { version: 2, upcasters: resultUpcasters },
  ),
  /**
   * A withdrawal or denial was recorded with an earlier date, and a later decision overrides it. The consent is still
   * valid. `checkedAt` is the publication time of that withdrawal.
   */
  AiReviewConsentConfirmed: defineEvent(
    'AiReviewConsentConfirmed',
    Type.Object({ aiReviewId: Id, checkedAt: Instant }),
  ),
  AiReviewCancelled: defineEvent(
    'AiReviewCancelled',
    Type.Object({
      aiReviewId: Id,
      reason: CancellationReason,
      /** The request that cancelled the review; null if a withdrawn consent did. */
      request: CausingRequest,
      cancelledAt: Instant,
    }),
    { version: 2, upcasters: cancelledUpcasters },
  ),
  /** Another review holds the slot. Later results of this review have no effect. */
  AiReviewSuperseded: defineEvent(
    'AiReviewSuperseded',
    Type.Object({ aiReviewId: Id, supersededById: Id, reason: text, supersededAt: Instant }),
  ),
} as const

export type AiReviewEvent = EventOf<typeof aiReviewEvents>
