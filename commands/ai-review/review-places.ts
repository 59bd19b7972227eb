import { aiReviewPlaces, type AiReviewPlacesState } from '../../streams/ai-review-places/aggregate.ts'
import type { AiReviewPlacesEvent, WaitingReview } from '../../streams/ai-review-places/events.ts'
import type { Decision } from '../../engine/commands/decision.ts'

interface Places {
  /** Reviews of one organisation at the same time. Undefined: no limit. */
  readonly limit: number | undefined
  readonly now: Date
}

export interface TakePlace extends Places, WaitingReview {}

/** Gives the review a place if no earlier one waits and one is free. Otherwise the review waits. A repeat is empty. */
export function takePlace(
  { aiReviewId, requestedAt, ...places }: TakePlace,
  state: AiReviewPlacesState,
): Decision<AiReviewPlacesEvent> {
  if (isKnown(aiReviewId, state)) return withAdmissions([], places, state)
  const { limit = Infinity, now } = places
  if (state.waiting.length === 0 && state.running.size < limit)
    return listed([taken(aiReviewId, false, now)], now, state)
  const awaitedAt = now.toISOString()
  return withAdmissions([{ type: 'AiReviewPlaceAwaited', data: { aiReviewId, requestedAt, awaitedAt } }], places, state)
}

export interface ReleasePlace extends Places {
  readonly aiReviewId: string
}

/** A review that has ended gives its place to the oldest waiting one. A repeat is empty. */
export function releasePlace(
  { aiReviewId, ...places }: ReleasePlace,
  state: AiReviewPlacesState,
): Decision<AiReviewPlacesEvent> {
  if (!isKnown(aiReviewId, state)) return []
  const releasedAt = places.now.toISOString()
  return withAdmissions([{ type: 'AiReviewPlaceReleased', data: { aiReviewId, releasedAt } }], places, state)
}

function isKnown(aiReviewId: string, { running, waiting }: AiReviewPlacesState): boolean {
  return running.has(aiReviewId) || waiting.some((other) => other.aiReviewId === aiReviewId)
}

/** After a higher limit many reviews may get a place. Each of them admits more when it ends. */
const mostAdmitted = 100

function withAdmissions(
  events: readonly AiReviewPlacesEvent[],
  { limit = Infinity, now }: Places,
  before: AiReviewPlacesState,
): readonly AiReviewPlacesEvent[] {
  const { running, waiting } = events.reduce(aiReviewPlaces.evolve, before)
  const free = Math.min(Math.max(0, limit - running.size), mostAdmitted)
  const admitted = waiting.slice(0, free).map(({ aiReviewId }) => taken(aiReviewId, true, now))
  return listed([...events, ...admitted], now, before)
}

function taken(aiReviewId: string, wasWaiting: boolean, now: Date): AiReviewPlacesEvent {
  return { type: 'AiReviewPlaceTaken', data: { aiReviewId, wasWaiting, takenAt: now.toISOString() } }
}

/** Events between two with the whole state, or the number of its entries if that is greater. */
const listEvery = 200
/** An append has a limit of 1 MiB. With more entries, loads become longer until the queue is shorter. */
const mostListed = 5_000

function listed(
  events: readonly AiReviewPlacesEvent[],
  now: Date,
  before: AiReviewPlacesState,
): readonly AiReviewPlacesEvent[] {
  const { running, waiting, sinceListed } = events.reduce(aiReviewPlaces.evolve, before)
  const entries = running.size + waiting.length
  if (events.length === 0 || sinceListed < Math.max(listEvery, entries) || entries > mostListed) return events
  const data = { running: [...running], waiting: [...waiting], listedAt: now.toISOString() }
  return [...events, { type: 'AiReviewPlacesListed', data }]
}
