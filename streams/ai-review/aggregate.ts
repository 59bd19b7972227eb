import type { CausingRequest, StoredObject } from '../../engine/aggregates/types.ts'
import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { aiReviewEvents, type AiReviewEvent, type Classification, type ProviderCall } from './events.ts'

/** The code of the consent that an analysis of images by an AI needs. */
export const requiredConsentCode = 'ai_analysis'

type Requested = Extract<AiReviewEvent, { type: 'AiReviewRequested' }>['data']

export interface OpenAttempt {
  readonly attemptId: string
  readonly call: ProviderCall
  readonly imageId: string | null
  readonly leaseUntil: string
}

interface SentImage {
  readonly providerImageId: number
  readonly providerImageHash: string | null
}

export interface Review extends Requested {
  readonly isStarted: boolean
  readonly providerCaseId: number | null
  /** The provider's case may contain unknown changes, so the next run starts a new case. */
  readonly isProviderCaseAbandoned: boolean
  readonly providerChecksum: string | null
  readonly sentImages: ReadonlyMap<string, SentImage>
  /** The provider call that was started and has no recorded outcome. */
  readonly openAttempt: OpenAttempt | null
  readonly startRetries: number
  /** The last withdrawal that a later decision overrode. */
  readonly consentConfirmedAt: string | null
  readonly attemptCount: number
  /** The keyed request that cancelled the review, kept after superseding. A repeat gets the first answer. */
  readonly cancelRequest: CausingRequest
  /** The provider's whole answer, encrypted. Null if there is none. */
  readonly rawResponse: StoredObject | null
}

interface Awaiting extends Review {
  readonly providerCaseId: number
  readonly providerChecksum: string
  readonly nextPollAt: string
  readonly deadlineAt: string
}

export type AiReviewState =
  | { readonly status: 'absent' }
  | (Review & { readonly status: 'pending' })
  | (Review & { readonly status: 'in_progress'; readonly providerCaseId: number })
  | (Awaiting & { readonly status: 'awaiting_result' })
  | (Review & { readonly status: 'completed' })
  | (Review & { readonly status: 'failed'; readonly classification: Classification })
  | (Review & { readonly status: 'cancelled' })
  | (Review & { readonly status: 'superseded'; readonly supersededById: string })

export type StartingReview = Extract<AiReviewState, { status: 'pending' | 'in_progress' }>
export type AwaitingReview = Extract<AiReviewState, { status: 'awaiting_result' }>

function evolve(state: AiReviewState, event: AiReviewEvent): AiReviewState {
  if (event.type === 'AiReviewRequested') {
    return {
      ...event.data,
      status: 'pending',
      isStarted: false,
      providerCaseId: null,
      isProviderCaseAbandoned: false,
      providerChecksum: null,
      sentImages: new Map(),
      openAttempt: null,
      startRetries: 0,
      consentConfirmedAt: null,
      attemptCount: 0,
      cancelRequest: null,
      rawResponse: null,
    }
  }
  if (state.status === 'absent') return state
  switch (event.type) {
    case 'AiReviewStarted': {
      const { patientId, addresses } = event.data
      return { ...state, isStarted: true, patientId, addresses: addresses ?? state.addresses }
    }
    case 'AiReviewCallAttempted': {
      const { attemptId, call, imageId, leaseUntil } = event.data
      // An attempt without an outcome leaves the provider's case unknown. Later calls do not change that.
      const isProviderCaseAbandoned = state.isProviderCaseAbandoned || leavesUnknown(state.openAttempt)
      return { ...state, isProviderCaseAbandoned, openAttempt: { attemptId, call, imageId, leaseUntil } }
    }
    case 'AiReviewProviderCaseCreated':
      return {
        ...state,
        status: 'in_progress',
        providerCaseId: event.data.providerCaseId,
        isProviderCaseAbandoned: false,
        sentImages: new Map(),
        openAttempt: null,
      }
    case 'AiReviewImageSent': {
      const { imageId, providerImageId, providerImageHash } = event.data
      const sentImages = new Map(state.sentImages).set(imageId, { providerImageId, providerImageHash })
      return { ...state, sentImages, openAttempt: null }
    }
    case 'AiReviewProcessingAccepted': {
      if (state.providerCaseId === null) return state
      const { providerChecksum, nextPollAt, deadlineAt } = event.data
      const { providerCaseId } = state
      return {
        ...state,
        status: 'awaiting_result',
        providerCaseId,
        providerChecksum,
        nextPollAt,
        deadlineAt,
        openAttempt: null,
      }
    }
    case 'AiReviewStartDeferred':
      return {
        ...state,
        startRetries: event.data.retry,
        isProviderCaseAbandoned: state.isProviderCaseAbandoned || event.data.abandonsProviderCase,
        openAttempt: null,
      }
    case 'AiReviewCallPostponed':
      return { ...state, openAttempt: null }
    case 'AiReviewPollDeferred': {
      if (state.status !== 'awaiting_result') return state
      const { attemptCount, nextPollAt } = event.data
      return { ...state, attemptCount, nextPollAt, openAttempt: null }
    }
    case 'AiReviewCompleted': {
      const { attemptCount, rawResponse } = event.data
      return { ...state, status: 'completed', attemptCount, rawResponse, openAttempt: null }
    }
    case 'AiReviewFailed': {
      const { classification, rawResponse } = event.data
      return { ...state, status: 'failed', classification, rawResponse, openAttempt: null }
    }
    case 'AiReviewConsentConfirmed':
      return { ...state, consentConfirmedAt: event.data.checkedAt }
    case 'AiReviewCancelled':
      return { ...state, status: 'cancelled', cancelRequest: event.data.request, openAttempt: null }
    case 'AiReviewSuperseded':
      return { ...state, status: 'superseded', supersededById: event.data.supersededById, openAttempt: null }
  }
}

/** Whether the provider may have acted on an attempt without a record here. Then its case cannot be continued. */
export function leavesUnknown(attempt: OpenAttempt | null): boolean {
  return attempt?.call === 'case' || attempt?.call === 'image'
}

export const aiReviews = defineAggregate({
  category: 'ai_review',
  id: idOfOrganisation,
  events: aiReviewEvents,
  initialState: { status: 'absent' },
  evolve,
})
