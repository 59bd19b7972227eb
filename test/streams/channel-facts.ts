import type { AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import type { ConsentChannelEvent } from '../../streams/channels/consent.ts'
import { lesion, reviewFact } from './ai-review-facts.ts'
import { at, factsOf, ids } from './facts.ts'

function envelope<Type extends string>(event_type: Type, seconds: number) {
  const stored = { event_id: ids.requestEvent, event_type, occurred_at: at(seconds), schema_version: 1 }
  return { ...stored, causation_id: ids.attempt, correlation_id: ids.event, hop: 0 }
}

const { aiReviewId, caseId, productId, orgId, correlationId, images } = reviewFact('AiReviewRequested').data
const review = { aiReviewId, caseId, productId, orgId, correlationId }

/** The events of the AI-review channel for the story in `facts.ts`. */
export const reviewPublicFact = factsOf<AiReviewChannelEvent>({
  'ai_review.requested': {
    caseId,
    productId,
    orgId,
    correlationId,
    images: images.map((image) => ({
      ...image,
      objectKey: image.objectKey ?? '',
      presignedUrl: `https://store.example/${image.objectKey}`,
      presignedUrlExpiresAt: at(3601),
    })),
    patientId: ids.patient,
    requestedAt: at(1),
    ...envelope('ai_review.requested', 1),
  },
  'ai_review.started': { ...review, startedAt: at(3), ...envelope('ai_review.started', 3) },
  'ai_review.completed': {
    ...review,
    assessedByProviderVersion: '4.2',
    reportDate: at(17),
    analysisResult: 'SUCCESSFUL_PROCESSING',
    imageQuality: [{ imageId: ids.image, quality: 'IMAGE_QUALITY_SUITABLE' }],
    lesions: [lesion],
    aiProvider: 'inference-provider',
    ...envelope('ai_review.completed', 18),
  },
  'ai_review.failed': {
    ...review,
    errorCode: 'provider_client_error',
    errorClassification: 'provider_client_error',
    errorMessage: 'The inference provider refused the request.',
    retriable: false,
    ...envelope('ai_review.failed', 9),
  },
  'ai_review.cancelled': {
    ...review,
    reason: 'consent_withdrawn',
    cancelledAt: at(14),
    ...envelope('ai_review.cancelled', 14),
  },
  'ai_review.superseded': {
    oldAiReviewId: aiReviewId,
    newAiReviewId: ids.newReview,
    caseId,
    productId,
    orgId,
    supersededAt: at(15),
    reason: 'expired addresses',
    ...envelope('ai_review.superseded', 15),
  },
})

function decision<Type extends ConsentChannelEvent['type']>(type: Type, seconds: number) {
  return {
    type,
    patient_id: ids.patient,
    org_id: ids.org,
    consent_type_code: 'ai_analysis',
    timestamp: at(seconds),
    ...envelope(type, seconds),
  }
}

/** The events of the consent channel. */
export const consentPublicFact = factsOf<ConsentChannelEvent>({
  'consent.granted': decision('consent.granted', 0),
  'consent.denied': decision('consent.denied', 10),
  'consent.withdrawn': decision('consent.withdrawn', 14),
})
