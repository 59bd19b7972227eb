import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import type { TodoRow } from '../../../engine/processes/process.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { slotFact } from '../../streams/ai-review-facts.ts'
import { reviewPublicFact } from '../../streams/channel-facts.ts'
import { ids } from '../../streams/facts.ts'
import {
  openProcessWorld,
  startOutsideServer,
  workOff,
  type OutsideServer,
  type ProcessWorld,
} from '../../support/process-world.ts'
import { lagging } from '../../support/lagging-store.ts'
import { concludeOf, sinceSubmitted, submitted, todoOf, type Submitted } from './submitted.ts'

let world: ProcessWorld
/** The AI-review service with its next answer. Without an answer it ends the connection. */
let service: OutsideServer
let answers: { readonly status: number; readonly body?: object }[]
let asked: string[]
let deps: ProcessDependencies

beforeAll(async () => {
  world = await openProcessWorld()
  service = await startOutsideServer(({ route }) => {
    asked.push(route)
    return answers.shift() ?? 'cut'
  })
  deps = world.rewired({ aiReviewBaseUrl: service.url })
})
afterAll(async () => {
  await world.close()
  await service.close()
})
beforeEach(() => {
  asked = []
})

const expired = reviewPublicFact('ai_review.failed', {
  errorClassification: 'image_fetch_failed',
  addressesExpired: true,
})
const asking = `POST /v1/ai-reviews/${ids.review}/supersede`
const renewed = { type: 'AssessmentReviewRenewed', data: expect.objectContaining({ aiReviewId: ids.review }) }
const failedWith = (code: string, aiReviewId: string | null = ids.review) => ({
  type: 'AssessmentFailed',
  data: expect.objectContaining({ aiReviewId, code }),
})

const putOff = (reason: string) => ({ kind: 'retry', after: expect.any(Number), reason })

const work = (todo: TodoRow) => workOff(world, assessmentsProcess, todo, { deps })

it('supersedes a review whose addresses have expired, and waits for the new one', async () => {
  const assessment = await submitted(world)
  const todo = await concludeOf(world, assessment, expired)
  answers = [{ status: 202, body: { aiReviewId: ids.newReview, status: 'pending', supersededAiReviewId: ids.review } }]
  expect(await work(todo)).toEqual({ kind: 'done' })
  expect(asked).toEqual([asking])
  expect(await sinceSubmitted(world, assessment)).toEqual([renewed])
})

it.each(['idempotency-key-reused', 'ai-review-already-superseded'])(
  'repeats the call if the answer was lost, and waits after the code %s',
  async (code) => {
    const assessment = await submitted(world)
    const todo = await concludeOf(world, assessment, expired)
    answers = []
    expect(await work(todo)).toEqual(putOff('ai_review_unanswered'))
    answers = [{ status: 409, body: { code } }]
    expect(await work(todo)).toEqual({ kind: 'done' })
    expect(asked).toEqual([asking, asking])
    expect(await sinceSubmitted(world, assessment)).toEqual([renewed])
  },
)

it.each([
  [400, 'validation-failed'],
  [404, 'not-found'],
  [409, 'case-closed'],
  [422, 'unknown'],
])('fails the assessment when the service refuses with %i %s', async (status, code) => {
  const assessment = await submitted(world)
  answers = [{ status, body: { code } }]
  expect(await work(await concludeOf(world, assessment, expired))).toMatchObject({
    kind: 'done',
    position: expect.anything(),
  })
  expect(await sinceSubmitted(world, assessment)).toEqual([renewed, failedWith('IMAGE_FETCH_FAILED')])
})

it('fails the assessment when the budget of the organisation is used up', async () => {
  const assessment = await submitted(world)
  answers = [{ status: 429, body: { code: 'budget-exceeded' } }]
  expect(await work(await concludeOf(world, assessment, expired))).toMatchObject({ kind: 'done' })
  expect(asked).toEqual([asking])
  expect(await sinceSubmitted(world, assessment)).toEqual([renewed, failedWith('PROVIDER_UNAVAILABLE')])
})

it.each([403, 409, 412, 429, 500, 503])(
  'tries again after a %i, until the deadline ends the assessment',
  async (status) => {
    const assessment = await submitted(world)
    const todo = await concludeOf(world, assessment, expired)
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      answers = [{ status, body: { code: 'something' } }]
      // A step that throws would be parked for an hour after some minutes, and that is the deadline.
      expect(await work(todo)).toEqual(putOff(`ai_review_${status}`))
    }
    expect(await sinceSubmitted(world, assessment)).toEqual([renewed])
    world.pass(3600)
    await work(todoOf(world, 'expire', assessment))
    asked = []
    expect(await work(todo)).toEqual({ kind: 'done' })
    expect(asked).toEqual([])
    expect(await sinceSubmitted(world, assessment)).toEqual([renewed, failedWith('ANALYSIS_TIMEOUT', null)])
  },
)

it('repeats the call with a new token after a 403: the old token may be older than the scope', async () => {
  const assessment = await submitted(world)
  const todo = await concludeOf(world, assessment, expired)
  const own = world.rewired({ aiReviewBaseUrl: service.url, authBaseUrl: service.url })
  const token = { status: 200, body: { access_token: 'token', expires_in: 3600 } }
  answers = [
    token,
    { status: 403, body: { code: 'insufficient-scope' } },
    token,
    { status: 202, body: { aiReviewId: ids.newReview } },
  ]
  expect(await workOff(world, assessmentsProcess, todo, { deps: own })).toEqual({ kind: 'done' })
  const tokenAsked = 'POST /v1/auth/oauth/token'
  expect(asked).toEqual([tokenAsked, asking, tokenAsked, asking])
})

it('renews once: when the addresses of the new review expire too, the assessment fails', async () => {
  const assessment = await submitted(world)
  answers = [{ status: 202, body: { aiReviewId: ids.newReview } }]
  await work(await concludeOf(world, assessment, expired))
  asked = []
  const again = reviewPublicFact('ai_review.failed', { ...expired.data, aiReviewId: ids.newReview })
  await work(await concludeOf(world, assessment, again))
  expect(asked).toEqual([])
  expect(await sinceSubmitted(world, assessment)).toEqual([renewed, failedWith('IMAGE_FETCH_FAILED', ids.newReview)])
})

it.each([
  { addressesExpired: false },
  { addressesExpired: true, errorClassification: 'provider_client_error' as const },
])('renews no review that failed for another reason: %j', async (changes) => {
  const assessment = await submitted(world)
  const failure = reviewPublicFact('ai_review.failed', { ...expired.data, ...changes })
  const code = failure.data.errorClassification === 'image_fetch_failed' ? 'IMAGE_FETCH_FAILED' : 'PROVIDER_REJECTED'
  answers = [{ status: 400 }]
  await work(await concludeOf(world, assessment, failure))
  expect(asked).toEqual([])
  expect(await sinceSubmitted(world, assessment)).toEqual([failedWith(code)])
})

/** Another review takes the slot of the assessment's case. */
async function superseded({ caseId }: Submitted): Promise<void> {
  const claims = [
    slotFact('AiReviewSlotClaimed', { caseId, orgId: world.orgId, requestEventId: randomUUID() }),
    slotFact('AiReviewSlotClaimed', {
      caseId,
      orgId: world.orgId,
      aiReviewId: ids.newReview,
      requestEventId: null,
      supersedes: { aiReviewId: ids.review, reason: null },
    }),
  ]
  await world.otherStore.append(
    aiReviewSlots.of(world.orgId, caseId, ids.product),
    'no_stream',
    claims,
    contextOf(world),
  )
}

it.each([
  expired,
  reviewPublicFact('ai_review.completed'),
  reviewPublicFact('ai_review.failed'),
  reviewPublicFact('ai_review.cancelled', { reason: 'requested' }),
])('ends with the successor of a review that lost its slot, although the live read lags, case %#', async (ended) => {
  const assessment = await submitted(world)
  const todo = await concludeOf(world, assessment, ended)
  await superseded(assessment)
  const store = lagging(world.store)
  expect(await workOff(world, assessmentsProcess, todo, { deps: { ...deps, store } })).toEqual({ kind: 'done' })
  expect(asked).toEqual([])
  expect(await sinceSubmitted(world, assessment)).toEqual([])

  await work(
    await concludeOf(world, assessment, reviewPublicFact('ai_review.completed', { aiReviewId: ids.newReview })),
  )
  expect(await sinceSubmitted(world, assessment)).toEqual([
    { type: 'AssessmentCompleted', data: expect.objectContaining({ aiReviewId: ids.newReview }) },
  ])
})
