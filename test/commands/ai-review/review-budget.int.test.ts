import { randomUUID } from 'node:crypto'
import { version } from 'uuid'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aiReviewWriteRoutes } from '../../../commands/ai-review/routes.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { aiReviewBudgets } from '../../../streams/ai-review-budget/aggregate.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { slotFact } from '../../streams/ai-review-facts.ts'
import { caseFact, ids } from '../../streams/facts.ts'
import { contextOf, interrupted, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'

let shared: DecisionWorld
/** Each test has an organisation of its own. */
let world: DecisionWorld
const apps: TestApplication[] = []

beforeAll(async () => {
  shared = await openDecisionWorld()
})
afterAll(() => shared.close())
beforeEach(() => {
  world = { ...shared, orgId: tenantOfFact(randomUUID()) }
})
afterEach(async () => {
  for (const { app } of apps.splice(0)) await app.close()
})

/** The routes of a process with this budget, maybe over another store. */
async function platform(budget: number | undefined, store: EventStore = world.store): Promise<TestApplication> {
  const configuration = { ...world.configuration, aiReviewDailyBudgetPerOrg: budget }
  const app = await startApplication({
    services: [
      {
        prefix: 'ai-review',
        documentedAt: 'bare',
        routes: (scope) => aiReviewWriteRoutes(scope, { ...world, store, configuration }),
      },
    ],
    checkReplies: true,
  })
  apps.push(app)
  return app
}

async function newCase(): Promise<string> {
  const caseId = randomUUID()
  const opened = caseFact('CaseOpened', { caseId, organisationId: world.orgId, patientId: ids.patient })
  await world.store.append(cases.of(world.orgId, caseId), 'no_stream', [opened], contextOf(world))
  return caseId
}

const inAnHour = () => new Date(world.now().getTime() + 3_600_000).toISOString()
const image = () => ({
  imageId: ids.image,
  imageType: 'DERMOSCOPIC',
  presignedUrl: 'https://images.example/one.jpg?signature=1',
  presignedUrlExpiresAt: inAnHour(),
})

async function post(t: TestApplication, url: string, payload: object, key?: string) {
  const scopes = ['ai-review:create', 'ai-review:supersede']
  const headers = {
    ...(await t.token({ orgId: world.orgId, productId: ids.product, scopes })),
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  }
  const answer = await t.app.inject({ method: 'POST', url, headers, payload })
  const body: { aiReviewId?: string; code?: string; retriable?: boolean } = answer.json()
  return { ...body, status: answer.statusCode, retryAfter: answer.headers['retry-after'] }
}
const create = (t: TestApplication, caseId: string, key?: string, changes: object = {}) =>
  post(t, '/v1/ai-reviews', { caseId, images: [image()], ...changes }, key)
const supersede = (t: TestApplication, aiReviewId: string | undefined, key?: string) =>
  post(t, `/v1/ai-reviews/${aiReviewId}/supersede`, { images: [image()] }, key)

const today = () => world.now().toISOString().slice(0, 10)
const used = async (day = today()) => (await shared.otherStore.load(aiReviewBudgets.of(world.orgId, day))).state.used
const refused = expect.objectContaining({ status: 429, code: 'budget-exceeded', retriable: true })

/** Moves the clock to so many seconds before the next midnight UTC. */
function passUntilMidnight(secondsBefore: number): void {
  const midnight = Date.parse(`${today()}T00:00:00.000Z`) + 86_400_000
  world.pass((midnight - world.now().getTime()) / 1000 - secondsBefore)
}

describe('a budget of two reviews a day', () => {
  it('refuses the third until midnight UTC, and contains what the caller can do', async () => {
    const t = await platform(2)
    passUntilMidnight(90)
    expect(await create(t, await newCase())).toMatchObject({ status: 202 })
    expect(await create(t, await newCase())).toMatchObject({ status: 202 })
    world.pass(29.5)
    expect(await create(t, await newCase())).toMatchObject({ status: 429, code: 'budget-exceeded', retryAfter: '61' })
    world.pass(60.5)
    expect(await create(t, await newCase())).toMatchObject({ status: 202 })
    expect(await used()).toBe(1)
  })

  it('does not count requests that find a review, and repeats', async () => {
    const t = await platform(2)
    const caseId = await newCase()
    const [key, other] = [randomUUID(), randomUUID()]
    const first = await create(t, caseId, key)
    expect(await create(t, caseId, key)).toMatchObject({ status: 202, aiReviewId: first.aiReviewId })
    expect(await create(t, caseId)).toMatchObject({ status: 200, aiReviewId: first.aiReviewId })
    expect(await create(t, caseId, other)).toMatchObject({ status: 200, aiReviewId: first.aiReviewId })
    expect(await used()).toBe(1)
  })

  it('counts a review that supersedes another one, by either route', async () => {
    const t = await platform(2)
    const caseId = await newCase()
    const { aiReviewId } = await create(t, caseId)
    const key = randomUUID()
    const next = await supersede(t, aiReviewId, key)
    expect(next).toMatchObject({ status: 202 })
    expect(await supersede(t, aiReviewId, key)).toMatchObject({ status: 202, aiReviewId: next.aiReviewId })
    expect(await used()).toBe(2)
    expect(await supersede(t, next.aiReviewId)).toEqual(refused)
    expect(await create(t, caseId, undefined, { supersede: true })).toEqual(refused)
    // The review in the slot stays.
    expect(await create(t, caseId)).toMatchObject({ status: 200, aiReviewId: next.aiReviewId })
  })

  it('counts no request that is refused', async () => {
    const t = await platform(2)
    expect(await create(t, randomUUID())).toMatchObject({ status: 404 })
    const { aiReviewId } = await create(t, await newCase())
    await supersede(t, aiReviewId)
    expect(await used()).toBe(2)
    expect(await supersede(t, aiReviewId)).toMatchObject({ status: 409, code: 'ai-review-already-superseded' })
    expect(await used()).toBe(2)
  })

  it('is not shared with another organisation', async () => {
    const t = await platform(1)
    await create(t, await newCase())
    expect(await create(t, await newCase())).toEqual(refused)
    world = { ...world, orgId: tenantOfFact(randomUUID()) }
    expect(await create(t, await newCase())).toMatchObject({ status: 202 })
  })

  it('keeps no refusal for a key: the same request succeeds the next day', async () => {
    const t = await platform(1)
    await create(t, await newCase())
    const [caseId, key] = [await newCase(), randomUUID()]
    expect(await create(t, caseId, key)).toEqual(refused)
    passUntilMidnight(0)
    expect(await create(t, caseId, key)).toMatchObject({ status: 202 })
  })
})

describe('requests at the same time', () => {
  it('exactly one of two gets the last unit, also in two instances', async () => {
    const [one, other] = [await platform(1), await platform(1, shared.otherStore)]
    const [first, second] = [await newCase(), await newCase()]
    const answers = await Promise.all([create(one, first), create(other, second)])
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([202, 429])
    expect(await used()).toBe(1)
  })

  it('a burst uses up the budget and not more', async () => {
    const t = await platform(5)
    const burst = await Promise.all(Array.from({ length: 30 }, newCase))
    const answers = await Promise.all(burst.map((caseId) => create(t, caseId)))
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(25)
  })

  it('a request that loses the slot after its count is answered with the review, and its count is returned', async () => {
    const caseId = await newCase()
    const other = randomUUID()
    const slot = aiReviewSlots.of(world.orgId, caseId, ids.product)
    const lost = interrupted(world.store, 'ai_review_slot', async () => {
      const claim = slotFact('AiReviewSlotClaimed', { aiReviewId: other, caseId, orgId: world.orgId })
      await shared.otherStore.append(slot, 'no_stream', [claim], contextOf(world))
    })
    expect(await create(await platform(1, lost), caseId)).toMatchObject({ status: 200, aiReviewId: other })
    expect(await used()).toBe(0)
  })

  it('a request and its repeat after midnight count their review once, in the day of its claim', async () => {
    const [caseId, key, before] = [await newCase(), randomUUID(), today()]
    passUntilMidnight(1)
    const other = await platform(1, shared.otherStore)
    const slow = interrupted(world.store, 'ai_review_slot', async () => {
      world.pass(2)
      expect(await create(other, caseId, key)).toMatchObject({ status: 202 })
    })
    expect(await create(await platform(1, slow), caseId, key)).toMatchObject({ status: 202 })
    expect([await used(before), await used()]).toEqual([0, 1])
  })

  it('a full budget refuses no request for a slot that another instance has taken', async () => {
    const [one, two] = [await platform(1), await platform(1, shared.otherStore)]
    const caseId = await newCase()
    // The second instance has read the slot while it was free.
    await shared.otherStore.load(aiReviewSlots.of(world.orgId, caseId, ids.product))
    const { aiReviewId } = await create(one, caseId)
    expect(await create(two, caseId)).toMatchObject({ status: 200, aiReviewId })
    expect(await used()).toBe(1)
  })
})

describe('a crash between the count and the claim', () => {
  const crash = async () => {
    throw new Error('crashed')
  }

  it('leaves a count that the repeat with the key uses: the review counts once', async () => {
    const [caseId, key] = [await newCase(), randomUUID()]
    const broken = await platform(1, interrupted(world.store, 'ai_review_slot', crash))
    expect(await create(broken, caseId, key)).toMatchObject({ status: 500 })
    expect(await used()).toBe(1)
    const t = await platform(1)
    expect(await create(t, caseId, key)).toMatchObject({ status: 202 })
    expect(await used()).toBe(1)
  })

  it('of a superseding request is the same', async () => {
    const t = await platform(2)
    const [{ aiReviewId }, key] = [await create(t, await newCase()), randomUUID()]
    const broken = await platform(2, interrupted(world.store, 'ai_review_slot', crash))
    expect(await supersede(broken, aiReviewId, key)).toMatchObject({ status: 500 })
    const done = await supersede(t, aiReviewId, key)
    expect([done.status, version(done.aiReviewId ?? '')]).toEqual([202, 7])
    expect(await supersede(t, aiReviewId, key)).toMatchObject({ status: 202, aiReviewId: done.aiReviewId })
    expect(await used()).toBe(2)
  })

  it('before the count leaves an id that the repeat with the key uses', async () => {
    const [caseId, key] = [await newCase(), randomUUID()]
    const broken = await platform(1, interrupted(world.store, 'ai_review_budget', crash))
    expect(await create(broken, caseId, key)).toMatchObject({ status: 500 })
    const answers = await Promise.all(
      [await platform(1), await platform(1, world.otherStore)].map((t) => create(t, caseId, key)),
    )
    expect(answers.map(({ status }) => status)).toEqual([202, 202])
    const [first, second] = answers.map(({ aiReviewId }) => aiReviewId ?? '')
    expect([second, version(first ?? '')]).toEqual([first, 7])
    expect(await used()).toBe(1)
  })

  it('before the count leaves nothing', async () => {
    const broken = await platform(1, interrupted(world.store, 'ai_review_budget', crash))
    const caseId = await newCase()
    expect(await create(broken, caseId)).toMatchObject({ status: 500 })
    expect(await used()).toBe(0)
    expect(await create(await platform(1), caseId)).toMatchObject({ status: 202 })
  })
})

it('without a budget nothing is counted', async () => {
  const t = await platform(undefined)
  const { aiReviewId } = await create(t, await newCase())
  expect(await supersede(t, aiReviewId)).toMatchObject({ status: 202 })
  expect(await shared.otherStore.readLast(aiReviewBudgets.of(world.orgId, today()).stream)).toBe(undefined)
})

it('the problem and its Retry-After are in the OpenAPI document', async () => {
  const t = await platform(1)
  const { paths } = (await t.app.inject({ url: '/openapi.json' })).json()
  for (const path of ['/v1/ai-reviews', '/v1/ai-reviews/{id}/supersede']) {
    const answer = paths[path].post.responses['429']
    expect(JSON.stringify(answer)).toContain('budget-exceeded')
    expect(Object.keys(answer.headers)).toContain('Retry-After')
  }
})
