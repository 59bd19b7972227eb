import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { completeClaim } from '../../../commands/ai-review/claim-slot.ts'
import { openingOf, openSlotHolder } from '../../../commands/ai-review/open-slot-holder.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { slotFact } from '../../streams/ai-review-facts.ts'
import { ids } from '../../streams/facts.ts'
import { contextOf, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'

let world: DecisionWorld

beforeAll(async () => {
  world = await openDecisionWorld()
})
afterAll(() => world.close())

async function typesOf(aiReviewId: string): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of world.otherStore.readStream(aiReviews.of(world.orgId, aiReviewId).stream))
    types.push(type)
  return types
}

it('a claimed review without its first event gets it before another claim replaces the review', async () => {
  const [caseId, oldId, newId] = [randomUUID(), randomUUID(), randomUUID()]
  const slot = aiReviewSlots.of(world.orgId, caseId, ids.product)
  const claim = slotFact('AiReviewSlotClaimed', { aiReviewId: oldId, caseId, orgId: world.orgId })
  const { revision } = await world.store.append(slot, 'no_stream', [claim], contextOf(world))
  const place = { orgId: world.orgId, caseId, productId: ids.product }

  await completeClaim(world, place, contextOf(world))
  await completeClaim(world, place, contextOf(world))
  expect(await typesOf(oldId)).toEqual(['AiReviewRequested'])

  const supersedes = { aiReviewId: oldId, reason: null }
  const next = slotFact('AiReviewSlotClaimed', { ...claim.data, aiReviewId: newId, requestEventId: null, supersedes })
  await world.store.append(slot, revision, [next], contextOf(world))
  await openSlotHolder(world, next.data, openingOf(contextOf(world)))
  // The first request goes on, later than its successor.
  await openSlotHolder(world, claim.data, openingOf(contextOf(world)))
  expect(await typesOf(oldId)).toEqual(['AiReviewRequested', 'AiReviewSuperseded'])
  expect(await typesOf(newId)).toEqual(['AiReviewRequested'])
})

it('a free slot needs nothing', async () => {
  const place = { orgId: world.orgId, caseId: randomUUID(), productId: ids.product }
  await completeClaim(world, place, contextOf(world))
  expect((await world.store.load(aiReviewSlots.of(place.orgId, place.caseId, place.productId))).revision).toBe(
    'no_stream',
  )
})
