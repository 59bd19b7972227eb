import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { reviewFact as fact } from '../../streams/ai-review-facts.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { awaitingReview, recorded, recordedTypes, runReviewStep, seedReview, storedImages } from './review-steps.ts'

let world: ProcessWorld

beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())
beforeEach(() => world.reset())

const last = async (aiReviewId: string) => (await recorded(world, aiReviewId)).at(-1)

/** Runs the step of a withdrawal twice, as after a crash. */
async function withdraw(aiReviewId: string): Promise<void> {
  const dueAt = world.now()
  const payload = { cause: { eventId: randomUUID(), correlationId: randomUUID() } }
  await runReviewStep(world, 'withdraw', aiReviewId, { todo: { dueAt, payload } })
  world.pass(1)
  await runReviewStep(world, 'withdraw', aiReviewId, { todo: { dueAt, payload } })
}

it('does not end a review if a later decision overrides the withdrawal', async () => {
  const review = await seedReview(world, await storedImages(world))
  const checkedAt = world.now().toISOString()
  await runReviewStep(world, 'withdraw', review)
  const events = await recorded(world, review)
  expect(events.map(({ type }) => type)).toEqual(['AiReviewRequested', 'AiReviewConsentConfirmed'])
  expect(events.at(-1)).toMatchObject({ data: { checkedAt } })
  await runReviewStep(world, 'start', review)
  expect((await last(review))?.type).toBe('AiReviewProviderCaseCreated')
})

it('does not end such a review while it awaits its result', async () => {
  const review = await awaitingReview(world)
  await withdraw(review)
  expect((await last(review))?.type).toBe('AiReviewConsentConfirmed')
  world.pass(5)
  await runReviewStep(world, 'poll', review)
  expect((await last(review))?.type).toBe('AiReviewCompleted')
})

it.each(['withdrawn', 'denied', null] as const)(
  'fails a review once that is starting, with consent %s',
  async (consent) => {
    const review = await seedReview(world, await storedImages(world), fact('AiReviewStarted'))
    world.services.consent = consent
    await withdraw(review)
    expect(await recordedTypes(world, review)).toEqual(['AiReviewRequested', 'AiReviewStarted', 'AiReviewFailed'])
    expect(await last(review)).toMatchObject({ data: { classification: 'consent_missing' } })
    expect(await world.provider.calls()).toEqual([])
  },
)

it.each(['withdrawn', 'denied', null] as const)(
  'cancels a review once that awaits its result, with consent %s',
  async (consent) => {
    const review = await awaitingReview(world)
    world.services.consent = consent
    await withdraw(review)
    expect((await recordedTypes(world, review)).slice(-2)).toEqual(['AiReviewProcessingAccepted', 'AiReviewCancelled'])
    expect(await last(review)).toMatchObject({ data: { reason: 'consent_withdrawn' } })
    expect(await runReviewStep(world, 'poll', review)).toEqual({ kind: 'done' })
  },
)

it('ends all reviews of a patient after one decision, each by an event with its own id', async () => {
  const reviews = [
    await seedReview(world, await storedImages(world)),
    await seedReview(world, await storedImages(world)),
    await awaitingReview(world),
  ]
  world.services.consent = 'withdrawn'
  const todo = { dueAt: world.now(), payload: { cause: { eventId: randomUUID(), correlationId: randomUUID() } } }
  for (const review of reviews) await runReviewStep(world, 'withdraw', review, { todo })
  const ends = await Promise.all(
    reviews.map((review) => world.otherStore.readLast(aiReviews.of(world.orgId, review).stream)),
  )
  expect(ends.map((end) => end?.type)).toEqual(['AiReviewFailed', 'AiReviewFailed', 'AiReviewCancelled'])
  expect(new Set(ends.map((end) => end?.id)).size).toBe(reviews.length)
})

it('ends no review because its worker stops', async () => {
  const review = await awaitingReview(world)
  const controller = new AbortController()
  world.services.before = () => {
    controller.abort()
    return new Promise<never>(() => undefined)
  }
  expect(await runReviewStep(world, 'withdraw', review, { signal: controller.signal })).toEqual({
    error: controller.signal.reason,
  })
  expect((await last(review))?.type).toBe('AiReviewProcessingAccepted')
})

it('decides nothing while the circuit of the consent service is open', async () => {
  const review = await awaitingReview(world)
  const deps = await world.withOpenCircuit('consentBaseUrl')
  expect(await runReviewStep(world, 'withdraw', review, { deps })).toMatchObject({
    kind: 'retry',
    reason: 'circuit_open',
  })
  expect((await last(review))?.type).toBe('AiReviewProcessingAccepted')
})
