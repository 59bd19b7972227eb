import { expect, it } from 'vitest'
import { heldBackReviews } from '../../../processes/ai-review/held-back.ts'
import { aiReviewPlaces } from '../../../streams/ai-review-places/aggregate.ts'
import type { AiReviewPlacesEvent } from '../../../streams/ai-review-places/events.ts'
import { endingOf, submitAnalysis } from './analyses.ts'
import { givenTimeline } from './given-timeline.ts'

const given = givenTimeline()

const submitted = async (number: number) => {
  const analyses = []
  for (let count = 1; count <= number; count += 1) analyses.push(await submitAnalysis(given.world))
  return analyses
}
const heldBack = () => heldBackReviews(given.timeline.pool, given.world.now())

async function placeEvents(): Promise<AiReviewPlacesEvent[]> {
  const { otherStore, orgId } = given.world
  const events: AiReviewPlacesEvent[] = []
  for await (const { type, data } of otherStore.readStream(aiReviewPlaces.of(orgId).stream))
    events.push({ type, data } as AiReviewPlacesEvent)
  return events
}

it('runs one review after another, in the order of their requests, without a look before a place is free', async () => {
  await given.open({ deps: given.world.rewired({ aiReviewMaxConcurrentPerOrg: 1 }) })
  const analyses = await submitted(4)
  await given.timeline.runUntilIdle()
  expect(await heldBack()).toBe('of at least one organisation: reviews wait for a place')
  await given.timeline.runFor(600)
  const endings = await Promise.all(analyses.map((analysis) => endingOf(given, analysis)))
  expect(endings.map(({ review }) => review)).toEqual(['completed', 'completed', 'completed', 'completed'])

  const events = await placeEvents()
  const counts = { taken: 0, awaited: 0, released: 0, most: 0 }
  const waiting: string[] = []
  for (const { type, data } of events) {
    if (type === 'AiReviewPlaceTaken') counts.taken += 1
    if (type === 'AiReviewPlaceReleased') counts.released += 1
    if (type === 'AiReviewPlaceAwaited') counts.awaited += 1
    counts.most = Math.max(counts.most, counts.taken - counts.released)
    if (type === 'AiReviewPlaceAwaited') waiting.push(`${data.requestedAt} ${data.aiReviewId}`)
  }
  expect(counts).toEqual({ taken: 4, awaited: 3, released: 4, most: 1 })
  const admitted = events.flatMap((event) =>
    event.type === 'AiReviewPlaceTaken' && event.data.wasWaiting ? [event.data.aiReviewId] : [],
  )
  expect(admitted).toEqual(waiting.toSorted().map((entry) => entry.split(' ')[1]))
  expect(await heldBack()).toBe(null)
})

it('fails the assessment of a review beyond the budget of the day', async () => {
  await given.open({ deps: given.world.rewired({ aiReviewDailyBudgetPerOrg: 2 }) })
  const analyses = await submitted(3)
  await given.timeline.runUntilIdle()
  expect(await heldBack()).toBe('of at least one organisation: the budget of the day is used up')
  const endings = await Promise.all(analyses.map((analysis) => endingOf(given, analysis)))
  expect(endings.filter(({ review }) => review === 'failed')).toEqual([
    {
      assessment: ['PROVIDER_UNAVAILABLE'],
      review: 'failed',
      classification: 'budget_exceeded',
      webhooks: ['PROVIDER_UNAVAILABLE'],
    },
  ])
  await given.timeline.runFor(600)
  const all = await Promise.all(analyses.map((analysis) => endingOf(given, analysis)))
  expect(all.filter(({ review }) => review === 'completed')).toHaveLength(2)
})
