import type { TenantId } from '../../platform/kit/tenants.ts'
import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { aiReviewPlacesEvents, type AiReviewPlacesEvent, type WaitingReview } from './events.ts'

export interface AiReviewPlacesState {
  /** Reviews that hold a place. */
  readonly running: ReadonlySet<string>
  /** The review that was requested first is the first. */
  readonly waiting: readonly WaitingReview[]
  /** Events since the last one with the whole state. */
  readonly sinceListed: number
}

function evolve(state: AiReviewPlacesState, event: AiReviewPlacesEvent): AiReviewPlacesState {
  const sinceListed = state.sinceListed + 1
  switch (event.type) {
    case 'AiReviewPlaceTaken': {
      const { aiReviewId } = event.data
      const waiting = without(state.waiting, aiReviewId)
      return { running: new Set(state.running).add(aiReviewId), waiting, sinceListed }
    }
    case 'AiReviewPlaceAwaited': {
      const { aiReviewId, requestedAt } = event.data
      const later = state.waiting.findIndex((other) => isBefore({ aiReviewId, requestedAt }, other))
      const place = later === -1 ? state.waiting.length : later
      return { ...state, waiting: state.waiting.toSpliced(place, 0, { aiReviewId, requestedAt }), sinceListed }
    }
    case 'AiReviewPlaceReleased': {
      const { aiReviewId } = event.data
      const running = new Set(state.running)
      running.delete(aiReviewId)
      return { running, waiting: without(state.waiting, aiReviewId), sinceListed }
    }
    case 'AiReviewPlacesListed':
      return { running: new Set(event.data.running), waiting: event.data.waiting, sinceListed: 0 }
  }
}

function without(waiting: readonly WaitingReview[], aiReviewId: string): readonly WaitingReview[] {
  const place = waiting.findIndex((other) => other.aiReviewId === aiReviewId)
  return place === -1 ? waiting : waiting.toSpliced(place, 1)
}

/** Text comparison is enough: all instants are UTC with milliseconds. */
function isBefore(review: WaitingReview, other: WaitingReview): boolean {
  if (review.requestedAt !== other.requestedAt) return review.requestedAt < other.requestedAt
  return review.aiReviewId < other.aiReviewId
}

/**
 * Which reviews of an organisation may run. The stream grows as long as the organisation exists, so an event with the
 * whole state bounds each load.
 */
export const aiReviewPlaces = defineAggregate({
  category: 'ai_review_places',
  id: (orgId: TenantId) => idOfOrganisation(orgId, 'all'),
  events: aiReviewPlacesEvents,
  wholeState: 'AiReviewPlacesListed',
  initialState: { running: new Set<string>(), waiting: [], sinceListed: 0 },
  evolve,
})
