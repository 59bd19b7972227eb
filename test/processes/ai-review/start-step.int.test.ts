import { hash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { reviewFact as fact } from '../../streams/ai-review-facts.ts'
import { ids } from '../../streams/facts.ts'
import { openProcessWorld, startOutsideServer, type ProcessWorld } from '../../support/process-world.ts'
import {
  recorded,
  recordedTypes,
  runReviewStep,
  seedReview,
  imagesAt,
  storedImages,
  type Running,
} from './review-steps.ts'
import type { TenantId } from '../../../platform/kit/tenants.ts'

let world: ProcessWorld

beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())
beforeEach(() => world.reset())

const newReview = async () => seedReview(world, await storedImages(world))
const start = (aiReviewId: string, running?: Running) => runReviewStep(world, 'start', aiReviewId, running)
const last = async (aiReviewId: string) => (await recorded(world, aiReviewId)).at(-1)
const later = (seconds: number) => new Date(world.now().getTime() + seconds * 1000).toISOString()
const unanswered = () => new Promise<never>(() => undefined)

it('makes one provider call per run, each after a consent check of its own', async () => {
  const review = await newReview()
  const deps = world.rewired({})
  for (const story of [['case'], ['case', 'image'], ['case', 'image', 'process']]) {
    expect(await start(review, { deps })).toEqual({
      kind: 'done',
      position: expect.anything(),
      continues: story.length < 3,
    })
    expect((await world.provider.calls()).map(({ call }) => call)).toEqual(['login', ...story])
  }
  const events = await recorded(world, review)
  const attempts = events.flatMap((event) => (event.type === 'AiReviewCallAttempted' ? [event.data] : []))
  expect(
    attempts.map(({ call, consentCheckedAt, consentDecisionId }) => [call, consentCheckedAt, consentDecisionId]),
  ).toEqual([
    ['case', later(0), ids.consent],
    ['image', later(0), ids.consent],
    ['process', later(0), ids.consent],
  ])
  expect(events.at(-1)).toMatchObject({
    type: 'AiReviewProcessingAccepted',
    data: { nextPollAt: later(5), deadlineAt: later(600) },
  })
  expect(await start(review)).toEqual({ kind: 'done' })
})

it('records what was sent, and how each call was answered', async () => {
  const image = Buffer.from(`bytes ${randomUUID()}`)
  const server = await startOutsideServer(() => ({ status: 200, text: image.toString() }))
  const review = await seedReview(world, imagesAt(`${server.url}/image`))
  for (let call = 1; call <= 3; call += 1) await start(review, { deps: world.rewired({}) })
  await server.close()
  const events = await recorded(world, review)
  const sent = events.find(({ type }) => type === 'AiReviewImageSent')
  expect(sent?.data).toMatchObject({ sent: { sha256: hash('sha256', image), bytes: image.length } })
  const attempts = events.flatMap((event) => (event.type === 'AiReviewCallAttempted' ? [event.data.attemptId] : []))
  const answered = events.flatMap(({ data }) => ('answered' in data ? [data.answered] : []))
  const durationMs = expect.any(Number)
  expect(answered).toEqual(attempts.map((attemptId) => ({ attemptId, status: 200, durationMs })))
})

it('records the start before it checks consent if the review did not know its patient', async () => {
  const review = await newReview()
  world.services.patientId = randomUUID()
  world.services.consent = 'withdrawn'
  let before: string[] = []
  world.services.before = async (route) => {
    if (route.includes('/v1/consent-records')) before = await recordedTypes(world, review)
  }
  await start(review)
  expect(before).toEqual(['AiReviewRequested', 'AiReviewStarted'])
  expect(await recordedTypes(world, review)).toEqual([...before, 'AiReviewFailed'])
})

it('cancels the review without a call once the erasure of its patient has begun, also if it did not know its patient', async () => {
  const patientId = randomUUID()
  world.services.patientId = patientId
  const review = await newReview()
  world.vault.closeSubject(world.orgId, patientId)
  await start(review)
  expect(await last(review)).toMatchObject({ type: 'AiReviewCancelled', data: { reason: 'subject_erased' } })
  expect(await world.provider.caseCalls()).toEqual([])
})

describe('a run that may call again', () => {
  const mayCallAgain = true
  /** Lets this happen when the run checks consent before its second call. */
  function beforeSecondCheck(happen: () => Promise<unknown> | void): void {
    let checks = 0
    world.services.before = async (route) => {
      if (!route.includes('/v1/consent-records')) return
      checks += 1
      if (checks === 2) await happen()
    }
  }

  it('makes no further call once the erasure of the patient has begun', async () => {
    const patientId = randomUUID()
    world.services.patientId = patientId
    const review = await newReview()
    world.services.before = async () => {
      if ((await world.provider.caseCalls()).length > 0) world.vault.closeSubject(world.orgId, patientId)
    }
    await start(review, { mayCallAgain })
    await start(review, { mayCallAgain })
    expect((await world.provider.caseCalls()).map(({ call }) => call)).toEqual(['case'])
    expect(await last(review)).toMatchObject({ type: 'AiReviewCancelled', data: { reason: 'subject_erased' } })
  })

  it('records each outcome with the next attempt, and checks consent before it', async () => {
    const review = await newReview()
    expect(await start(review, { mayCallAgain })).toEqual({
      kind: 'done',
      position: expect.anything(),
      continues: false,
    })
    expect((await world.provider.caseCalls()).map(({ call }) => call)).toEqual(['case', 'image', 'process'])
    const appends: string[][] = []
    let before: string | undefined
    for await (const { type, metadata } of world.otherStore.readStream(aiReviews.of(world.orgId, review).stream)) {
      if (metadata.commandId === before) appends.at(-1)?.push(type)
      else appends.push([type])
      before = metadata.commandId
    }
    expect(appends).toEqual([
      ['AiReviewRequested'],
      ['AiReviewStarted', 'AiReviewCallAttempted'],
      ['AiReviewProviderCaseCreated', 'AiReviewCallAttempted'],
      ['AiReviewImageSent', 'AiReviewCallAttempted'],
      ['AiReviewProcessingAccepted'],
    ])
    const events = await recorded(world, review)
    const attempts = events.flatMap((event) => (event.type === 'AiReviewCallAttempted' ? [event.data] : []))
    expect(attempts.map(({ call, consentDecisionId }) => [call, consentDecisionId])).toEqual([
      ['case', ids.consent],
      ['image', ids.consent],
      ['process', ids.consent],
    ])
    const answered = events.flatMap(({ data }) => ('answered' in data ? [data.answered?.attemptId] : []))
    expect(answered).toEqual(attempts.map(({ attemptId }) => attemptId))
  })

  it.each<[string, (review: string, controller: AbortController) => Promise<unknown> | void]>([
    ['consent was withdrawn meanwhile', () => void (world.services.consent = 'withdrawn')],
    ['its checks hang', unanswered],
    ['the worker stops during its checks', (_, controller) => controller.abort()],
  ])('records the outcome alone, and makes no further call, if %s', async (_, happens) => {
    const review = await newReview()
    const controller = new AbortController()
    beforeSecondCheck(() => happens(review, controller))
    await start(review, { mayCallAgain, signal: controller.signal })
    expect((await recordedTypes(world, review)).slice(1)).toEqual([
      'AiReviewStarted',
      'AiReviewCallAttempted',
      'AiReviewProviderCaseCreated',
    ])
    expect((await world.provider.caseCalls()).map(({ call }) => call)).toEqual(['case'])
  })

  it('records nothing and calls no more if the review has ended meanwhile', async () => {
    const review = await newReview()
    const stream = aiReviews.of(world.orgId, review).stream
    const cancelled = fact('AiReviewCancelled', { aiReviewId: review })
    beforeSecondCheck(() => world.otherStore.append({ fold: aiReviews, stream }, 2n, [cancelled], contextOf(world)))
    expect(await start(review, { mayCallAgain })).toMatchObject({ kind: 'done', continues: false })
    expect((await recordedTypes(world, review)).slice(2)).toEqual(['AiReviewCallAttempted', 'AiReviewCancelled'])
    expect((await world.provider.caseCalls()).map(({ call }) => call)).toEqual(['case'])
  })
})

it('records no decision of a consent service that names it in another form', async () => {
  const server = await startOutsideServer(() => ({ status: 200, body: { status: 'granted', record: { id: 7 } } }))
  const review = await newReview()
  await start(review, { deps: world.rewired({ consentBaseUrl: server.url }) })
  await server.close()
  const attempt = (await recorded(world, review)).find(({ type }) => type === 'AiReviewCallAttempted')
  expect(attempt?.data).toMatchObject({ consentDecisionId: null, consentCheckedAt: later(0) })
})

it('logs in once more within its attempt when the first login is refused', async () => {
  const review = await newReview()
  await world.provider.fault({ call: 'login', status: 401 })
  expect(await start(review, { deps: world.rewired({}) })).toMatchObject({ kind: 'done', continues: true })
  expect(await world.provider.story()).toEqual(['login 401', 'login 200', 'case 200'])
  const types = await recordedTypes(world, review)
  expect(types.slice(-2)).toEqual(['AiReviewCallAttempted', 'AiReviewProviderCaseCreated'])
})

it('ends a review whose login is refused twice', async () => {
  const review = await newReview()
  await world.provider.fault({ call: 'login', status: 401, times: 2 })
  await start(review, { deps: world.rewired({}) })
  expect(await last(review)).toMatchObject({
    type: 'AiReviewFailed',
    data: { classification: 'provider_auth_failed', upstreamStatus: 401 },
  })
  expect(await world.provider.story()).toEqual(['login 401', 'login 401'])
})

it('makes no call if another instance was faster: the append validates the attempt', async () => {
  const review = await seedReview(world, await storedImages(world), fact('AiReviewStarted'))
  const { otherStore, orgId } = world
  const stream = aiReviews.of(orgId, review).stream
  const { revision } = await otherStore.loadCached({ fold: aiReviews, stream })
  await otherStore.append(
    { fold: aiReviews, stream },
    revision,
    [fact('AiReviewCancelled', { aiReviewId: review })],
    contextOf(world),
  )
  expect(await start(review)).toEqual({ kind: 'done' })
  expect(await recordedTypes(world, review)).toEqual(['AiReviewRequested', 'AiReviewStarted', 'AiReviewCancelled'])
  expect(await world.provider.calls()).toEqual([])
})

it('makes no call on a provider case that another instance has replaced', async () => {
  const review = await seedReview(
    world,
    await storedImages(world),
    fact('AiReviewStarted'),
    fact('AiReviewProviderCaseCreated', { providerCaseId: 700 }),
  )
  const { otherStore, orgId } = world
  const stream = aiReviews.of(orgId, review).stream
  const { revision } = await otherStore.loadCached({ fold: aiReviews, stream })
  const replacing = [
    fact('AiReviewStartDeferred', { aiReviewId: review, abandonsProviderCase: true }),
    fact('AiReviewProviderCaseCreated', { aiReviewId: review, providerCaseId: 701 }),
  ]
  await otherStore.append({ fold: aiReviews, stream }, revision, replacing, contextOf(world))
  expect(await start(review)).toEqual({ kind: 'done' })
  expect((await recordedTypes(world, review)).slice(3)).toEqual([
    'AiReviewStartDeferred',
    'AiReviewProviderCaseCreated',
  ])
  expect(await world.provider.calls()).toEqual([])
})

it('ends nothing because of an image that another instance has sent', async () => {
  const images = imagesAt(`${world.configuration.s3Endpoint}/nothing-there`)
  const review = await seedReview(
    world,
    images,
    fact('AiReviewStarted'),
    fact('AiReviewProviderCaseCreated', { providerCaseId: 700 }),
  )
  const { otherStore, orgId } = world
  const stream = aiReviews.of(orgId, review).stream
  const { revision } = await otherStore.loadCached({ fold: aiReviews, stream })
  const [image] = images.images
  await otherStore.append(
    { fold: aiReviews, stream },
    revision,
    [fact('AiReviewImageSent', { aiReviewId: review, imageId: image?.imageId ?? '' })],
    contextOf(world),
  )
  expect(await start(review)).toMatchObject({ kind: 'done' })
  expect((await recordedTypes(world, review)).slice(3)).toEqual(['AiReviewImageSent'])
})

it.each<[string, (orgId: TenantId) => string]>([
  ['another organisation', () => `images/2026-03-01/${randomUUID()}/a/b/c`],
  ['another kind', (orgId) => `raw-responses/${orgId}/a/b`],
  ['another organisation, written as one of its own', (orgId) => `images/2026-03-01/${orgId}/../${randomUUID()}/c`],
])('signs no address of an object of %s: the review fails, and nothing is read or sent', async (_, keyOf) => {
  const key = keyOf(world.orgId)
  await world.deps.objects.put(key, Buffer.from('bytes'), 'image/jpeg')
  const {
    images: [image],
  } = await storedImages(world)
  if (image === undefined) throw new Error('one image is stored')
  const review = await seedReview(
    world,
    { images: [{ ...image, objectKey: key }], addresses: null },
    fact('AiReviewStarted'),
    fact('AiReviewProviderCaseCreated', { providerCaseId: 700 }),
  )
  expect(await start(review)).toMatchObject({ kind: 'done' })
  expect(await last(review)).toMatchObject({
    type: 'AiReviewFailed',
    data: { classification: 'image_fetch_failed', upstreamStatus: null },
  })
  expect(await world.provider.calls()).toEqual([])
})

describe('an open circuit uses no try, and nothing is recorded', () => {
  const underWay = [fact('AiReviewStarted'), fact('AiReviewProviderCaseCreated')]
  it.each([
    ['providerBaseUrl', underWay],
    ['clinicalBaseUrl', []],
    ['consentBaseUrl', underWay],
    ['s3Endpoint', underWay],
  ] as const)('of %s', async (address, facts) => {
    const review = await seedReview(world, imagesAt('http://127.0.0.1:1/image'), ...facts)
    const deps = await world.withOpenCircuit(address)
    expect(await start(review, { deps })).toMatchObject({
      kind: 'retry',
      reason: 'circuit_open',
      after: expect.any(Number),
    })
    expect(await recordedTypes(world, review)).toEqual(['AiReviewRequested', ...facts.map(({ type }) => type)])
    expect(await world.provider.calls()).toEqual([])
  })
})

describe('a call that is cut off', () => {
  /** Runs the step. Its signal aborts with this reason during the `case` call. */
  async function cutOff(review: string, reason: DOMException) {
    const controller = new AbortController()
    const server = await startOutsideServer(({ route }) => {
      if (route === 'POST /api5/login') return { status: 200, headers: { authorization: 'session' } }
      controller.abort(reason)
      return unanswered()
    })
    const result = await start(review, {
      deps: world.rewired({ providerBaseUrl: server.url }),
      signal: controller.signal,
    })
    const { asked } = server
    await server.close()
    return { result, asked }
  }

  it('by a stop has no outcome: its attempt stays open for the next worker', async () => {
    const review = await newReview()
    const reason = new DOMException('stopping', 'AbortError')
    expect(await cutOff(review, reason)).toEqual({
      result: { error: reason },
      asked: ['POST /api5/login', 'POST /api5/case'],
    })
    expect(await recordedTypes(world, review)).toEqual([
      'AiReviewRequested',
      'AiReviewStarted',
      'AiReviewCallAttempted',
    ])
    expect(await start(review)).toEqual({ kind: 'wait', until: new Date(later(20)) })
  })

  it('by its time limit is a try, and abandons the case that the provider may have opened', async () => {
    const review = await newReview()
    await cutOff(review, new DOMException('too long', 'TimeoutError'))
    const data = {
      retry: 1,
      classification: 'provider_upstream_transient',
      upstreamStatus: null,
      abandonsProviderCase: true,
      retryAt: later(2),
    }
    expect(await last(review)).toMatchObject({ type: 'AiReviewStartDeferred', data })
  })

  it.each([
    ['/v1/clinical-api/cases/', []],
    ['/v1/consent-records', []],
  ])('by a stop during a call of %s records no outcome either', async (path, recordedBefore) => {
    const review = await newReview()
    const controller = new AbortController()
    world.services.before = (route) => {
      if (!route.includes(path)) return
      controller.abort()
      return unanswered()
    }
    expect(await start(review, { signal: controller.signal })).toEqual({ error: controller.signal.reason })
    expect(await recordedTypes(world, review)).toEqual(['AiReviewRequested', ...recordedBefore])
  })
})

describe('an unexpected answer', () => {
  it.each(['{"caseId":1.5}', '{"caseId":2147483648}', '{"caseId":"7"}', '{}', 'null', 'no JSON'])(
    'such as %s counts as a try, and its case is abandoned',
    async (body) => {
      const review = await newReview()
      await world.provider.fault({ call: 'case', status: 200, body })
      await start(review)
      expect(await last(review)).toMatchObject({
        type: 'AiReviewStartDeferred',
        data: { retry: 1, abandonsProviderCase: true },
      })
    },
  )

  it('ends the review when the schedule is used up', async () => {
    const review = await newReview()
    await world.provider.fault({ call: 'case', status: 200, body: '{"caseId":1.5}', times: 4 })
    for (const seconds of [2, 4, 8]) {
      await start(review)
      expect(await last(review)).toMatchObject({ type: 'AiReviewStartDeferred', data: { retryAt: later(seconds) } })
      world.pass(seconds)
    }
    await start(review)
    expect(await last(review)).toMatchObject({
      type: 'AiReviewFailed',
      data: { classification: 'provider_upstream_transient' },
    })
    expect(await start(review)).toEqual({ kind: 'done' })
  })

  it('counts as a try if the call throws: an image that cannot be opened again for a new login', async () => {
    let opened = 0
    const server = await startOutsideServer(() => ({ status: ++opened === 1 ? 200 : 403 }))
    const review = await seedReview(world, imagesAt(`${server.url}/image`))
    const deps = world.rewired({ s3Endpoint: server.url })
    await start(review, { deps })
    await world.provider.fault({ call: 'image', status: 401 })
    expect(await start(review, { deps })).toEqual({ error: expect.any(Error) })
    await server.close()
    expect(await last(review)).toMatchObject({
      type: 'AiReviewStartDeferred',
      data: { retry: 1, abandonsProviderCase: true },
    })
  })
})

describe('without an answer to its checks', () => {
  it.each([
    ['case_lookup_unavailable', { patientId: null }],
    ['consent_check_unavailable', { consent: null }],
  ] as const)('a run is postponed, and fails in the end, with %s', async (classification, answers) => {
    const review = await newReview()
    Object.assign(world.services, answers)
    for (const retry of [1, 2, 3]) {
      await start(review)
      const data = { retry, classification, upstreamStatus: null, abandonsProviderCase: false }
      expect(await last(review)).toMatchObject({ type: 'AiReviewStartDeferred', data })
    }
    await start(review)
    expect(await last(review)).toMatchObject({ type: 'AiReviewFailed', data: { classification, attemptCount: 0 } })
    expect(await world.provider.calls()).toEqual([])
  })

  it.each(['denied', 'withdrawn'] as const)(
    'but with consent %s, the review fails without a call to the provider',
    async (consent) => {
      const review = await newReview()
      world.services.consent = consent
      await start(review)
      expect(await last(review)).toMatchObject({ type: 'AiReviewFailed', data: { classification: 'consent_missing' } })
      expect(await world.provider.calls()).toEqual([])
    },
  )
})

it.each([
  [429, 'AiReviewFailed', 'provider_client_error'],
  [422, 'AiReviewFailed', 'provider_client_error'],
  [503, 'AiReviewStartDeferred', 'provider_upstream_transient'],
])('classifies a %i during the start as the specification does', async (status, type, classification) => {
  const review = await newReview()
  await world.provider.fault({ call: 'case', status })
  await start(review)
  expect(await last(review)).toMatchObject({ type, data: { classification, upstreamStatus: status } })
})
