import { v5 } from 'uuid'
import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import {
  humanReviewTaskEvents,
  type HumanReviewTaskEvent,
  type LesionDecision,
  type TaskCancelReason,
} from './events.ts'
import type { DataOf } from '../../engine/store/events.ts'

export type OpenedTask = DataOf<HumanReviewTaskEvent, 'HumanReviewTaskOpened'>
type GivenOpinion = DataOf<HumanReviewTaskEvent, 'HumanReviewOpinionGiven'>
export type Opinion = Pick<GivenOpinion, 'number' | 'userId' | 'recommendation' | 'note' | 'givenAt'> & {
  readonly lesions: readonly LesionDecision[]
}

export interface HumanReviewTask extends Omit<OpenedTask, 'opinionsRequired'> {
  readonly status: 'open' | 'claimed' | 'decided' | 'cancelled'
  readonly opinionsRequired: number
  readonly opinions: readonly Opinion[]
  /** Null unless the status is `claimed`. The lease may have ended. */
  readonly claim: { readonly userId: string; readonly leaseUntil: string } | null
  /** The opinion that is the decision. */
  readonly decision: Opinion | null
  readonly agreesWithAi: boolean | null
  readonly cancelReason: TaskCancelReason | null
  readonly updatedAt: string
  readonly decidedAt: string | null
  /** When the latest refusal that a later decision overrides was published. */
  readonly consentCheckedAt: string | null
  /** Fingerprints of the keyed requests that changed the task, by key. */
  readonly requests: GrowingMap<string | null>
}

export type HumanReviewTaskState = { readonly status: 'absent'; readonly isNotSelected: boolean } | HumanReviewTask

function evolve(state: HumanReviewTaskState, event: HumanReviewTaskEvent): HumanReviewTaskState {
  if (event.type === 'HumanReviewTaskOpened') {
    return {
      ...event.data,
      status: 'open',
      opinions: [],
      claim: null,
      decision: null,
      agreesWithAi: null,
      cancelReason: null,
      updatedAt: event.data.openedAt,
      decidedAt: null,
      consentCheckedAt: null,
      requests: new GrowingMap(),
    }
  }
  if (event.type === 'HumanReviewNotSelected') return { status: 'absent', isNotSelected: true }
  if (state.status === 'absent') return state
  switch (event.type) {
    case 'HumanReviewAssessmentAssigned':
      return { ...state, assessmentId: event.data.assessmentId }
    case 'HumanReviewConsentConfirmed':
      return { ...state, consentCheckedAt: event.data.checkedAt }
    case 'HumanReviewTaskClaimed': {
      const { userId, leaseUntil, request, claimedAt } = event.data
      return { ...withRequest(state, request), status: 'claimed', claim: { userId, leaseUntil }, updatedAt: claimedAt }
    }
    case 'HumanReviewTaskReleased': {
      const { request, releasedAt } = event.data
      return { ...withRequest(state, request), status: 'open', claim: null, updatedAt: releasedAt }
    }
    case 'HumanReviewReleaseUnneeded':
      return withRequest(state, event.data.request)
    case 'HumanReviewOpinionGiven': {
      const { number, userId, recommendation, note, opinionsRequired, request, givenAt } = event.data
      const opinion = { number, userId, lesions: decisionsIn(event.data), recommendation, note, givenAt }
      return {
        ...withRequest(state, request),
        status: 'open',
        claim: null,
        opinions: [...state.opinions, opinion],
        opinionsRequired,
        updatedAt: givenAt,
      }
    }
    case 'HumanReviewTaskDecided': {
      const { opinion, agreesWithAi, decidedAt } = event.data
      const decision = state.opinions[opinion - 1] ?? null
      return { ...state, status: 'decided', claim: null, decision, agreesWithAi, updatedAt: decidedAt, decidedAt }
    }
    case 'HumanReviewTaskCancelled': {
      const { reason, cancelledAt } = event.data
      return { ...state, status: 'cancelled', claim: null, cancelReason: reason, updatedAt: cancelledAt }
    }
  }
}

const noCorrection = { icd10: null, snomed: null, category: null }

/** The decision about each lesion. */
export function decisionsIn({ lesions, corrections }: Pick<GivenOpinion, 'lesions' | 'corrections'>): LesionDecision[] {
  const given = new Map(corrections?.map((correction) => [correction.lesionNumber, correction]))
  return lesions.map((lesion) => ({ ...noCorrection, ...given.get(lesion.lesionNumber), ...lesion }))
}

function withRequest(state: HumanReviewTask, request: CausingRequest): HumanReviewTask {
  return request === null ? state : { ...state, requests: state.requests.with(request.key, request.fingerprint) }
}

/** One stream per task. A review has at most one task, because the id derives from the review. */
export const humanReviewTasks = defineAggregate({
  category: 'humanreviewtask',
  id: idOfOrganisation,
  events: humanReviewTaskEvents,
  initialState: { status: 'absent', isNotSelected: false },
  evolve,
})

export function humanReviewTaskId(aiReviewId: string): string {
  return v5('human-review', aiReviewId.toLowerCase())
}
