import type { AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import type { AssessmentChannelEvent } from '../../streams/channels/assessment.ts'
import type { ClinicalChannelEvent } from '../../streams/channels/clinical.ts'
import type { ConsentChannelEvent } from '../../streams/channels/consent.ts'
import type { WebhookChannelEvent } from '../../streams/channels/webhook.ts'
import { lesion, reviewFact } from './ai-review-facts.ts'
import { at, factsOf, ids } from './facts.ts'

/** The members that every public event has. */
export function envelope<Type extends string>(event_type: Type, seconds: number) {
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

const ofOrg = { org_id: ids.org }
const endedAssessment = {
  ...ofOrg,
  assessment_id: ids.assessment,
  patient_id: ids.patient,
  product_id: ids.product,
  ended_at: at(19),
}

/** The events of the assessment channel. */
export const assessmentPublicFact = factsOf<AssessmentChannelEvent>({
  'assessment.completed': {
    ...endedAssessment,
    case_id: ids.case,
    status: 'completed',
    error_code: null,
    ...envelope('assessment.completed', 19),
  },
  'assessment.failed': {
    ...endedAssessment,
    case_id: null,
    status: 'failed',
    error_code: 'UPLOAD_WINDOW_EXPIRED',
    ...envelope('assessment.failed', 19),
  },
  'assessment.reviewed': {
    ...endedAssessment,
    case_id: ids.case,
    status: 'completed',
    error_code: null,
    task_id: ids.task,
    ai_review_id: ids.review,
    agrees_with_ai: false,
    decided_at: at(90),
    ...envelope('assessment.reviewed', 90),
  },
})

const diagnosis = {
  ...ofOrg,
  diagnosis_id: ids.diagnosis,
  finding_id: ids.finding,
  case_id: ids.case,
  ai_review_id: ids.review,
  source: 'ai' as const,
  task_id: null,
}

/** The events of the clinical channel. */
export const clinicalPublicFact = factsOf<ClinicalChannelEvent>({
  'clinical.patient.registered': {
    ...ofOrg,
    patient_id: ids.patient,
    registered_at: at(0),
    ...envelope('clinical.patient.registered', 0),
  },
  'clinical.patient.corrected': {
    ...ofOrg,
    patient_id: ids.patient,
    corrected_at: at(5),
    ...envelope('clinical.patient.corrected', 5),
  },
  'clinical.patient.revoked': {
    ...ofOrg,
    patient_id: ids.patient,
    revoked_at: at(1),
    ...envelope('clinical.patient.revoked', 1),
  },
  'clinical.patient.erased': {
    ...ofOrg,
    patient_id: ids.patient,
    erased_at: at(20),
    ...envelope('clinical.patient.erased', 20),
  },
  'clinical.case.opened': {
    ...ofOrg,
    case_id: ids.case,
    patient_id: ids.patient,
    product_id: ids.product,
    assessment_id: ids.assessment,
    opened_at: at(0),
    ...envelope('clinical.case.opened', 0),
  },
  'clinical.case.closed': {
    ...ofOrg,
    case_id: ids.case,
    patient_id: ids.patient,
    closed_at: at(40),
    ...envelope('clinical.case.closed', 40),
  },
  'clinical.finding.recorded': {
    ...ofOrg,
    finding_id: ids.finding,
    case_id: ids.case,
    ai_review_id: ids.review,
    lesion_number: 1,
    recorded_at: at(18),
    ...envelope('clinical.finding.recorded', 18),
  },
  'clinical.diagnosis.recorded': { ...diagnosis, recorded_at: at(18), ...envelope('clinical.diagnosis.recorded', 18) },
  'clinical.diagnosis.superseded': {
    ...diagnosis,
    superseded_by_id: ids.newReview,
    superseded_at: at(20),
    ...envelope('clinical.diagnosis.superseded', 20),
  },
})

/** The events of the webhook channel. */
export const webhookPublicFact = factsOf<WebhookChannelEvent>({
  'webhook.endpoint.failing': {
    ...ofOrg,
    subscription_id: ids.subscription,
    percent: 50,
    failing_since: at(32),
    disable_at: at(432_032),
    ...envelope('webhook.endpoint.failing', 0),
  },
  'webhook.endpoint.disabled': {
    ...ofOrg,
    subscription_id: ids.subscription,
    reason: 'no_success',
    disabled_at: at(20),
    ...envelope('webhook.endpoint.disabled', 20),
  },
})
