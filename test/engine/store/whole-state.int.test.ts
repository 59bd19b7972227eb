import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { aiReviewPlaces } from '../../../streams/ai-review-places/aggregate.ts'
import type { AiReviewPlacesEvent } from '../../../streams/ai-review-places/events.ts'
import { StreamTruncatedError } from '../../../engine/store/errors.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../commands/decision-world.ts'
import { placesFact } from '../../streams/ai-review-facts.ts'
import { at, ids } from '../../streams/facts.ts'

let world: DecisionWorld

beforeAll(async () => {
  world = await openDecisionWorld()
})
afterAll(() => world.close())

const taken = placesFact('AiReviewPlaceTaken')
const other = placesFact('AiReviewPlaceAwaited', { aiReviewId: ids.event, requestedAt: at(1) })
const listed = placesFact('AiReviewPlacesListed')

async function streamWith(...events: AiReviewPlacesEvent[]) {
  const target = aiReviewPlaces.of(tenantOfFact(randomUUID()))
  await world.store.append(target, 'no_stream', events, contextOf(world))
  return target
}

it.each([
  ['without an event of the whole state', [taken, other]],
  ['with one in its middle', [taken, listed, other]],
  ['with one at its end', [taken, other, listed]],
  ['with several', [listed, taken, listed, other]],
])('the first load of a stream %s is the fold of all events', async (_, events) => {
  const target = await streamWith(...events)
  const loaded = await world.otherStore.load(target)
  expect(loaded.state).toEqual(events.reduce(aiReviewPlaces.evolve, aiReviewPlaces.initialState))
  expect(loaded.revision).toBe(BigInt(events.length - 1))
  // The next load reads only what came since.
  await world.store.append(target, loaded.revision, [taken], contextOf(world))
  expect((await world.otherStore.load(target)).revision).toBe(BigInt(events.length))
})

it('an empty stream has the initial state', async () => {
  const loaded = await world.otherStore.load(aiReviewPlaces.of(tenantOfFact(randomUUID())))
  expect(loaded).toEqual({ state: aiReviewPlaces.initialState, revision: 'no_stream', position: undefined })
})

it('needs no events before the whole state, but misses any event after it', async () => {
  const whole = await streamWith(taken, listed, other)
  await world.store.writeMetadata(whole.stream, { $tb: 1 })
  expect((await world.otherStore.load(whole)).revision).toBe(2n)
  const partial = await streamWith(taken, other)
  await world.store.writeMetadata(partial.stream, { $tb: 1 })
  await expect(world.otherStore.load(partial)).rejects.toThrow(StreamTruncatedError)
})
