import { hash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { withdrawConsent } from '../../../commands/ai-review/withdraw-consent.ts'
import { execute } from '../../../engine/commands/execute.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { appendLimitBytes } from '../../../engine/store/appending.ts'
import { openBytes } from '../../../platform/kit/sealed-bytes.ts'
import type { StoredObject } from '../../../engine/aggregates/types.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { ids } from '../../streams/facts.ts'
import { openProcessWorld, startOutsideServer, type ProcessWorld } from '../../support/process-world.ts'
import { awaitingReview, recorded, recordedTypes, runReviewStep, type Running } from './review-steps.ts'

let world: ProcessWorld

beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())
beforeEach(() => world.reset())

const poll = (aiReviewId: string, running?: Running) => runReviewStep(world, 'poll', aiReviewId, running)
const last = async (aiReviewId: string) => (await recorded(world, aiReviewId)).at(-1)
const later = (seconds: number) => new Date(world.now().getTime() + seconds * 1000).toISOString()
const polls = async () => (await world.provider.calls()).filter(({ call }) => call === 'result').length

/** The content of the object that an event refers to, decrypted with the key of the review's patient. */
async function openedText({ key }: StoredObject): Promise<string> {
  const patientKey = await world.vault.subjectKeyForReading(world.orgId, ids.patient)
  if (patientKey === 'destroyed') throw new Error('the patient was erased')
  return openBytes(patientKey, key, await world.deps.objects.get(key)).toString('utf8')
}

const opened = async (object: StoredObject): Promise<unknown> => JSON.parse(await openedText(object))

it('waits for the instant of the schedule', async () => {
  const review = await awaitingReview(world)
  world.pass(4)
  expect(await poll(review)).toEqual({ kind: 'wait', until: new Date(later(1)) })
  expect(await polls()).toBe(0)
})

it('records the result, and stores the whole answer under the key of the patient', async () => {
  const review = await awaitingReview(world)
  world.pass(5)
  expect(await poll(review)).toMatchObject({ kind: 'done', position: expect.anything() })
  const event = await last(review)
  if (event?.type !== 'AiReviewCompleted') throw new Error(`the review did not complete: ${event?.type}`)
  expect(event.data).toMatchObject({
    attemptCount: 1,
    aiProvider: 'simulator',
    analysisResult: 'SUCCESSFUL_PROCESSING',
  })
  const raw = await openedText(event.data.rawResponse)
  expect(JSON.parse(raw)).toMatchObject({ status: 'STATUS_PROCESSED', regulatory: expect.anything() })
  expect(event.data.rawResponse.contentSha256).toBe(hash('sha256', raw))
  expect(event.data.answered).toMatchObject({ status: 200, durationMs: expect.any(Number) })
  expect(await poll(review)).toEqual({ kind: 'done' })
  expect(await polls()).toBe(1)
})

it('asks for no result once the erasure of the patient has begun', async () => {
  const patientId = randomUUID()
  world.services.patientId = patientId
  const review = await awaitingReview(world, world.deps, { patientId })
  world.pass(5)
  world.vault.closeSubject(world.orgId, patientId)
  await poll(review)
  expect(await last(review)).toMatchObject({ type: 'AiReviewCancelled', data: { reason: 'subject_erased' } })
  expect(await polls()).toBe(0)
})

it('keeps nothing of a result that arrives after its review was cancelled', async () => {
  const review = await awaitingReview(world)
  world.pass(5)
  const target = aiReviews.of(world.orgId, review)
  const stored: string[] = []
  const put: ProcessDependencies['objects']['put'] = async (...parameters) => {
    const object = await world.deps.objects.put(...parameters)
    stored.push(object.key)
    await execute(world.store, target, (state) => withdrawConsent({ now: world.now() }, state), contextOf(world))
    return object
  }
  await poll(review, { deps: { ...world.deps, objects: { ...world.deps.objects, put } } })
  expect((await recordedTypes(world, review)).slice(-2)).toEqual(['AiReviewCallAttempted', 'AiReviewCancelled'])
  expect(stored).toHaveLength(1)
  await expect(world.deps.objects.get(stored[0] ?? '')).rejects.toMatchObject({ name: 'NoSuchKey' })
})

it.each([
  ['many lesions', Array.from({ length: 4000 }, () => ({}))],
  ['long texts', Array.from({ length: 150 }, () => ({ interpretationGuidance: 'x'.repeat(12_000) }))],
])('ends a review whose result has too %s to be recorded, and keeps the answer', async (_, lesions) => {
  const review = await awaitingReview(world)
  await world.provider.result({ sha256: '*', lesions })
  world.pass(5)
  await poll(review)
  const event = await last(review)
  if (event?.type !== 'AiReviewFailed' || event.data.rawResponse === null)
    throw new Error('the review did not fail with its answer')
  expect(event.data).toMatchObject({ classification: 'provider_processing_failed', attemptCount: 1 })
  expect(await opened(event.data.rawResponse)).toMatchObject({ lesionCount: lesions.length })
})

it('records no result whose public event would be larger than an append may be', async () => {
  // It is published with the result, and no end of a review contains it.
  const correlationId = '€'.repeat(255)
  // The simulator chooses what is left out.
  const sameForAll = {
    coordinates: { x1: 0.1, y1: 0.1, x2: 0.2, y2: 0.2 },
    classification: 'NEV',
    category: 'Benign',
    priority: 4,
    suspectedDiagnosis: 'Naevus',
    suspectedDiagnosisIcd10Code: null,
    suspectedDiagnosisIcd10Term: null,
    suspectedDiagnosisSnomedCode: null,
    suspectedDiagnosisSnomedTerm: null,
    referralFlag: null,
    referralRecommendation: null,
    referralRecommendationGuidance: null,
  }
  const polled = async (characters: number): Promise<AiReviewEvent> => {
    const review = await awaitingReview(world, world.deps, { correlationId })
    const lesions = Array.from({ length: 101 }, (_, place) => ({
      ...sameForAll,
      interpretationGuidance: 'x'.repeat(Math.min(10_000, Math.max(0, characters - place * 10_000))),
    }))
    await world.provider.result({ sha256: '*', lesions })
    world.pass(5)
    await poll(review)
    const event = await last(review)
    if (event === undefined) throw new Error('a review has no event')
    return event
  }
  const emptyBytes = Buffer.byteLength(JSON.stringify((await polled(0)).data))
  const types: string[] = []
  for (const below of [0, 200, 600, 1_200, 9_000]) {
    const { type, data } = await polled(appendLimitBytes - emptyBytes - below)
    types.push(type)
    if (type !== 'AiReviewCompleted') continue
    const { aiReviewId, aiProvider, analysisResult, imageQuality, lesions, reportDate, providerVersion } = data
    const review = { aiReviewId, caseId: ids.case, productId: ids.product, orgId: world.orgId, correlationId }
    const result = { aiProvider, analysisResult, imageQuality, lesions, reportDate }
    const published = { ...review, ...result, assessedByProviderVersion: providerVersion }
    expect(Buffer.byteLength(JSON.stringify(published))).toBeLessThan(appendLimitBytes - 1_000)
  }
  expect(types.slice(1)).toEqual(['AiReviewFailed', 'AiReviewFailed', 'AiReviewFailed', 'AiReviewCompleted'])
})

it('ends a review that the provider could not process, and keeps the verdict, the provider version, the image quality and the answer', async () => {
  const review = await awaitingReview(world)
  await world.provider.result({
    sha256: '*',
    analysis_result: 'PROCESSING_FAILED',
    image_quality: 'IMAGE_QUALITY_UNSUITABLE',
  })
  world.pass(5)
  await poll(review)
  const imageQuality = [{ imageId: ids.image, quality: 'IMAGE_QUALITY_UNSUITABLE' }]
  const providerOutcome = { analysisResult: 'PROCESSING_FAILED', providerVersion: '5.4.1-simulator', imageQuality }
  expect(await last(review)).toMatchObject({
    type: 'AiReviewFailed',
    data: {
      classification: 'provider_processing_failed',
      providerOutcome,
      rawResponse: expect.objectContaining({ bytes: expect.any(Number) }),
    },
  })
})

describe('a poll', () => {
  it('without a result counts, whether the provider is not ready, too busy, or failing', async () => {
    const review = await awaitingReview(world)
    await world.provider.result({ sha256: '*', not_ready_polls: 1 })
    await world.provider.fault({ call: 'result', status: 500 }, { call: 'result', status: 429 })
    world.pass(5)
    for (const [attemptCount, upstreamStatus, delay] of [
      [1, 500, 5],
      [2, 429, 15],
      [3, null, 30],
    ] as const) {
      await poll(review)
      expect(await last(review)).toMatchObject({
        type: 'AiReviewPollDeferred',
        data: { attemptCount, upstreamStatus, nextPollAt: later(delay) },
      })
      world.pass(delay)
    }
    await poll(review)
    expect(await last(review)).toMatchObject({ type: 'AiReviewCompleted', data: { attemptCount: 4 } })
  })

  it.each([
    [429, '90', 90],
    [503, '90', 90],
    [429, '2', 5],
    [429, 'soon', 5],
  ])(
    'is repeated after the delay of a %i with Retry-After %s, and never before the schedule',
    async (status, retryAfter, seconds) => {
      const review = await awaitingReview(world)
      world.pass(5)
      const server = await startOutsideServer(({ route }) =>
        route === 'POST /api5/login'
          ? { status: 200, headers: { authorization: 'session' } }
          : { status, headers: { 'retry-after': retryAfter } },
      )
      await poll(review, { deps: world.rewired({ providerBaseUrl: server.url }) })
      await server.close()
      const data = { attemptCount: 1, upstreamStatus: status, nextPollAt: later(seconds) }
      expect(await last(review)).toMatchObject({ type: 'AiReviewPollDeferred', data })
    },
  )

  it('without a result ends the review at the deadline, at the time of the last poll', async () => {
    const review = await awaitingReview(world)
    await world.provider.result({ sha256: '*', not_ready_polls: 100 })
    world.pass(590)
    await poll(review)
    world.pass(5)
    await poll(review)
    expect(await last(review)).toMatchObject({
      type: 'AiReviewPollDeferred',
      data: { attemptCount: 2, nextPollAt: later(5) },
    })
    world.pass(5)
    await poll(review)
    expect(await last(review)).toMatchObject({
      type: 'AiReviewFailed',
      data: { classification: 'provider_result_timeout', attemptCount: 3 },
    })
  })

  it('that became due during an outage is made once after the deadline, and records the result', async () => {
    const review = await awaitingReview(world)
    world.pass(3600)
    await poll(review)
    expect(await last(review)).toMatchObject({ type: 'AiReviewCompleted', data: { attemptCount: 1 } })
  })

  it('that the provider refuses ends the review', async () => {
    const review = await awaitingReview(world)
    await world.provider.fault({ call: 'result', status: 404 })
    world.pass(5)
    await poll(review)
    expect(await last(review)).toMatchObject({
      type: 'AiReviewFailed',
      data: { classification: 'provider_client_error', upstreamStatus: 404, rawResponse: null },
    })
  })
})

it('uses no try while the circuit is open, nor when a stop cuts it off', async () => {
  const review = await awaitingReview(world)
  world.pass(5)
  const before = await recordedTypes(world, review)
  expect(await poll(review, { deps: await world.withOpenCircuit('providerBaseUrl') })).toMatchObject({
    kind: 'retry',
    reason: 'circuit_open',
  })
  expect(await recordedTypes(world, review)).toEqual(before)

  const controller = new AbortController()
  const server = await startOutsideServer(({ route }) => {
    if (route === 'POST /api5/login') return { status: 200, headers: { authorization: 'session' } }
    controller.abort()
    return new Promise<never>(() => undefined)
  })
  const stopped = await poll(review, {
    deps: world.rewired({ providerBaseUrl: server.url }),
    signal: controller.signal,
  })
  await server.close()
  expect(stopped).toEqual({ error: controller.signal.reason })
  expect(await recordedTypes(world, review)).toEqual([...before, 'AiReviewCallAttempted'])
})
