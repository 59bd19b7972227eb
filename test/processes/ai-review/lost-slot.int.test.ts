import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cancelReview } from '../../../commands/ai-review/cancel-review.ts'
import { supersedeReview } from '../../../commands/ai-review/supersede-review.ts'
import { execute } from '../../../engine/commands/execute.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { aiReviewSlots, type SlotHolder } from '../../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { contextOf, watched } from '../../engine/commands/decision-world.ts'
import { reviewFact as fact, slotFact } from '../../streams/ai-review-facts.ts'
import { ids } from '../../streams/facts.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { awaitingReview, recorded, recordedTypes, runReviewStep, storedImages } from './review-steps.ts'

let world: ProcessWorld

beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())
beforeEach(() => world.reset())

/** A review with the slot of its own case, and with these events. */
async function holder(...facts: readonly AiReviewEvent[]): Promise<SlotHolder> {
  const own = { aiReviewId: randomUUID(), caseId: randomUUID(), orgId: world.orgId, ...(await storedImages(world)) }
  const claimedAt = world.now().toISOString()
  const claimed = slotFact('AiReviewSlotClaimed', { ...own, requestEventId: randomUUID(), claimedAt })
  await world.store.append(
    { fold: aiReviewSlots, stream: slotOf(claimed.data) },
    'no_stream',
    [claimed],
    contextOf(world),
  )
  const requested = fact('AiReviewRequested', { ...own, requestedAt: claimedAt })
  const stream = aiReviews.of(world.orgId, own.aiReviewId).stream
  await world.store.append({ fold: aiReviews, stream }, 'no_stream', [requested, ...facts], contextOf(world))
  return claimed.data
}

const slotOf = ({ caseId }: SlotHolder) => aiReviewSlots.of(world.orgId, caseId, ids.product).stream

/** Another instance gives the slot to a new review, then crashes. */
async function superseding(old: SlotHolder): Promise<SlotHolder> {
  const supersedes = { aiReviewId: old.aiReviewId, reason: 'new photographs' }
  const claimedAt = world.now().toISOString()
  const claimed = slotFact('AiReviewSlotClaimed', {
    ...old,
    aiReviewId: randomUUID(),
    requestEventId: null,
    supersedes,
    claimedAt,
  })
  await world.otherStore.append({ fold: aiReviewSlots, stream: slotOf(old) }, 0n, [claimed], contextOf(world))
  return claimed.data
}

/** The row of a slot whose appends are not complete. */
function open({ aiReviewId, caseId, claimedAt }: SlotHolder, deps: ProcessDependencies = world.deps) {
  const payload = {
    cause: { eventId: aiReviewId, correlationId: ids.event },
    caseId,
    productId: ids.product,
  }
  return runReviewStep(world, 'open', aiReviewId, { deps, todo: { dueAt: new Date(claimedAt), payload } })
}

const awaiting = () => [
  fact('AiReviewStarted'),
  fact('AiReviewProviderCaseCreated'),
  fact('AiReviewImageSent'),
  fact('AiReviewProcessingAccepted', {
    nextPollAt: world.now().toISOString(),
    deadlineAt: new Date(world.now().getTime() + 600_000).toISOString(),
  }),
]

describe('a review that lost its slot', () => {
  it.each([
    ['start', 'pending', () => [fact('AiReviewStarted')]],
    ['start', 'in progress', () => [fact('AiReviewStarted'), fact('AiReviewProviderCaseCreated')]],
    ['poll', 'awaiting its result', awaiting],
  ] as const)('makes no provider call in %s, %s, and records nothing', async (step, _status, facts) => {
    const old = await holder(...facts())
    await superseding(old)
    const before = await recordedTypes(world, old.aiReviewId)
    expect(await runReviewStep(world, step, old.aiReviewId)).toEqual({ kind: 'done' })
    expect(await recordedTypes(world, old.aiReviewId)).toEqual(before)
    expect(await world.provider.caseCalls()).toEqual([])
  })

  it.each(['start', 'poll'] as const)('makes the call of %s while it holds the slot', async (step) => {
    const old = await holder(...(step === 'poll' ? awaiting() : []))
    await runReviewStep(world, step, old.aiReviewId)
    expect((await world.provider.caseCalls()).map(({ call }) => call)).toContain(step === 'poll' ? 'result' : 'case')
  })
})

describe('a review that loses its slot during a step', () => {
  it.each([
    ['the case is looked up', '/v1/clinical-api/cases/', { consent: 'granted' }],
    ['consent is asked, and denied', '/v1/consent-records', { consent: 'denied' }],
  ] as const)('%s makes no provider call and does not end by itself', async (_when, path, answers) => {
    const old = await holder()
    Object.assign(world.services, answers)
    let hasHappened = false
    world.services.before = async (route) => {
      if (!route.includes(path) || hasHappened) return
      hasHappened = true
      await superseding(old)
    }
    expect(await runReviewStep(world, 'start', old.aiReviewId)).toEqual({ kind: 'done' })
    expect(await recordedTypes(world, old.aiReviewId)).toEqual(['AiReviewRequested'])
    expect(await world.provider.caseCalls()).toEqual([])
  })

  it('keeps no result of its poll, and does not complete', async () => {
    const old = await holder()
    for (let call = 1; call <= 3; call += 1) await runReviewStep(world, 'start', old.aiReviewId)
    world.pass(5)
    const stored: string[] = []
    const put: ProcessDependencies['objects']['put'] = async (...parameters) => {
      const object = await world.deps.objects.put(...parameters)
      stored.push(object.key)
      await superseding(old)
      return object
    }
    const deps = { ...world.deps, objects: { ...world.deps.objects, put } }
    expect(await runReviewStep(world, 'poll', old.aiReviewId, { deps })).toMatchObject({ kind: 'done' })
    expect((await recordedTypes(world, old.aiReviewId)).slice(-2)).toEqual([
      'AiReviewProcessingAccepted',
      'AiReviewCallAttempted',
    ])
    expect(stored).toHaveLength(1)
    await expect(world.deps.objects.get(stored[0] ?? '')).rejects.toMatchObject({ name: 'NoSuchKey' })
  })

  it('does not end by itself when its poll is refused, nor when its consent is withdrawn', async () => {
    const old = await holder(...awaiting())
    const provider: ProcessDependencies['provider'] = {
      ...world.deps.provider,
      result: async (...parameters) => {
        await superseding(old)
        return world.deps.provider.result(...parameters)
      },
    }
    await runReviewStep(world, 'poll', old.aiReviewId, { deps: { ...world.deps, provider } })
    expect((await recordedTypes(world, old.aiReviewId)).at(-1)).toBe('AiReviewCallAttempted')
    expect((await world.provider.caseCalls()).at(-1)).toMatchObject({ call: 'result', status: 404 })
    world.services.consent = 'withdrawn'
    expect(await runReviewStep(world, 'withdraw', old.aiReviewId)).toEqual({ kind: 'done' })
    expect((await recordedTypes(world, old.aiReviewId)).at(-1)).toBe('AiReviewCallAttempted')
  })
})

describe('after a crash between the slot and its appends', () => {
  /** The final state of both streams. */
  async function expectOpened(old: SlotHolder, made: SlotHolder): Promise<void> {
    const superseded = {
      aiReviewId: old.aiReviewId,
      supersededById: made.aiReviewId,
      reason: 'new photographs',
      supersededAt: made.claimedAt,
    }
    expect((await recorded(world, old.aiReviewId)).slice(1)).toEqual([{ type: 'AiReviewSuperseded', data: superseded }])
    const { aiReviewId, caseId, images, claimedAt } = made
    const requested = { aiReviewId, caseId, images, orgId: world.orgId, requestedAt: claimedAt }
    expect(await recorded(world, aiReviewId)).toEqual([
      { type: 'AiReviewRequested', data: expect.objectContaining(requested) },
    ])
  }

  it('`open` supersedes the old review and begins the new one, once', async () => {
    const old = await holder()
    const made = await superseding(old)
    world.pass(30)
    const opened = await open(made)
    expect(opened).toMatchObject({ kind: 'done', position: expect.anything() })
    await expectOpened(old, made)
    world.pass(30)
    // Normally the list has no row for this any more.
    expect(await open(made)).toEqual(opened)
    await expectOpened(old, made)
  })

  it('`open` completes the appends if only the first one was made', async () => {
    const old = await holder()
    const made = await superseding(old)
    const target = aiReviews.of(world.orgId, made.aiReviewId).stream
    const store = watched(world.store, (stream) => {
      if (stream === target) throw new Error('crashed')
    })
    expect(await open(made, { ...world.deps, store })).toEqual({
      error: expect.objectContaining({ message: 'crashed' }),
    })
    expect(await recordedTypes(world, old.aiReviewId)).toEqual(['AiReviewRequested', 'AiReviewSuperseded'])
    expect(await recorded(world, made.aiReviewId)).toEqual([])
    await open(made)
    await expectOpened(old, made)
  })

  it('two workers that run `open` at once append the same as one', async () => {
    const old = await holder()
    const made = await superseding(old)
    await Promise.all([open(made), open(made, { ...world.deps, store: world.otherStore })])
    await expectOpened(old, made)
  })

  it('`open` appends nothing for a review that was superseded in turn', async () => {
    const old = await holder()
    const made = await superseding(old)
    expect(await open(old)).toEqual({ kind: 'done' })
    expect(await recorded(world, made.aiReviewId)).toEqual([])
  })
})

it.each(['cancelled', 'superseded'] as const)(
  'keeps nothing of a result that comes after its review was %s',
  async (end) => {
    const review = await awaitingReview(world)
    world.pass(5)
    const target = aiReviews.of(world.orgId, review)
    const holder = slotFact('AiReviewSlotClaimed', {
      aiReviewId: randomUUID(),
      supersedes: { aiReviewId: review, reason: null },
    }).data
    const command = { holder, request: null, now: world.now() }
    const decide = end === 'cancelled' ? cancelReview : supersedeReview
    const stored: string[] = []
    const put: ProcessDependencies['objects']['put'] = async (...parameters) => {
      const object = await world.deps.objects.put(...parameters)
      stored.push(object.key)
      await execute(world.otherStore, target, (state) => decide(command, state), contextOf(world))
      return object
    }
    await runReviewStep(world, 'poll', review, { deps: { ...world.deps, objects: { ...world.deps.objects, put } } })
    const last = end === 'cancelled' ? 'AiReviewCancelled' : 'AiReviewSuperseded'
    expect((await recordedTypes(world, review)).slice(-2)).toEqual(['AiReviewCallAttempted', last])
    expect(stored).toHaveLength(1)
    await expect(world.deps.objects.get(stored[0] ?? '')).rejects.toMatchObject({ name: 'NoSuchKey' })
  },
)
