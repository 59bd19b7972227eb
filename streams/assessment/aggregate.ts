import type { CausingRequest, StoredObject } from '../types.ts'
import { defineAggregate, idOfOrganisation } from '../aggregate.ts'
import { assessmentEvents, type AssessmentEvent, type FailureCode, type Outcome } from './events.ts'

type Requested = Extract<AssessmentEvent, { type: 'AssessmentRequested' }>['data']
export type DeclaredImage = Requested['images'][number]

interface SubmittedImage extends DeclaredImage {
  readonly object: StoredObject
}

interface Request extends Omit<Requested, 'images'> {
  readonly updatedAt: string
}

interface Submission extends Request {
  readonly caseId: string
  readonly images: readonly SubmittedImage[]
  readonly submittedAt: string
  readonly deadlineAt: string
  readonly isReviewRequested: boolean
  /** The review to supersede because its addresses had expired; null if the one renewal is unused (T30). */
  readonly renewedReviewId: string | null
  /** The request that submitted the uploads; null in inline mode. */
  readonly submittedBy: CausingRequest
}

export type AssessmentState =
  | { readonly status: 'absent' }
  | (Request & {
      readonly status: 'awaiting_images'
      readonly images: readonly DeclaredImage[]
      /** Deadline for the submit call. Null if no uploads are awaited: inside the append of an inline request. */
      readonly uploadsCloseAt: string | null
    })
  | (Submission & { readonly status: 'processing' })
  | (Submission & {
      readonly status: 'completed'
      readonly aiProvider: string
      readonly outcome: Outcome
      readonly completedAt: string
    })
  | (Request & {
      readonly status: 'failed'
      /** Null if the uploads were never submitted. */
      readonly caseId: string | null
      readonly images: readonly (DeclaredImage | SubmittedImage)[]
      readonly submittedBy: CausingRequest
      readonly code: FailureCode
      readonly failedAt: string
    })

export type ExistingAssessment = Exclude<AssessmentState, { status: 'absent' }>
export type AwaitingAssessment = Extract<AssessmentState, { status: 'awaiting_images' }>
export type ProcessingAssessment = Extract<AssessmentState, { status: 'processing' }>

function evolve(state: AssessmentState, event: AssessmentEvent): AssessmentState {
  switch (event.type) {
    case 'AssessmentRequested':
      return { ...event.data, status: 'awaiting_images', uploadsCloseAt: null, updatedAt: event.data.requestedAt }
    case 'AssessmentUploadsAwaited':
      return state.status === 'awaiting_images' ? { ...state, uploadsCloseAt: event.data.closesAt } : state
    case 'AssessmentSubmitted': {
      if (state.status !== 'awaiting_images') return state
      const { uploadsCloseAt: _, ...request } = state
      const received = new Map(event.data.images.map((image) => [image.imageId, image.object]))
      const images = state.images.flatMap((image) => {
        const object = received.get(image.imageId)
        return object === undefined ? [] : [{ ...image, object }]
      })
      const { caseId, deadlineAt, submittedAt, request: submittedBy } = event.data
      const submission = {
        caseId,
        images,
        submittedAt,
        deadlineAt,
        isReviewRequested: false,
        renewedReviewId: null,
        submittedBy,
      }
      return { ...request, status: 'processing', ...submission, updatedAt: submittedAt }
    }
    case 'AssessmentReviewRequested':
      return state.status === 'processing' ? { ...state, isReviewRequested: true } : state
    case 'AssessmentReviewRenewed':
      return state.status === 'processing' ? { ...state, renewedReviewId: event.data.aiReviewId } : state
    case 'AssessmentCompleted': {
      if (state.status !== 'processing') return state
      const { aiProvider, outcome, completedAt } = event.data
      return { ...state, status: 'completed', aiProvider, outcome, completedAt, updatedAt: completedAt }
    }
    case 'AssessmentFailed': {
      const { code, failedAt } = event.data
      const failed = { status: 'failed' as const, code, failedAt, updatedAt: failedAt }
      if (state.status === 'processing') return { ...state, ...failed }
      return state.status === 'awaiting_images' ? { ...state, ...failed, caseId: null, submittedBy: null } : state
    }
  }
}

export const assessments = defineAggregate({
  category: 'assessment',
  id: idOfOrganisation,
  events: assessmentEvents,
  initialState: { status: 'absent' },
  evolve,
})
