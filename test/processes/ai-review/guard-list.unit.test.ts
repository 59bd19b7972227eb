import { describe, expect, it } from 'vitest'
import { aiReviewProcess } from '../../../processes/ai-review/ai-review.process.ts'
import { aiReviewBudgets } from '../../../streams/ai-review-budget/aggregate.ts'
import type { AiReviewBudgetEvent } from '../../../streams/ai-review-budget/events.ts'
import { aiReviewPlaces } from '../../../streams/ai-review-places/aggregate.ts'
import type { AiReviewPlacesEvent } from '../../../streams/ai-review-places/events.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { budgetFact, placesFact, reviewFact } from '../../streams/ai-review-facts.ts'
import { at, ids } from '../../streams/facts.ts'
import { todosAfter } from '../../support/given-process.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { rowsInMemory } from '../../support/rows-in-memory.ts'

const review = (event: AiReviewEvent): GivenEvent => ({ ...event, stream: aiReviews.of(ids.org, ids.review).stream })
const place = (event: AiReviewPlacesEvent): GivenEvent => ({ ...event, stream: aiReviewPlaces.of(ids.org).stream })
const count = (event: AiReviewBudgetEvent): GivenEvent => ({
  ...event,
  stream: aiReviewBudgets.of(ids.org, '2026-03-01').stream,
})

const requested = review(reviewFact('AiReviewRequested'))
const awaited = place(placesFact('AiReviewPlaceAwaited'))
const taken = place(placesFact('AiReviewPlaceTaken'))
const given = place(placesFact('AiReviewPlaceTaken', { wasWaiting: true, takenAt: at(10) }))
const released = place(placesFact('AiReviewPlaceReleased'))
const counted = count(budgetFact('AiReviewCounted'))
const ends = [
  review(reviewFact('AiReviewCompleted')),
  review(reviewFact('AiReviewFailed')),
  review(reviewFact('AiReviewCancelled')),
  review(reviewFact('AiReviewSuperseded')),
]

const steps = (...events: GivenEvent[]) =>
  todosAfter(aiReviewProcess, recorded(events)).map(({ step, orgId, dueAt }) => {
    expect(orgId).toBe(ids.org)
    return [step, dueAt.toISOString()]
  })

describe('a review of an organisation with a limit', () => {
  it('is parked while it waits, and due when it gets its place', () => {
    expect(steps(requested, awaited)).toEqual([['start', at(3 + 86_400)]])
    expect(steps(requested, awaited, given)).toEqual([['start', at(10)]])
    expect(steps(requested, taken)).toEqual([['start', at(3)]])
  })

  it('keeps the cause of its own row if the end of another review gives it its place', () => {
    const payloads = (...events: GivenEvent[]) =>
      todosAfter(aiReviewProcess, recorded(events)).map(({ payload }) => payload)
    expect(payloads(requested, awaited, given)).toEqual(payloads(requested, awaited))
  })

  it.each(ends)('releases its place after $type, and its place in the queue as well', (end) => {
    const due = String(
      Object.entries(end.data ?? {}).find(([name]) => /^(completed|failed|cancelled|superseded)At$/.test(name))?.[1],
    )
    expect(steps(requested, taken, end)).toEqual([['release', due]])
    expect(steps(requested, awaited, end)).toEqual([['release', due]])
    expect(steps(requested, taken, end, released)).toEqual([])
    expect(steps(requested, end)).toEqual([])
  })

  it('that got its place after its end is looked at once more, and then has no row', () => {
    const [completed = requested] = ends
    expect(steps(requested, completed, taken)).toEqual([['start', at(3)]])
    expect(steps(requested, completed, awaited)).toEqual([['start', at(3 + 86_400)]])
    expect(steps(requested, completed, taken, released)).toEqual([])
  })

  it('that ends twice releases its place once', () => {
    const [completed = requested, , , superseded = requested] = ends
    expect(steps(requested, taken, completed, superseded)).toEqual([['release', at(15)]])
    expect(steps(requested, taken, completed, released, superseded)).toEqual([])
  })
})

describe('the count of a request', () => {
  it('is looked at after five minutes, unless the review was opened or the count returned', () => {
    expect(steps(counted)).toEqual([['return-count', at(302)]])
    expect(steps(counted, requested)).toEqual([['start', at(2)]])
    expect(steps(counted, count(budgetFact('AiReviewCountReturned')))).toEqual([])
    expect(todosAfter(aiReviewProcess, recorded([counted]))[0]?.payload).toMatchObject({
      aiReviewId: ids.review,
      caseId: ids.case,
      productId: ids.product,
      day: '2026-03-01',
    })
  })

  it('that a repeat counted anew after midnight is looked at, and that of the repeat not', () => {
    const dayBefore = (event: AiReviewBudgetEvent): GivenEvent => ({
      ...event,
      stream: aiReviewBudgets.of(ids.org, '2026-02-28').stream,
    })
    const first = dayBefore(budgetFact('AiReviewCounted', { countedAt: at(-36_001) }))
    expect(steps(first, counted, requested)).toEqual([
      ['start', at(2)],
      ['return-count', at(300 - 36_001)],
    ])
    expect(steps(first, counted, requested, dayBefore(budgetFact('AiReviewCountReturned')))).toEqual([['start', at(2)]])
  })

  it('needs no look if the review was claimed before', () => {
    expect(steps(count(budgetFact('AiReviewCounted', { isClaimed: true })))).toEqual([])
  })

  it('that uses up the budget of a day is noted once for the organisation', () => {
    const last = count(budgetFact('AiReviewCounted', { budgetLeft: 0 }))
    const rows = (...events: GivenEvent[]) =>
      rowsInMemory(aiReviewProcess.list, recorded(events))['used_up_budgets'] ?? []
    expect(rows(counted)).toEqual([])
    const noted = [expect.objectContaining({ day: '2026-03-01', org_id: ids.org })]
    expect(rows(last, last)).toEqual(noted)
    expect(rows(last, count(budgetFact('AiReviewCountReturned', { returnedAt: at(86_400) })))).toEqual([])
    // The budget was raised.
    expect(rows(last, counted)).toEqual([])
  })
})
