import type { CausingRequest, StoredObject } from '../../engine/aggregates/types.ts'
import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import { assessmentEvents, type AssessmentEvent, type FailureCode, type HumanReview, type Outcome } from './events.ts'

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
  /** The review to supersede because its addresses had expired; null if the one renewal is unused. */
  readonly renewedReviewId: string | null
  /** The request that submitted the uploads; null in inline mode. */
  readonly submittedBy: CausingRequest
}

interface End {
  /** The AI review that ended the assessment. Null if none did. */
  readonly aiReviewId: string | null
  /** Of the newest review that has a task. Null without a task. */
  readonly humanReview: HumanReview | null
  readonly newestOrdinal: number | null
  /** The tasks of all reviews of the assessment. */
  readonly tasks: GrowingMap<'open' | 'ended'>
}

const unreviewed = { humanReview: null, newestOrdinal: null, tasks: new GrowingMap<'open' | 'ended'>() }

export type AssessmentState =
  | { readonly status: 'absent' }
  | (Request & {
      readonly status: 'awaiting_images'
      readonly images: readonly DeclaredImage[]
      /** Deadline for the submit call. Null if no uploads are awaited: inside the append of an inline request. */
      readonly uploadsCloseAt: string | null
    })
  | (Submission & { readonly status: 'processing' })
  | (Submission &
      End & {
        readonly status: 'completed'
        readonly aiProvider: string
        readonly outcome: Outcome
        readonly completedAt: string
      })
  | (Request &
      End & {
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
export type EndedAssessment = Extract<AssessmentState, { status: 'completed' | 'failed' }>

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
      const { aiReviewId, aiProvider, outcome, completedAt } = event.data
      const completed = { aiReviewId, ...unreviewed, aiProvider, outcome, completedAt, updatedAt: completedAt }
      return { ...state, status: 'completed', ...completed }
    }
    case 'AssessmentFailed': {
      const { aiReviewId, code, failedAt } = event.data
      const failed = { status: 'failed' as const, aiReviewId, ...unreviewed, code, failedAt, updatedAt: failedAt }
      if (state.status === 'processing') return { ...state, ...failed }
      return state.status === 'awaiting_images' ? { ...state, ...failed, caseId: null, submittedBy: null } : state
    }
    case 'AssessmentHumanReviewOpened':
    case 'AssessmentHumanReviewDecided':
    case 'AssessmentHumanReviewCancelled':
      // Status, result and error of the assessment never change with it.
      return hasEnded(state) ? withTask(state, event) : state
  }
}

function withTask(state: EndedAssessment, event: HumanReviewEvent): EndedAssessment {
  const isOpened = event.type === 'AssessmentHumanReviewOpened'
  const tasks = state.tasks.with(event.data.taskId, isOpened ? 'open' : 'ended')
  if (!event.data.isNewest) return { ...state, tasks }
  const newestOrdinal = isOpened ? event.data.reviewOrdinal : state.newestOrdinal
  return { ...state, tasks, newestOrdinal, ...humanReviewAfter(event) }
}

export type HumanReviewEvent = Extract<AssessmentEvent, { type: `AssessmentHumanReview${string}` }>

/** The human review after an event of it, and the time of that change. */
export function humanReviewAfter({ type, data }: HumanReviewEvent): { humanReview: HumanReview; updatedAt: string } {
  const undecided = { decided_at: null, agrees_with_ai: null }
  switch (type) {
    case 'AssessmentHumanReviewOpened':
      return { humanReview: { status: 'open', ...undecided }, updatedAt: data.openedAt }
    case 'AssessmentHumanReviewDecided': {
      const { decidedAt, agreesWithAi } = data
      return {
        humanReview: { status: 'decided', decided_at: decidedAt, agrees_with_ai: agreesWithAi },
        updatedAt: decidedAt,
      }
    }
    case 'AssessmentHumanReviewCancelled':
      return { humanReview: { status: 'cancelled', ...undecided }, updatedAt: data.cancelledAt }
  }
}

export function hasEnded(state: AssessmentState): state is EndedAssessment {
  return state.status === 'completed' || state.status === 'failed'
}

export const assessments = defineAggregate({
  category: 'assessment',
  id: idOfOrganisation,
  events: assessmentEvents,
  initialState: { status: 'absent' },
  evolve,
})
