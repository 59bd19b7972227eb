import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { completeClaim } from '../../../commands/ai-review/claim-slot.ts'
import { cancelReview } from '../../../commands/ai-review/cancel-review.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { aiReviewBudgets } from '../../../streams/ai-review-budget/aggregate.ts'
import { aiReviewPlaces } from '../../../streams/ai-review-places/aggregate.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { contextOf, interrupted } from '../../engine/commands/decision-world.ts'
import { budgetFact, reviewFact, slotFact } from '../../streams/ai-review-facts.ts'
import { ids } from '../../streams/facts.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { mortal } from '../users/mortal-process.ts'
import {
  recorded,
  recordedTypes,
  requestOfAnotherService,
  runReviewStep,
  seedReview,
  storedImages,
} from './review-steps.ts'

let shared: ProcessWorld
/** Each test has an organisation of its own. */
let world: ProcessWorld

beforeAll(async () => {
  shared = await openProcessWorld()
})
afterAll(() => shared.close())
beforeEach(async () => {
  await shared.reset()
  world = { ...shared, orgId: tenantOfFact(randomUUID()) }
})
afterEach(() => shared.pass(60))

const limited = (limit: number) => shared.rewired({ aiReviewMaxConcurrentPerOrg: limit })
const budgeted = (budget: number) => shared.rewired({ aiReviewDailyBudgetPerOrg: budget })
const over = (deps: ProcessDependencies, store: EventStore) => ({ ...deps, store })
const crash = async () => {
  throw new Error('crashed')
}

/** Reviews that were requested one second after another. */
async function newReviews(number: number): Promise<string[]> {
  const reviews: string[] = []
  for (let count = 1; count <= number; count += 1) {
    reviews.push(await seedReview(world, await storedImages(world)))
    shared.pass(1)
  }
  return reviews
}
const start = (review: string | undefined, deps: ProcessDependencies) =>
  runReviewStep(world, 'start', review ?? '', { deps })
const release = (review: string | undefined, deps: ProcessDependencies) =>
  runReviewStep(world, 'release', review ?? '', { deps })
const cancel = (review = '') =>
  execute(
    world.store,
    aiReviews.of(world.orgId, review),
    (state) => {
      const decision = cancelReview({ request: null, now: world.now() }, state)
      return 'refused' in decision ? [] : decision
    },
    contextOf(world),
  )
const statusOf = async (review = '') => (await world.otherStore.load(aiReviews.of(world.orgId, review))).state.status
const places = async () => (await world.otherStore.load(aiReviewPlaces.of(world.orgId))).state
const running = async () => [...(await places()).running]
const waiting = async () => (await places()).waiting.map(({ aiReviewId }) => aiReviewId)
const usedOn = async (day: string) => (await world.otherStore.load(aiReviewBudgets.of(world.orgId, day))).state.used

describe('the number of reviews at the same time', () => {
  it('is limited: the others stay pending, without a provider call', async () => {
    const deps = limited(1)
    const [first, second] = await newReviews(2)
    await start(first, deps)
    expect(await start(second, deps)).toEqual({ kind: 'done', position: expect.anything() })
    expect([await statusOf(first), await statusOf(second)]).toEqual(['in_progress', 'pending'])
    expect(await recordedTypes(world, second ?? '')).toEqual(['AiReviewRequested'])
    // A worker that comes too early only waits.
    expect(await start(second, deps)).toEqual({ kind: 'wait', until: new Date(world.now().getTime() + 60_000) })
    expect(await waiting()).toEqual([second])
  })

  it('counts each organisation for itself', async () => {
    const deps = limited(1)
    const [first] = await newReviews(1)
    await start(first, deps)
    world = { ...world, orgId: tenantOfFact(randomUUID()) }
    const [other] = await newReviews(1)
    await start(other, deps)
    expect(await statusOf(other)).toBe('in_progress')
  })

  it('is kept by two instances that start two reviews at once', async () => {
    const deps = limited(1)
    const reviews = await newReviews(2)
    await Promise.all([start(reviews[0], deps), start(reviews[1], over(deps, world.otherStore))])
    expect((await Promise.all(reviews.map(statusOf))).toSorted()).toEqual(['in_progress', 'pending'])
    expect([(await running()).length, (await waiting()).length]).toEqual([1, 1])
  })

  it('lets the review that was requested first go on when another one ends', async () => {
    const deps = limited(1)
    const [first, second, third] = await newReviews(3)
    // The steps of the later reviews ran in another order.
    for (const review of [first, third, second]) await start(review, deps)
    await cancel(first)
    await release(first, deps)
    expect([await running(), await waiting()]).toEqual([[second], [third]])
    await start(second, deps)
    await start(third, deps)
    expect([await statusOf(second), await statusOf(third)]).toEqual(['in_progress', 'pending'])
    // A repeat gives no second place away.
    expect(await release(first, deps)).toEqual({ kind: 'done', position: undefined })
  })

  it('is not used up by a review that ends while it waits', async () => {
    const deps = limited(1)
    const [first, second, third] = await newReviews(3)
    for (const review of [first, second, third]) await start(review, deps)
    await cancel(second)
    await release(second, deps)
    await cancel(first)
    await release(first, deps)
    expect([await running(), await waiting()]).toEqual([[third], []])
  })

  it('is not used up by a review that got its place after its end', async () => {
    const deps = limited(1)
    const [first, second] = await newReviews(2)
    const cancelled = interrupted(world.store, 'ai_review_places', async () => void (await cancel(first)))
    await start(first, over(deps, cancelled))
    expect(await running()).toEqual([first])
    expect(await recordedTypes(world, first ?? '')).toEqual(['AiReviewRequested', 'AiReviewCancelled'])
    // The row that follows the taken place.
    await start(first, deps)
    expect(await running()).toEqual([])
    await start(second, deps)
    expect(await statusOf(second)).toBe('in_progress')
  })

  it('is what the setting says now: a higher limit, or none, lets waiting reviews go on', async () => {
    const [first, second, third] = await newReviews(3)
    for (const review of [first, second, third]) await start(review, limited(1))
    await start(second, limited(2))
    expect(await statusOf(second)).toBe('in_progress')
    await cancel(first)
    await release(first, world.deps)
    await start(third, world.deps)
    expect(await statusOf(third)).toBe('in_progress')
  })

  it('is left alone by a review that started before', async () => {
    const [first, second] = await newReviews(2)
    await start(first, world.deps)
    const deps = limited(1)
    await start(first, deps)
    expect(await running()).toEqual([])
    await start(second, deps)
    expect(await running()).toEqual([second])
  })
})

describe('the process dies', () => {
  it('before the place is recorded: the step takes it again', async () => {
    const deps = limited(1)
    const [first] = await newReviews(1)
    const broken = interrupted(world.store, 'ai_review_places', crash)
    expect(await start(first, over(deps, broken))).toMatchObject({ error: expect.any(Error) })
    expect(await running()).toEqual([])
    await start(first, deps)
    expect(await running()).toEqual([first])
  })

  it('between the place and the start: the same review keeps its place and starts', async () => {
    const deps = limited(1)
    const [first] = await newReviews(1)
    const broken = interrupted(world.store, 'ai_review', crash)
    expect(await start(first, over(deps, broken))).toMatchObject({ error: expect.any(Error) })
    expect([await running(), await statusOf(first)]).toEqual([[first], 'pending'])
    await start(first, deps)
    expect([await running(), await statusOf(first)]).toEqual([[first], 'in_progress'])
  })

  it('between the end of a review and the release: the row of the release stays', async () => {
    const deps = limited(1)
    const [first, second] = await newReviews(2)
    for (const review of [first, second]) await start(review, deps)
    await cancel(first)
    const broken = interrupted(world.store, 'ai_review_places', crash)
    expect(await runReviewStep(world, 'release', first ?? '', { deps: over(deps, broken) })).toMatchObject({
      error: expect.any(Error),
    })
    expect(await running()).toEqual([first])
    await release(first, deps)
    expect([await running(), await waiting()]).toEqual([[second], []])
  })

  it('before a review is counted, or between the count and the start: it counts once', async () => {
    const deps = budgeted(2)
    const [first] = await newReviews(1)
    const uncounted = interrupted(world.store, 'ai_review_budget', crash)
    expect(await start(first, over(deps, uncounted))).toMatchObject({ error: expect.any(Error) })
    const today = world.now().toISOString().slice(0, 10)
    expect(await usedOn(today)).toBe(0)
    const unstarted = interrupted(world.store, 'ai_review', crash)
    expect(await start(first, over(deps, unstarted))).toMatchObject({ error: expect.any(Error) })
    expect(await usedOn(today)).toBe(1)
    await start(first, deps)
    expect([await usedOn(today), await statusOf(first)]).toEqual([1, 'in_progress'])
  })
})

describe('the process dies while it opens a review of an event', () => {
  const deps = () => budgeted(2)
  const budget = 'ai_review_budget: AiReviewCounted'

  test.each([
    ['before its count', 1, budget, 0],
    ['between its count and its first event', 2, 'ai_review: AiReviewRequested', 1],
  ] as const)('%s: `open` or the next request completes it, and it counts once', async (_, appends, append, before) => {
    const today = world.now().toISOString().slice(0, 10)
    for (const [count, next] of [opens, supersedes].entries()) {
      const caseId = randomUUID()
      const dying = mortal(deps(), appends)
      const event = await requestOfAnotherService(world, caseId)
      expect(await runReviewStep(world, 'claim-foreign', event, { deps: dying.deps })).toMatchObject({
        error: expect.any(Error),
      })
      expect(dying.killedBefore()).toBe(append)
      expect(await usedOn(today)).toBe(count + before)
      const { state } = await world.otherStore.load(aiReviewSlots.of(world.orgId, caseId, ids.product))
      const review = state.status === 'free' ? '' : state.holder.aiReviewId
      for (let twice = 0; twice < 2; twice += 1) await next(caseId, review)
      expect([await usedOn(today), await recordedTypes(world, review)]).toEqual([count + 1, ['AiReviewRequested']])
    }
  })

  async function opens(caseId: string, review: string): Promise<void> {
    const payload = { cause: { eventId: review, correlationId: ids.event }, caseId, productId: ids.product }
    await runReviewStep(world, 'open', review, { deps: deps(), todo: { payload } })
  }

  /** The part of a superseding request that comes before its own claim. */
  async function supersedes(caseId: string): Promise<void> {
    await completeClaim(deps(), { orgId: world.orgId, caseId, productId: ids.product }, contextOf(world))
  }
})

describe('the budget of a day', () => {
  it('ends a review of an event that exceeds it, without a provider call', async () => {
    const deps = budgeted(1)
    const [first, second] = await newReviews(2)
    await start(first, deps)
    await start(second, deps)
    expect((await recorded(world, second ?? '')).map(({ type }) => type)).toEqual([
      'AiReviewRequested',
      'AiReviewFailed',
    ])
    expect((await recorded(world, second ?? '')).at(-1)?.data).toMatchObject({
      classification: 'budget_exceeded',
      upstreamStatus: null,
    })
    expect((await world.provider.calls()).filter(({ call }) => call === 'case')).toHaveLength(1)
  })

  it('has room for one of two reviews that two instances count at once', async () => {
    const deps = budgeted(1)
    const reviews = await newReviews(2)
    await Promise.all([start(reviews[0], deps), start(reviews[1], over(deps, world.otherStore))])
    expect((await Promise.all(reviews.map(statusOf))).toSorted()).toEqual(['failed', 'in_progress'])
  })

  it('counts a review once, in the day of its claim, even if it starts after midnight', async () => {
    const now = world.now()
    const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1)
    shared.pass((midnight - now.getTime()) / 1000 - 1)
    const claimedOn = world.now().toISOString().slice(0, 10)
    const [review] = await newReviews(1)
    const startedOn = world.now().toISOString().slice(0, 10)
    expect(startedOn > claimedOn).toBe(true)
    const deps = budgeted(1)
    for (let call = 1; call <= 3; call += 1) await start(review, deps)
    expect([await usedOn(claimedOn), await usedOn(startedOn)]).toEqual([1, 0])
  })

  describe('gets back the count of a request', () => {
    async function counted(): Promise<{ readonly aiReviewId: string; readonly caseId: string; readonly day: string }> {
      const [aiReviewId, caseId, day] = [randomUUID(), randomUUID(), world.now().toISOString().slice(0, 10)]
      const event = budgetFact('AiReviewCounted', { aiReviewId, caseId })
      await world.store.append(aiReviewBudgets.of(world.orgId, day), 'no_stream', [event], contextOf(world))
      return { aiReviewId, caseId, day }
    }
    const look = ({ aiReviewId, caseId, day }: Awaited<ReturnType<typeof counted>>, deps = world.deps) => {
      const cause = { eventId: randomUUID(), correlationId: randomUUID() }
      const payload = { cause, aiReviewId, caseId, productId: ids.product, day }
      return runReviewStep(world, 'return-count', `${aiReviewId}/${day}`, { deps, todo: { payload } })
    }

    it('whose process died before the claim, once', async () => {
      const request = await counted()
      const broken = interrupted(world.store, 'ai_review_budget', crash)
      expect(await look(request, over(world.deps, broken))).toMatchObject({ error: expect.any(Error) })
      expect(await usedOn(request.day)).toBe(1)
      await look(request)
      await look(request)
      expect(await usedOn(request.day)).toBe(0)
    })

    it('but not of one that holds its slot, also before its first event', async () => {
      const request = await counted()
      const { aiReviewId, caseId, day } = request
      const slot = aiReviewSlots.of(world.orgId, caseId, ids.product)
      const claimedAt = world.now().toISOString()
      const claim = slotFact('AiReviewSlotClaimed', { aiReviewId, caseId, orgId: world.orgId, claimedAt })
      await world.store.append(slot, 'no_stream', [claim], contextOf(world))
      expect(await look(request)).toEqual({ kind: 'done' })
      expect(await usedOn(day)).toBe(1)
    })

    it('whose repeat counted and claimed its review after midnight', async () => {
      const request = await counted()
      const { aiReviewId, caseId, day } = request
      const slot = aiReviewSlots.of(world.orgId, caseId, ids.product)
      const claimedAt = new Date(world.now().getTime() + 86_400_000).toISOString()
      const claim = slotFact('AiReviewSlotClaimed', { aiReviewId, caseId, orgId: world.orgId, claimedAt })
      await world.store.append(slot, 'no_stream', [claim], contextOf(world))
      await look(request)
      expect(await usedOn(day)).toBe(0)
    })

    it('but not of one that was opened and has lost its slot since', async () => {
      const request = await counted()
      const { aiReviewId, caseId, day } = request
      const requestedAt = world.now().toISOString()
      const opened = reviewFact('AiReviewRequested', { aiReviewId, caseId, orgId: world.orgId, requestedAt })
      await world.store.append(aiReviews.of(world.orgId, aiReviewId), 'no_stream', [opened], contextOf(world))
      expect(await look(request)).toEqual({ kind: 'done' })
      expect(await usedOn(day)).toBe(1)
    })
  })
})

it('without limits nothing more is recorded', async () => {
  const [review] = await newReviews(1)
  await start(review, world.deps)
  await cancel(review)
  const today = world.now().toISOString().slice(0, 10)
  for (const { stream } of [aiReviewPlaces.of(world.orgId), aiReviewBudgets.of(world.orgId, today)])
    expect(await world.otherStore.readLast(stream)).toBe(undefined)
})
