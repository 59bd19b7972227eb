import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { interrupted } from '../../engine/commands/decision-world.ts'
import { reviewFact as fact } from '../../streams/ai-review-facts.ts'
import { openProcessWorld, startOutsideServer, type ProcessWorld, type Reply } from '../../support/process-world.ts'
import {
  awaitingReview,
  recorded,
  recordedTypes,
  runReviewStep,
  seedReview,
  imagesAt,
  storedImages,
  type Running,
} from './review-steps.ts'

let world: ProcessWorld

beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())
beforeEach(() => world.reset())

const start = (aiReviewId: string, running?: Running) => runReviewStep(world, 'start', aiReviewId, running)
const last = async (aiReviewId: string) => (await recorded(world, aiReviewId)).at(-1)
const later = (seconds: number) => new Date(world.now().getTime() + seconds * 1000).toISOString()
const story = async () => (await world.provider.caseCalls()).map(({ call }) => call)

/** A review with a case at the provider and an image at this address. */
async function reviewOfImageAt(presignedUrl: string): Promise<string> {
  return seedReview(world, imagesAt(presignedUrl), fact('AiReviewStarted'), fact('AiReviewProviderCaseCreated'))
}

/** Signed two hours ago for one hour. */
async function expiredAddress(): Promise<string> {
  const { s3Endpoint = '', s3AccessKeyId = '', s3SecretAccessKey = '', s3Region } = world.configuration
  const account = { accessKeyId: s3AccessKeyId, secretAccessKey: s3SecretAccessKey }
  const now = () => new Date(Date.now() - 7_200_000)
  const objects = connectObjectStore({ endpoint: s3Endpoint, region: s3Region, bucket: 'assessments', ...account, now })
  const { key } = await world.deps.objects.put('images/expired', Buffer.from('bytes'), 'image/jpeg')
  const { url } = await objects.presignRead(key, 3600)
  objects.close()
  return url
}

describe('an image whose address', () => {
  it.each<[string, () => Promise<string>, number | null]>([
    ['has expired', expiredAddress, 403],
    ['names a metadata service', async () => 'http://169.254.169.254/latest/meta-data', null],
    ['carries a password', async () => 'http://user:password@127.0.0.1:1/image', null],
    ['is no web address', async () => 'file:///etc/passwd', null],
  ])('%s fails the review without a call to the provider', async (_, addressOf, upstreamStatus) => {
    const review = await reviewOfImageAt(await addressOf())
    expect(await start(review)).toMatchObject({ kind: 'done', position: expect.anything() })
    const data = { classification: 'image_fetch_failed', upstreamStatus, attemptCount: 0, rawResponse: null }
    expect(await last(review)).toMatchObject({ type: 'AiReviewFailed', data })
    expect(await recordedTypes(world, review)).not.toContain('AiReviewCallAttempted')
    expect(await story()).toEqual([])
  })

  it.each<[string, Reply | 'cut', string, number | null]>([
    ['a 403', { status: 403 }, 'image_fetch_failed', 403],
    ['a 404', { status: 404 }, 'image_fetch_failed', 404],
    ['a redirect', { status: 302, headers: { location: 'http://169.254.169.254/' } }, 'image_fetch_failed', 302],
    ['a 429', { status: 429 }, 'image_host_unavailable', 429],
    ['a 503', { status: 503 }, 'image_host_unavailable', 503],
    ['a broken connection', 'cut', 'image_host_unavailable', null],
  ])('answers with %s fails the review or is tried again', async (_, answer, classification, upstreamStatus) => {
    const server = await startOutsideServer(() => answer)
    const review = await reviewOfImageAt(`${server.url}/image`)
    await start(review, { deps: world.rewired({ s3Endpoint: server.url }) })
    await server.close()
    expect(server.asked).toEqual(['GET /image'])
    const type = classification === 'image_fetch_failed' ? 'AiReviewFailed' : 'AiReviewStartDeferred'
    expect(await last(review)).toMatchObject({ type, data: { classification, upstreamStatus } })
    expect(await story()).toEqual([])
  })
})

describe('a circuit that opens after an attempt was recorded', () => {
  /** A provider that is unreachable. Its circuit opens just before the step's first append. */
  function losingProvider(): ProcessDependencies {
    const deps = world.rewired({ providerBaseUrl: 'http://127.0.0.1:1' })
    const signal = new AbortController().signal
    const open = async () => {
      while (deps.provider.openForMs() === 0) await deps.provider.createCase(signal)
    }
    return { ...deps, store: interrupted(world.store, 'ai_review', open) }
  }

  it.each([
    ['case', [], ['case']],
    ['image', ['case'], ['case', 'image']],
    ['process', ['case', 'image'], ['case', 'image', 'process']],
  ] as const)('postpones `%s` without a try, and keeps the provider case', async (call, before, afterwards) => {
    const review = await seedReview(world, await storedImages(world), fact('AiReviewStarted'))
    for (const _ of before) await start(review)
    const deps = losingProvider()
    expect(await start(review, { deps })).toMatchObject({ kind: 'done', position: expect.anything() })
    expect(await last(review)).toMatchObject({
      type: 'AiReviewCallPostponed',
      data: { call, postponedAt: later(0), retryAt: later(5) },
    })
    const recordedBefore = await recordedTypes(world, review)
    expect(await start(review, { deps })).toEqual({ kind: 'retry', after: 5_000, reason: 'circuit_open' })
    expect(await recordedTypes(world, review)).toEqual(recordedBefore)
    expect(await story()).toEqual(before)

    world.pass(5)
    await start(review)
    expect(await story()).toEqual(afterwards)
    expect(recordedBefore).not.toContain('AiReviewStartDeferred')
  })

  it('postpones a poll without counting it', async () => {
    const review = await awaitingReview(world)
    world.pass(5)
    await runReviewStep(world, 'poll', review, { deps: losingProvider() })
    expect(await last(review)).toMatchObject({
      type: 'AiReviewCallPostponed',
      data: { call: 'result', retryAt: later(5) },
    })
    world.pass(5)
    await runReviewStep(world, 'poll', review)
    expect(await last(review)).toMatchObject({ type: 'AiReviewCompleted', data: { attemptCount: 1 } })
  })
})
