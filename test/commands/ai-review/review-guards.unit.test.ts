import { describe, expect, it } from 'vitest'
import { countReview, returnCount } from '../../../commands/ai-review/count-review.ts'
import { releasePlace, takePlace } from '../../../commands/ai-review/review-places.ts'
import { aiReviewBudgets, budgetDay } from '../../../streams/ai-review-budget/aggregate.ts'
import { aiReviewPlaces, type AiReviewPlacesState } from '../../../streams/ai-review-places/aggregate.ts'
import type { AiReviewPlacesEvent } from '../../../streams/ai-review-places/events.ts'
import { budgetFact, placesFact } from '../../streams/ai-review-facts.ts'
import { at, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const now = new Date(at(9))
const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

describe('the budget of a day', () => {
  const command = { aiReviewId: ids.review, caseId: ids.case, productId: ids.product, isClaimed: false, budget: 2, now }
  const counted = (number: number) => budgetFact('AiReviewCounted', { aiReviewId: idOf(number) })
  const own = budgetFact('AiReviewCounted', { budgetLeft: 1, countedAt: at(9) })
  const returned = budgetFact('AiReviewCountReturned', { returnedAt: at(9) })

  it('counts each review once, however often it is counted', () => {
    given(aiReviewBudgets).when(countReview, command).thenEvents([own])
    given(aiReviewBudgets, counted(1))
      .when(countReview, { ...command, isClaimed: true })
      .thenEvents([budgetFact('AiReviewCounted', { isClaimed: true, budgetLeft: 0, countedAt: at(9) })])
  })

  it('refuses another review when it is used up, but not one that counts already', () => {
    given(aiReviewBudgets, counted(1), counted(2)).when(countReview, command).thenRefused('budget-exceeded')
    given(aiReviewBudgets, counted(1), own).when(countReview, command).thenNothing()
  })

  it('refuses reviews after it was lowered below the count', () => {
    given(aiReviewBudgets, counted(1), counted(2), counted(3))
      .when(countReview, { ...command, budget: 1 })
      .thenRefused('budget-exceeded')
  })

  it('gets a returned count back, and counts the same review again', () => {
    given(aiReviewBudgets, own).when(returnCount, { aiReviewId: ids.review, now }).thenEvents([returned])
    given(aiReviewBudgets).when(returnCount, { aiReviewId: ids.review, now }).thenNothing()
    const { state } = given(aiReviewBudgets, own, returned)
    expect(state.used).toBe(0)
    given(aiReviewBudgets, own, returned).when(countReview, command).thenEvents([own])
    given(aiReviewBudgets, own, returned, own).when(countReview, command).thenNothing()
  })

  it('is that of the UTC day', () => {
    expect(budgetDay(new Date('2026-03-01T23:59:59.999Z'))).toBe('2026-03-01')
    expect(budgetDay(new Date('2026-03-02T00:30:00+01:00'))).toBe('2026-03-01')
  })
})

describe('the places of an organisation', () => {
  const asked = (number: number) => ({ aiReviewId: idOf(number), requestedAt: at(number) })
  const take = (number: number, limit: number | undefined = 1) => ({ ...asked(number), limit, now })
  const release = (number: number, limit: number | undefined = 1) => ({ aiReviewId: idOf(number), limit, now })
  const taken = (number: number, wasWaiting = false) =>
    placesFact('AiReviewPlaceTaken', { aiReviewId: idOf(number), wasWaiting, takenAt: at(9) })
  const awaited = (number: number) => placesFact('AiReviewPlaceAwaited', { ...asked(number), awaitedAt: at(9) })
  const released = (number: number) =>
    placesFact('AiReviewPlaceReleased', { aiReviewId: idOf(number), releasedAt: at(9) })

  it('are taken up to the limit; a further review waits', () => {
    given(aiReviewPlaces)
      .when(takePlace, take(1))
      .thenEvents([taken(1)])
    given(aiReviewPlaces, taken(1))
      .when(takePlace, take(2))
      .thenEvents([awaited(2)])
    given(aiReviewPlaces, taken(1))
      .when(takePlace, take(2, 2))
      .thenEvents([taken(2)])
  })

  it.each([
    ['holds a place', taken(1), 1],
    ['waits', awaited(2), 2],
  ])('goes on once if the review %s, and otherwise changes nothing', (_, event, number) => {
    const story = number === 1 ? [event, awaited(2)] : [taken(1), event]
    given(aiReviewPlaces, ...story)
      .when(releasePlace, release(number))
      .thenEvents(number === 1 ? [released(1), taken(2, true)] : [released(2)])
    given(aiReviewPlaces).when(releasePlace, release(number)).thenNothing()
  })

  it('go to the review that was requested first, in whatever order the reviews came', () => {
    const after = given(aiReviewPlaces, taken(1), awaited(4), awaited(2), awaited(3))
      .when(releasePlace, release(1))
      .thenEvents([released(1), taken(2, true)])
    expect(after.waiting.map(({ aiReviewId }) => aiReviewId)).toEqual([idOf(3), idOf(4)])
  })

  it('go to several reviews after a higher limit; a new review waits behind them', () => {
    given(aiReviewPlaces, taken(1), awaited(2), awaited(3), awaited(4))
      .when(takePlace, take(5, 3))
      .thenEvents([awaited(5), taken(2, true), taken(3, true)])
    given(aiReviewPlaces, taken(1), awaited(2))
      .when(takePlace, take(2, 2))
      .thenEvents([taken(2, true)])
  })

  it('go to all that wait when the limit was removed, some at a time', () => {
    const waiting = Array.from({ length: 150 }, (_, number) => awaited(number + 2))
    const { state } = given(aiReviewPlaces, taken(1), ...waiting)
    const decision = releasePlace({ ...release(1), limit: undefined }, state)
    const events = 'refused' in decision ? [] : decision
    expect(events.filter(({ type }) => type === 'AiReviewPlaceTaken')).toHaveLength(100)
  })

  it('are not given away after a lower limit, until fewer reviews run', () => {
    given(aiReviewPlaces, taken(1), taken(2), awaited(3))
      .when(releasePlace, release(1))
      .thenEvents([released(1)])
  })
})

describe('the stream of places', () => {
  /** Reviews take and release the only place one after another. */
  function story(reviews: number): AiReviewPlacesEvent[] {
    const events: AiReviewPlacesEvent[] = []
    let state: AiReviewPlacesState = aiReviewPlaces.initialState
    const apply = (decided: readonly AiReviewPlacesEvent[] | { readonly refused: string }) => {
      if ('refused' in decided) throw new Error(decided.refused)
      events.push(...decided)
      state = decided.reduce(aiReviewPlaces.evolve, state)
    }
    for (let number = 1; number <= reviews; number += 1) {
      apply(takePlace({ aiReviewId: idOf(number), requestedAt: at(number), limit: 2, now }, state))
      if (number > 2) apply(releasePlace({ aiReviewId: idOf(number - 2), limit: 2, now }, state))
    }
    return events
  }

  it('contains the whole state again and again, so a load reads a bounded number of events', () => {
    const events = story(400)
    const state = events.reduce(aiReviewPlaces.evolve, aiReviewPlaces.initialState)
    const last = events.findLastIndex(({ type }) => type === aiReviewPlaces.wholeState)
    expect(events.length - last).toBeLessThan(210)
    const tail = events.slice(last).reduce(aiReviewPlaces.evolve, aiReviewPlaces.initialState)
    expect(tail).toEqual(state)
    expect(tail.running.size + tail.waiting.length).toBe(2)
  })

  it('contains no list that an append cannot hold, and lists again when the queue is shorter', () => {
    const queue = Array.from({ length: 5_001 }, (_, number) => asWaiting(number + 10))
    const long = placesFact('AiReviewPlacesListed', { running: [idOf(1)], waiting: queue })
    const busy = { ...given(aiReviewPlaces, long).state, sinceListed: 6_000 }
    expect(typesOf(takePlace({ aiReviewId: idOf(2), requestedAt: at(1), limit: 1, now }, busy))).toEqual([
      'AiReviewPlaceAwaited',
    ])
    const shorter = { ...busy, waiting: queue.slice(0, 4_000) }
    expect(typesOf(takePlace({ aiReviewId: idOf(2), requestedAt: at(1), limit: 1, now }, shorter))).toEqual([
      'AiReviewPlaceAwaited',
      'AiReviewPlacesListed',
    ])
  })

  const asWaiting = (number: number) => ({ aiReviewId: idOf(number), requestedAt: at(number) })
  const typesOf = (decision: ReturnType<typeof takePlace>) =>
    'refused' in decision ? [] : decision.map(({ type }) => type)
})
