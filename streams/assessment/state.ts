import type { Fold } from '../store/events.ts'
import type { StoredObject } from '../types.ts'
import type { AssessmentEvent, FailureCode, Outcome } from './events.ts'
import { category } from './stream.ts'

type Requested = Extract<AssessmentEvent, { type: 'AssessmentRequested' }>['data']
type DeclaredImage = Requested['images'][number]

export interface SubmittedImage extends DeclaredImage {
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
}

export type AssessmentState =
  | { readonly status: 'absent' }
  | (Request & { readonly status: 'awaiting_images'; readonly images: readonly DeclaredImage[] })
  | (Submission & { readonly status: 'processing' })
  | (Submission & {
      readonly status: 'completed'
      readonly aiProvider: string
      readonly outcome: Outcome
      readonly completedAt: string
    })
  | (Omit<Submission, 'caseId'> & {
      readonly status: 'failed'
      readonly caseId: string | null
      readonly code: FailureCode
      readonly failedAt: string
    })

export type ExistingAssessment = Exclude<AssessmentState, { status: 'absent' }>
export type ProcessingAssessment = Extract<AssessmentState, { status: 'processing' }>

function evolve(state: AssessmentState, event: AssessmentEvent): AssessmentState {
  switch (event.type) {
    case 'AssessmentRequested':
      return { ...event.data, status: 'awaiting_images', updatedAt: event.data.requestedAt }
    case 'AssessmentSubmitted': {
      if (state.status !== 'awaiting_images') return state
      const received = new Map(event.data.images.map((image) => [image.imageId, image.object]))
      const images = state.images.flatMap((image) => {
        const object = received.get(image.imageId)
        return object === undefined ? [] : [{ ...image, object }]
      })
      const { caseId, deadlineAt, submittedAt } = event.data
      const submission = { caseId, images, submittedAt, deadlineAt, isReviewRequested: false }
      return { ...state, status: 'processing', ...submission, updatedAt: submittedAt }
    }
    case 'AssessmentReviewRequested':
      return state.status === 'processing' ? { ...state, isReviewRequested: true } : state
    case 'AssessmentCompleted': {
      if (state.status !== 'processing') return state
      const { aiProvider, outcome, completedAt } = event.data
      return { ...state, status: 'completed', aiProvider, outcome, completedAt, updatedAt: completedAt }
    }
    case 'AssessmentFailed': {
      const { code, failedAt } = event.data
      return state.status === 'processing' ? { ...state, status: 'failed', code, failedAt, updatedAt: failedAt } : state
    }
  }
}

export const assessmentFold: Fold<AssessmentState, AssessmentEvent> = {
  category,
  initialState: { status: 'absent' },
  evolve,
}
