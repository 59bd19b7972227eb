import type { AiReviewAccessEvent } from '../../streams/ai-review-access/events.ts'
import type { AiReviewBudgetEvent } from '../../streams/ai-review-budget/events.ts'
import type { AiReviewPlacesEvent } from '../../streams/ai-review-places/events.ts'
import type { AiReviewSlotEvent } from '../../streams/ai-review-slot/events.ts'
import type { AiReviewEvent, Lesion } from '../../streams/ai-review/events.ts'
import { at, factsOf, hash, ids } from './facts.ts'

export const lesion: Lesion = {
  lesionNumber: 1,
  providerLesionId: 9001,
  coordinates: { x1: 40, y1: 41, x2: 100, y2: 101.5 },
  classification: 'NV',
  category: 'Benign',
  priority: 5,
  suspectedDiagnosisIcd10Code: 'D22.9',
  suspectedDiagnosisIcd10Term: 'Melanocytic naevi, unspecified',
  suspectedDiagnosisSnomedCode: '400010006',
  suspectedDiagnosisSnomedTerm: 'Melanocytic naevus of skin',
  referralFlag: 'NO_REFERRAL',
  referralRecommendation: 'No referral',
  referralRecommendationGuidance: 'No action is needed unless the lesion changes.',
  interpretationGuidance: null,
}

const images = [
  {
    imageId: ids.image,
    imageType: 'DERMOSCOPIC' as const,
    objectKey: `images/2026-03-01/${ids.org}/${ids.assessment}/${ids.image}/0a1b2c`,
  },
  {
    imageId: ids.secondImage,
    imageType: 'MACROSCOPIC' as const,
    objectKey: `images/2026-03-01/${ids.org}/${ids.assessment}/${ids.secondImage}/0a1b2c`,
    deviceManufacturer: 'Lens',
    deviceModel: 'One',
  },
]
/** The same images with addresses from a caller. */
export const givenImages = {
  images: images.map((image) => ({ ...image, objectKey: null })),
  addresses: images.map(({ imageId }) => ({
    imageId,
    presignedUrl: `https://store.example/canary/${imageId}?sig=canary`,
    presignedUrlExpiresAt: at(3600),
  })),
}
const reviewRequest = {
  aiReviewId: ids.review,
  caseId: ids.case,
  productId: ids.product,
  orgId: ids.org,
  patientId: ids.patient,
  correlationId: ids.event,
  images,
  addresses: null,
}

export const slotFact = factsOf<AiReviewSlotEvent>({
  AiReviewSlotClaimed: {
    ...reviewRequest,
    requestEventId: ids.requestEvent,
    supersedes: null,
    request: null,
    claimedAt: at(2),
  },
  AiReviewRequestAnswered: {
    aiReviewId: ids.review,
    caseId: ids.case,
    productId: ids.product,
    requestEventId: ids.event,
    request: null,
    answeredAt: at(3),
  },
})

export const accessFact = factsOf<AiReviewAccessEvent>({
  AiReviewRawRead: { aiReviewId: ids.review, clientId: ids.client, userId: null, readAt: at(60) },
})

export const budgetFact = factsOf<AiReviewBudgetEvent>({
  AiReviewCounted: {
    aiReviewId: ids.review,
    caseId: ids.case,
    productId: ids.product,
    isClaimed: false,
    budgetLeft: 9,
    countedAt: at(2),
  },
  AiReviewCountReturned: { aiReviewId: ids.review, returnedAt: at(302) },
})

export const placesFact = factsOf<AiReviewPlacesEvent>({
  AiReviewPlaceAwaited: { aiReviewId: ids.review, requestedAt: at(2), awaitedAt: at(3) },
  AiReviewPlaceTaken: { aiReviewId: ids.review, wasWaiting: false, takenAt: at(3) },
  AiReviewPlaceReleased: { aiReviewId: ids.review, releasedAt: at(20) },
  AiReviewPlacesListed: {
    running: [ids.review],
    waiting: [{ aiReviewId: ids.newReview, requestedAt: at(4) }],
    listedAt: at(21),
  },
})

/** The answer to the attempt of the facts. */
export const answered = { attemptId: ids.attempt, status: 200, durationMs: 40 }

export const reviewFact = factsOf<AiReviewEvent>({
  AiReviewRequested: { ...reviewRequest, requestedAt: at(2) },
  AiReviewStarted: { aiReviewId: ids.review, patientId: ids.patient, addresses: null, startedAt: at(3) },
  AiReviewCallAttempted: {
    aiReviewId: ids.review,
    attemptId: ids.attempt,
    call: 'case',
    imageId: null,
    consentCheckedAt: at(3),
    consentDecisionId: ids.consent,
    attemptedAt: at(4),
    leaseUntil: at(24),
  },
  AiReviewProviderCaseCreated: { aiReviewId: ids.review, providerCaseId: 700, createdAt: at(5), answered },
  AiReviewImageSent: {
    aiReviewId: ids.review,
    imageId: ids.image,
    providerImageId: 71,
    providerImageHash: 'h71',
    sent: { sha256: hash('e'), bytes: 1024 },
    sentAt: at(6),
    answered,
  },
  AiReviewProcessingAccepted: {
    aiReviewId: ids.review,
    providerChecksum: 'checksum',
    acceptedAt: at(8),
    nextPollAt: at(13),
    deadlineAt: at(608),
    answered,
  },
  AiReviewStartDeferred: {
    aiReviewId: ids.review,
    retry: 1,
    classification: 'provider_upstream_transient',
    upstreamStatus: 503,
    abandonsProviderCase: false,
    deferredAt: at(5),
    retryAt: at(7),
    answered,
  },
  AiReviewCallPostponed: { aiReviewId: ids.review, call: 'case', postponedAt: at(5), retryAt: at(6) },
  AiReviewPollDeferred: {
    aiReviewId: ids.review,
    attemptCount: 1,
    upstreamStatus: null,
    polledAt: at(13),
    nextPollAt: at(18),
    answered,
  },
  AiReviewCompleted: {
    aiReviewId: ids.review,
    attemptCount: 2,
    aiProvider: 'inference-provider',
    analysisResult: 'SUCCESSFUL_PROCESSING',
    analysisStatus: 'DONE',
    lesionCount: 1,
    processingType: 'STANDARD',
    sensitivitySet: null,
    reportDate: at(17),
    providerVersion: '4.2',
    imageQuality: [
      { imageId: ids.image, quality: 'IMAGE_QUALITY_SUITABLE' },
      { imageId: ids.secondImage, quality: null },
    ],
    lesions: [lesion],
    rawResponse: { key: 'raw-responses/1', sha256: hash('d'), bytes: 4096, contentSha256: hash('f') },
    completedAt: at(18),
    answered,
  },
  AiReviewFailed: {
    aiReviewId: ids.review,
    classification: 'provider_client_error',
    upstreamStatus: 422,
    providerOutcome: null,
    rawResponse: null,
    attemptCount: 0,
    failedAt: at(9),
    answered: null,
  },
  AiReviewConsentConfirmed: { aiReviewId: ids.review, checkedAt: at(14) },
  AiReviewCancelled: { aiReviewId: ids.review, reason: 'consent_withdrawn', request: null, cancelledAt: at(14) },
  AiReviewSuperseded: {
    aiReviewId: ids.review,
    supersededById: ids.newReview,
    reason: 'expired addresses',
    supersededAt: at(15),
  },
})
