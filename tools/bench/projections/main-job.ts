import { createHash } from 'node:crypto'
import { v7 } from 'uuid'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import type { ReviewImage } from '../../../streams/ai-review/review-image.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import type { AiReviewSlotEvent } from '../../../streams/ai-review-slot/events.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import type { CaseEvent } from '../../../streams/case/events.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import type { ConsentEvent } from '../../../streams/consent/events.ts'
import { consents } from '../../../streams/consent/aggregate.ts'
import type { PatientEvent } from '../../../streams/patient/events.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import type { DomainEvent } from '../../../engine/store/events.ts'
import type { WebhookDeliveryEvent } from '../../../streams/webhook-delivery/events.ts'
import { webhookDeliveries } from '../../../streams/webhook-delivery/aggregate.ts'
import type { TenantId } from '../../../platform/kit/tenants.ts'

/** One append of a job, in the order of the streams' revisions. */
export interface JobAppend {
  readonly stream: string
  readonly events: readonly DomainEvent[]
}

const productId = v7()
const consentTypeId = v7()
const textVersionId = v7()
const subscriptionId = v7()
const sha256 = createHash('sha256').update('photograph').digest('hex')

/** Number of assessments per patient. */
export const assessmentsPerPatient = 4
/** Number of events of a patient's registration and consent, and of one assessment from the request to the webhook. */
export const eventsPerPatient = 2
export const eventsPerAssessment = 21

const instant = (at: number, seconds: number): string => new Date(at + seconds * 1000).toISOString()

/** A patient is registered and consents. */
export function patientAppends(organisationId: TenantId, patientId: string, at: number): JobAppend[] {
  const registered: PatientEvent = {
    type: 'PatientRegistered',
    data: {
      patientId,
      organisationId,
      person: {
        givenName: 'Ada',
        familyName: 'Example',
        dob: '1980-02-29',
        identifiers: [{ scheme: 'mrn', value: patientId.slice(0, 13) }],
      },
      registeredAt: instant(at, 0),
      fingerprint: sha256,
    },
  }
  return [
    { stream: patients.of(organisationId, patientId).stream, events: [registered] },
    { stream: consents.of(organisationId, patientId).stream, events: [consentEvent(organisationId, patientId, at)] },
  ]
}

/** One decision of a patient. Every fourth one has a `recordedBy` from its caller. */
export function consentEvent(organisationId: TenantId, patientId: string, at: number, number = 1): ConsentEvent {
  return {
    type: 'ConsentRecorded',
    data: {
      consentId: v7(),
      organisationId,
      patientId,
      consentTypeId,
      consentTypeCode: 'ai_analysis',
      textVersionId,
      textSha256: sha256,
      decision: number % 2 === 1 ? 'granted' : 'withdrawn',
      recordedAt: instant(at, number),
      recordedBy: number % 4 === 0 ? 'dr-lovelace' : null,
      createdAt: instant(at, number),
      fingerprint: sha256,
    },
  }
}

/** One assessment of two photographs, from its request to the webhook about its end, as the platform records it. */
export function assessmentAppends(
  organisationId: TenantId,
  patientId: string,
  at: number,
  assessmentId: string = v7(),
): JobAppend[] {
  const ids = { organisationId, assessmentId, caseId: v7(), aiReviewId: v7(), deliveryId: v7(), eventId: v7() }
  const images = [v7(), v7()]
  return [...requested(ids, patientId, images, at), ...reviewed(ids, patientId, images, at), ...delivered(ids, at)]
}

interface JobIds {
  readonly organisationId: TenantId
  readonly assessmentId: string
  readonly caseId: string
  readonly aiReviewId: string
  readonly deliveryId: string
  readonly eventId: string
}

function requested(
  { organisationId, assessmentId, caseId }: JobIds,
  patientId: string,
  images: readonly string[],
  at: number,
): JobAppend[] {
  const objectKey = (imageId: string): string => `assessments/${organisationId}/${assessmentId}/${imageId}`
  const assessment: AssessmentEvent[] = [
    {
      type: 'AssessmentRequested',
      data: {
        assessmentId,
        organisationId,
        patientId,
        productId,
        mode: 'inline',
        finding: { findingType: 'lesion', bodySiteId: null },
        images: images.map((imageId) => ({ imageId, captureType: 'dermoscopic', mimeType: 'image/jpeg' })),
        externalReference: null,
        clinicalContext: null,
        customFields: null,
        requestedAt: instant(at, 0),
        fingerprint: sha256,
      },
    },
    {
      type: 'AssessmentSubmitted',
      data: {
        assessmentId,
        caseId,
        images: images.map((imageId) => ({
          imageId,
          object: { key: objectKey(imageId), sha256, bytes: 204_800 },
          width: 1024,
          height: 768,
        })),
        submittedAt: instant(at, 0),
        deadlineAt: instant(at, 900),
        request: null,
      },
    },
  ]
  const opened: CaseEvent = {
    type: 'CaseOpened',
    data: {
      caseId,
      organisationId,
      patientId,
      productId,
      assessmentId,
      externalReference: null,
      clinicalContext: null,
      customFields: null,
      workflow: null,
      openedAt: instant(at, 0),
      fingerprint: null,
    },
  }
  const asked: AssessmentEvent = {
    type: 'AssessmentReviewRequested',
    data: {
      assessmentId,
      caseId,
      patientId,
      productId,
      images: images.map((imageId) => ({ imageId, imageType: 'DERMOSCOPIC', objectKey: objectKey(imageId) })),
      isCaseOpen: true,
      requestedAt: instant(at, 1),
    },
  }
  return [
    { stream: assessments.of(organisationId, assessmentId).stream, events: assessment },
    { stream: cases.of(organisationId, caseId).stream, events: [opened] },
    { stream: assessments.of(organisationId, assessmentId).stream, events: [asked] },
  ]
}

function reviewed(ids: JobIds, patientId: string, imageIds: readonly string[], at: number): JobAppend[] {
  const { organisationId, assessmentId, caseId, aiReviewId, eventId } = ids
  const images: ReviewImage[] = imageIds.map((imageId) => ({
    imageId,
    imageType: 'DERMOSCOPIC',
    objectKey: `images/2026-03-01/${organisationId}/${assessmentId}/${imageId}/0a1b2c`,
  }))
  const slot = aiReviewSlots.of(organisationId, caseId, productId).stream
  const stream = aiReviews.of(organisationId, aiReviewId).stream
  const review = {
    aiReviewId,
    caseId,
    productId,
    orgId: organisationId,
    patientId,
    correlationId: assessmentId,
    images,
    addresses: null,
  }
  const claimed: AiReviewSlotEvent = {
    type: 'AiReviewSlotClaimed',
    data: { ...review, requestEventId: eventId, supersedes: null, request: null, claimedAt: instant(at, 1) },
  }
  const answered = { attemptId: aiReviewId, status: 200, durationMs: 40 }
  const attempted = (call: 'case' | 'image' | 'process', imageId: string | null, seconds: number): AiReviewEvent => ({
    type: 'AiReviewCallAttempted',
    data: {
      aiReviewId,
      attemptId: v7(),
      call,
      imageId,
      consentCheckedAt: instant(at, seconds),
      consentDecisionId: aiReviewId,
      attemptedAt: instant(at, seconds),
      leaseUntil: instant(at, seconds + 60),
    },
  })
  const sent = (imageId: string, number: number): AiReviewEvent => ({
    type: 'AiReviewImageSent',
    data: {
      aiReviewId,
      imageId,
      providerImageId: 7000 + number,
      providerImageHash: sha256.slice(number),
      sent: { sha256, bytes: 1_048_576 },
      sentAt: instant(at, 4 + number),
      answered,
    },
  })
  const begun: AiReviewEvent[] = [
    { type: 'AiReviewRequested', data: { ...review, requestedAt: instant(at, 1) } },
    { type: 'AiReviewStarted', data: { aiReviewId, patientId, addresses: null, startedAt: instant(at, 2) } },
    attempted('case', null, 2),
  ]
  const uploaded: AiReviewEvent[] = [
    {
      type: 'AiReviewProviderCaseCreated',
      data: { aiReviewId, providerCaseId: 4711, createdAt: instant(at, 3), answered },
    },
    ...imageIds.flatMap((imageId, number) => [attempted('image', imageId, 4 + number), sent(imageId, number)]),
    attempted('process', null, 8),
    {
      type: 'AiReviewProcessingAccepted',
      data: {
        aiReviewId,
        providerChecksum: sha256,
        acceptedAt: instant(at, 9),
        nextPollAt: instant(at, 14),
        deadlineAt: instant(at, 900),
        answered,
      },
    },
  ]
  return [
    { stream: slot, events: [claimed] },
    { stream, events: begun },
    { stream, events: uploaded },
    { stream, events: resultOf(ids, imageIds, at) },
    { stream: assessments.of(organisationId, assessmentId).stream, events: [completed(ids, imageIds, at)] },
  ]
}

function resultOf({ organisationId, aiReviewId }: JobIds, imageIds: readonly string[], at: number): AiReviewEvent[] {
  const answered = { attemptId: aiReviewId, status: 200, durationMs: 40 }
  return [
    {
      type: 'AiReviewPollDeferred',
      data: {
        aiReviewId,
        attemptCount: 1,
        upstreamStatus: 202,
        polledAt: instant(at, 14),
        nextPollAt: instant(at, 19),
        answered,
      },
    },
    {
      type: 'AiReviewCompleted',
      data: {
        aiReviewId,
        attemptCount: 2,
        aiProvider: 'inference-provider',
        analysisResult: 'SUCCESSFUL_PROCESSING',
        analysisStatus: 'DONE',
        lesionCount: 1,
        processingType: 'STANDARD',
        sensitivitySet: null,
        reportDate: instant(at, 18),
        providerVersion: '4.2',
        imageQuality: imageIds.map((imageId) => ({ imageId, quality: 'IMAGE_QUALITY_SUITABLE' })),
        lesions: [
          {
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
          },
        ],
        rawResponse: {
          key: `raw-responses/${organisationId}/${aiReviewId}`,
          sha256,
          bytes: 4096,
          contentSha256: sha256,
        },
        completedAt: instant(at, 19),
        answered,
      },
    },
  ]
}

function completed({ assessmentId, aiReviewId }: JobIds, imageIds: readonly string[], at: number): AssessmentEvent {
  return {
    type: 'AssessmentCompleted',
    data: {
      assessmentId,
      aiReviewId,
      aiProvider: 'inference-provider',
      outcome: {
        malignancy_score: 0.1,
        recommendation: 'no_action',
        score_basis: 'benign',
        scoring_version: '1',
        lesions: [
          {
            lesion_number: 1,
            category: 'Benign',
            classification: 'NV',
            priority: 5,
            icd10: { code: 'D22.9', term: 'Melanocytic naevi, unspecified' },
            snomed: { code: '400010006', term: 'Melanocytic naevus of skin' },
            referral_flag: 'NO_REFERRAL',
            referral_recommendation: 'No referral',
            interpretation_guidance: null,
          },
        ],
        image_quality: imageIds.map((imageId) => ({ image_id: imageId, quality: 'IMAGE_QUALITY_SUITABLE' })),
      },
      completedAt: instant(at, 20),
    },
  }
}

function delivered({ organisationId, assessmentId, deliveryId, eventId }: JobIds, at: number): JobAppend[] {
  const events: WebhookDeliveryEvent[] = [
    {
      type: 'WebhookDeliveryScheduled',
      data: {
        deliveryId,
        subscriptionId,
        organisationId,
        eventId,
        origin: 'event',
        eventType: 'assessment.completed',
        assessmentId,
        occurredAt: instant(at, 20),
        scheduledAt: instant(at, 20),
        request: null,
      },
    },
    {
      type: 'WebhookDeliveryAttempted',
      data: { deliveryId, attempt: 1, attemptedAt: instant(at, 20), leaseUntil: instant(at, 80), shown: null },
    },
    {
      type: 'WebhookDelivered',
      data: {
        deliveryId,
        subscriptionId,
        eventId,
        attempt: 1,
        statusCode: 204,
        durationMs: 12,
        deliveredAt: instant(at, 20),
      },
    },
  ]
  return [{ stream: webhookDeliveries.of(organisationId, deliveryId).stream, events }]
}
