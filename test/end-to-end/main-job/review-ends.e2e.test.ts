import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { sendUntilAnswered, type ApiAnswer, type ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { comparePositions, parsePosition, type Position } from '../../../platform/kit/positions.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  requestAssessment,
  reviewOfCase,
  subscribeToEnds,
  webhookAbout,
  webhooksAbout,
} from '../../support/main-job.ts'
import { clientOf, waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { eventsOf } from '../bad-days/recorded-events.ts'
import { startImageHost, type ImageHost } from './image-host.ts'

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let receiver: WebhookReceiver
let host: ImageHost
let patientId: string
const forEver = 1_000_000
/** Duration of a call. Long enough for a slow machine to observe it and to act meanwhile. */
const underWayMs = 4_000
const unknownId = '0190b0a0-0000-7000-8000-000000000001'

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  patientId = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
  receiver = await startWebhookReceiver()
  await subscribeToEnds(api, receiver)
  host = await startImageHost((await photograph()).bytes)
})
beforeEach(() => platform.provider.reset())
afterAll(async () => {
  await platform.stop()
  await Promise.all([receiver.close(), host.close()])
})

interface Running {
  readonly assessmentId: string
  readonly caseId: string
  readonly reviewId: string
  readonly imageId: string
  readonly sha256: string
}

const reviewPath = (id: string, action = '') => `/v1/ai-reviews/${id}${action}`
const cancel = (id: string, headers: Readonly<Record<string, string>> = {}, client = api) =>
  client.call(reviewPath(id, '/cancel'), { method: 'POST', headers })
const review = async (id: string) => (await expecting(200, api.call(reviewPath(id)))).body

/** The review after it has the status in the read models. */
const reviewOnce = (id: string, status: string) =>
  waitFor(`review ${id} to be ${status}`, async () => {
    const { body } = await api.call(reviewPath(id))
    return at(body, 'status') === status ? body : undefined
  })
const codeOf = ({ status, body }: ApiAnswer): readonly unknown[] => [status, at(body, 'code')]

function imageOf({ imageId }: Pick<Running, 'imageId'>, changes: Readonly<Record<string, unknown>> = {}) {
  const presignedUrlExpiresAt = new Date(Date.now() + 60_000).toISOString()
  return { imageId, imageType: 'DERMOSCOPIC', presignedUrl: host.address(), presignedUrlExpiresAt, ...changes }
}

function supersede(
  running: Running,
  changes: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
  client = api,
) {
  const body = { reason: 'new photographs', images: [imageOf(running)], ...changes }
  return client.call(reviewPath(running.reviewId, '/supersede'), { body, headers })
}

/** An assessment whose review has this status, with its next call under way. The provider delays this call. */
async function running(status: 'pending' | 'in_progress' | 'awaiting_result' | 'completed'): Promise<Running> {
  const photo = await photograph()
  if (status === 'pending') await platform.provider.fault({ call: 'case', delay_ms: underWayMs })
  if (status === 'in_progress') await platform.provider.fault({ call: 'image', delay_ms: underWayMs })
  if (status === 'awaiting_result') await platform.provider.result({ sha256: photo.sha256, not_ready_polls: forEver })
  const { body } = await expecting(
    202,
    api.call('/v1/clinical-api/assessments', { body: assessmentBody(patientId, [photo]) }),
  )
  const [assessmentId, caseId, imageId] = [textAt(body, 'id'), textAt(body, 'case_id'), textAt(body, 'images', 0, 'id')]
  const found = await waitFor(`a review that is ${status}`, async () => {
    const seen = await reviewOfCase(api, caseId)
    return at(seen, 'status') === status ? seen : undefined
  })
  const reviewId = textAt(found, 'id')
  const attempts = { pending: 1, in_progress: 2, awaiting_result: 3, completed: 3 }[status]
  await waitFor(`provider call ${attempts}`, async () => {
    const { types } = await factsAbout(reviewId)
    return types.filter((type) => type === 'AiReviewCallAttempted').length >= attempts ? true : undefined
  })
  return { assessmentId, caseId, imageId, reviewId, sha256: photo.sha256 }
}

/** The provider calls about the photograph of an assessment. */
async function callsAbout({ sha256 }: Running) {
  const calls = await platform.provider.calls()
  const providerCase = calls.find((call) => call.sha256 === sha256)?.caseId
  return calls.filter((call) => call.sha256 === sha256 || (providerCase !== undefined && call.caseId === providerCase))
}

/** Runs another assessment from request to webhook. This gives enough time for a wrong extra effect. */
async function whileAnotherRuns(): Promise<void> {
  const id = await requestAssessment(api, assessmentBody(patientId, [await photograph()]))
  expect(at(await endOf(api, id), 'status')).toBe('completed')
  await webhookAbout(receiver, id)
}

async function factsAbout(reviewId: string) {
  const url = platform.process.credentials.eventstore_url ?? ''
  const facts = await eventsOf(url, `ai_review-${platform.process.credentials.org_id}-${reviewId}`)
  const channel = (await eventsOf(url, 'ai_review.events')).filter(
    ({ data }) => at(data, 'aiReviewId') === reviewId || at(data, 'oldAiReviewId') === reviewId,
  )
  return { types: facts.map(({ type }) => type), published: channel.map(({ type }) => type) }
}

function positionOf({ headers }: ApiAnswer): Position {
  const position = parsePosition(headers.get('x-commit-position') ?? '')
  if (position === undefined) throw new Error('the answer names no position')
  return position
}

async function claimsOf(caseId: string) {
  const { org_id: orgId, product_id: productId, eventstore_url: url } = platform.process.credentials
  return (await eventsOf(url ?? '', `ai_review_slot-${orgId}-${caseId}.${productId}`)).map(({ type }) => type)
}

describe('a review that is cancelled', () => {
  test.each(['pending', 'in_progress', 'awaiting_result'] as const)(
    'while %s makes no further provider call, and its assessment fails once',
    async (status) => {
      const job = await running(status)
      const answer = await expecting(200, cancel(job.reviewId))
      expect(answer.body).toEqual({ aiReviewId: job.reviewId, status: 'cancelled' })
      const ended = await endOf(api, job.assessmentId)
      expect(ended).toMatchObject({ status: 'failed', error: { code: 'CANCELLED' } })
      const seen = await reviewOnce(job.reviewId, 'cancelled')
      expect(seen).toMatchObject({ cancelReason: 'requested', error: null, supersededById: null, result: null })

      // The call under way at the cancellation still gets its answer. No call follows.
      const underWay = { pending: 'case', in_progress: 'image', awaiting_result: 'process' }[status]
      await waitFor(`the answer to ${underWay}`, async () =>
        (await platform.provider.calls()).find(({ call }) => call === underWay),
      )
      const before = (await callsAbout(job)).map(({ call }) => call)
      await whileAnotherRuns()
      const calls = (await callsAbout(job)).map(({ call }) => call)
      const allowed = { pending: [], in_progress: ['case', 'image'], awaiting_result: [...before, 'result'] }[status]
      expect(calls).toEqual(allowed.slice(0, calls.length))
      expect(webhooksAbout(receiver, job.assessmentId)).toHaveLength(1)
      expect((await factsAbout(job.reviewId)).published.filter((type) => type === 'ai_review.cancelled')).toHaveLength(
        1,
      )
      expect(await review(job.reviewId)).toEqual(seen)
    },
  )

  test('is cancelled once for repeated requests, under any token and mount', async () => {
    const job = await running('awaiting_result')
    const first = await expecting(200, cancel(job.reviewId, { 'idempotency-key': 'cancel-1' }))
    const renewed = watched.watch(await platform.connect())
    const service = watched.watch(await platform.connect(clientOf(platform.process, 0)))
    const again = await expecting(200, cancel(job.reviewId, { 'idempotency-key': '"cancel-1"' }, renewed))
    const other = await expecting(200, cancel(job.reviewId, {}, service))
    expect([again.body, other.body]).toEqual([first.body, first.body])
    expect([first, again, other].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([
      null,
      'true',
      null,
    ])
    expect(new Set([first, again, other].map(({ headers }) => headers.get('etag'))).size).toBe(1)
    for (const mount of ['/v1/ai-review', '/v1/ai-review/v1']) {
      const mounted = await expecting(
        200,
        api.call(`${mount}/ai-reviews/${job.reviewId}/cancel`, {
          body: {},
          headers: { 'idempotency-key': 'cancel-1' },
        }),
      )
      expect([mounted.body, mounted.headers.get('idempotency-replayed')]).toEqual([first.body, 'true'])
    }
    await expecting(200, api.call(reviewPath(job.reviewId.toUpperCase(), '/cancel'), { method: 'POST' }))
    expect((await factsAbout(job.reviewId)).types.filter((type) => type === 'AiReviewCancelled')).toHaveLength(1)
  })

  test('two hundred times at once is cancelled once', async () => {
    const job = await running('awaiting_result')
    const answers = await Promise.all(
      Array.from({ length: 200 }, () =>
        sendUntilAnswered(() => cancel(job.reviewId, { 'idempotency-key': 'cancel-200' })),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1)
    expect((await factsAbout(job.reviewId)).types.filter((type) => type === 'AiReviewCancelled')).toHaveLength(1)
    await endOf(api, job.assessmentId)
    await whileAnotherRuns()
    expect(webhooksAbout(receiver, job.assessmentId)).toHaveLength(1)
  })

  test('after its end is refused, and accepts no body', async () => {
    const completed = await running('completed')
    expect(codeOf(await cancel(completed.reviewId))).toEqual([409, 'ai-review-not-cancellable'])
    expect(at(await endOf(api, completed.assessmentId), 'status')).toBe('completed')
    await platform.provider.fault({ call: 'case', status: 400 })
    const failed = await endOf(api, await requestAssessment(api, assessmentBody(patientId, [await photograph()])))
    const failedReview = textAt(await reviewOfCase(api, textAt(failed, 'case_id')), 'id')
    expect(codeOf(await cancel(failedReview))).toEqual([409, 'ai-review-not-cancellable'])
    const refused = await api.call(reviewPath(failedReview, '/cancel'), { body: { reason: 'late' } })
    expect([...codeOf(refused), at(refused.body, 'errors', 0, 'pointer')]).toEqual([
      400,
      'validation-failed',
      '/reason',
    ])
  })
})

describe('a review that is superseded', () => {
  test('while it waits lets the assessment complete with the new one, and names it', async () => {
    const job = await running('awaiting_result')
    const made = await expecting(202, supersede(job))
    const newId = textAt(made.body, 'aiReviewId')
    expect(made.body).toEqual({ aiReviewId: newId, status: 'pending', supersededAiReviewId: job.reviewId })
    expect(made.headers.get('location')).toBe(reviewPath(newId))
    const old = await reviewOnce(job.reviewId, 'superseded')
    expect(old).toMatchObject({ supersededById: newId, supersededAt: expect.any(String) })

    expect(await endOf(api, job.assessmentId)).toMatchObject({ status: 'completed', error: null })
    expect(await reviewOnce(newId, 'completed')).toMatchObject({
      caseId: job.caseId,
      supersededById: null,
      images: [{ clinicalImageId: job.imageId }],
    })
    const last = (await callsAbout(job)).length
    await whileAnotherRuns()
    expect((await callsAbout(job)).length).toBeLessThanOrEqual(last + 1)
    expect(await review(job.reviewId)).toEqual(old)
    expect(webhooksAbout(receiver, job.assessmentId)).toHaveLength(1)
    expect((await factsAbout(job.reviewId)).published.filter((type) => type === 'ai_review.superseded')).toHaveLength(1)

    const listed = await expecting(200, api.call(`/v1/ai-reviews?caseId=${job.caseId}`))
    expect(listed.body).toMatchObject({
      data: [
        { id: newId, status: 'completed' },
        { id: job.reviewId, status: 'superseded', supersededById: newId },
      ],
    })
    expect(codeOf(await supersede(job))).toEqual([409, 'ai-review-already-superseded'])
    expect(codeOf(await cancel(job.reviewId))).toEqual([409, 'ai-review-not-cancellable'])
  })

  test('after it completed leaves the assessment completed, also with the same addresses', async () => {
    const job = await running('completed')
    const before = await endOf(api, job.assessmentId)
    const address = textAt(before, 'images', 0, 'download_url')
    const made = await expecting(202, supersede(job, { images: [imageOf(job, { presignedUrl: address })] }))
    const newId = textAt(made.body, 'aiReviewId')
    await reviewOnce(newId, 'completed')
    await whileAnotherRuns()
    const { body } = await expecting(200, api.call(`/v1/clinical-api/assessments/${job.assessmentId}`))
    expect(body).toMatchObject({ status: 'completed', result: at(before, 'result') })
    expect(webhooksAbout(receiver, job.assessmentId)).toHaveLength(1)
    expect(await review(job.reviewId)).toMatchObject({
      status: 'superseded',
      supersededById: newId,
      result: expect.anything(),
    })
  })

  test('after it was cancelled has a successor, and a repeated cancel keeps its answer', async () => {
    const job = await running('awaiting_result')
    const cancelled = await expecting(200, cancel(job.reviewId, { 'idempotency-key': 'cancel-then' }))
    const ended = await endOf(api, job.assessmentId)
    expect(at(ended, 'error', 'code')).toBe('CANCELLED')
    const successor = textAt((await expecting(202, supersede(job))).body, 'aiReviewId')
    const again = await expecting(200, cancel(job.reviewId, { 'idempotency-key': 'cancel-then' }))
    expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([cancelled.body, 'true'])
    expect(codeOf(await cancel(job.reviewId))).toEqual([409, 'ai-review-not-cancellable'])
    await reviewOnce(successor, 'completed')
    expect(await endOf(api, job.assessmentId)).toEqual(ended)
  })

  test('two hundred times at once with one key has one successor, which the key always returns', async () => {
    const job = await running('awaiting_result')
    const body = { images: [imageOf(job)] }
    const send = () => supersede(job, body, { 'idempotency-key': 'supersede-200' })
    const answers = await Promise.all(Array.from({ length: 200 }, () => sendUntilAnswered(send)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    expect(new Set(answers.map((answer) => textAt(answer.body, 'aiReviewId'))).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1)
    const again = await expecting(202, send())
    // The answer contains the position of the successor's beginning, which is after the claim. So does a repeat.
    for (const answer of answers)
      expect(comparePositions(positionOf(again), positionOf(answer))).toBeGreaterThanOrEqual(0)
    expect(await claimsOf(job.caseId)).toEqual(['AiReviewSlotClaimed', 'AiReviewSlotClaimed'])
    expect((await factsAbout(job.reviewId)).types.filter((type) => type === 'AiReviewSuperseded')).toHaveLength(1)

    const successor = { ...job, reviewId: textAt(answers[0]?.body, 'aiReviewId') }
    await expecting(202, supersede(successor))
    const later = await expecting(202, send())
    expect([later.body, later.headers.get('idempotency-replayed')]).toEqual([answers[0]?.body, 'true'])
    expect(codeOf(await supersede(job, { images: [imageOf(job)] }, { 'idempotency-key': 'supersede-200' }))).toEqual([
      409,
      'idempotency-key-reused',
    ])
  })

  test('by two requests at once has one successor, and the other request is refused', async () => {
    const job = await running('awaiting_result')
    const answers = await Promise.all([supersede(job), supersede(job)])
    expect(answers.toSorted((one, other) => one.status - other.status).map(codeOf)).toEqual([
      [202, undefined],
      [409, 'ai-review-already-superseded'],
    ])
    expect(await claimsOf(job.caseId)).toEqual(['AiReviewSlotClaimed', 'AiReviewSlotClaimed'])
    expect(at(await endOf(api, job.assessmentId), 'status')).toBe('completed')
  })

  test('by a review whose image cannot be read fails the assessment, without a renewal', async () => {
    const job = await running('awaiting_result')
    const made = await expecting(202, supersede(job, { images: [imageOf(job, { presignedUrl: host.missing })] }))
    expect(await endOf(api, job.assessmentId)).toMatchObject({
      status: 'failed',
      error: { code: 'IMAGE_FETCH_FAILED' },
    })
    expect(await reviewOnce(textAt(made.body, 'aiReviewId'), 'failed')).toMatchObject({
      errorClassification: 'image_fetch_failed',
      supersededById: null,
    })
    expect(await claimsOf(job.caseId)).toHaveLength(2)
  })
})

describe('a refused request', () => {
  let job: Running
  beforeAll(async () => {
    job = await running('awaiting_result')
  })

  const past = new Date(Date.now() - 1000).toISOString()
  test.each<readonly [string, Readonly<Record<string, unknown>>, string]>([
    ['an expired address', { presignedUrlExpiresAt: past }, '/images/1/presignedUrlExpiresAt'],
    ['an address of a metadata service', { presignedUrl: 'http://169.254.169.254/latest' }, '/images/1/presignedUrl'],
    ['an address with credentials', { presignedUrl: 'http://user:word@127.0.0.1/photo' }, '/images/1/presignedUrl'],
    ['an address of another scheme', { presignedUrl: 'file:///etc/passwd' }, '/images/1/presignedUrl'],
    ['no address', { presignedUrl: 'photo-1' }, '/images/1/presignedUrl'],
    ['an image named twice', { imageId: unknownId.toUpperCase() }, '/images/1/imageId'],
    ['another image type', { imageType: 'OTHER' }, '/images/1/imageType'],
    ['a member nobody knows', { width: 1 }, '/images/1/width'],
  ])('%s is named by its pointer, and nothing happens', async (_what, changes, pointer) => {
    const images = [imageOf({ imageId: unknownId }), { ...imageOf(job), ...changes }]
    const answer = await supersede(job, { images })
    expect([...codeOf(answer), at(answer.body, 'errors', 0, 'pointer'), at(answer.body, 'errors', 1)]).toEqual([
      400,
      'validation-failed',
      pointer,
      undefined,
    ])
    expect(JSON.stringify(answer.body)).not.toContain('169.254')
    expect(await claimsOf(job.caseId)).toHaveLength(1)
  })

  test.each([
    ['no images', { images: [] }],
    ['images left out', { images: undefined }],
    ['a long reason', { reason: 'x'.repeat(501) }],
  ])('so are %s', async (_what, changes) => {
    expect(codeOf(await supersede(job, changes))).toEqual([400, 'validation-failed'])
  })

  test('a review of another organisation gives the same answer as an unknown one', async () => {
    const stranger = watched.watch(await platform.connect(clientOf(platform.process, 1)))
    const withoutIds = ({ status, body }: ApiAnswer) => [status, { ...Object(body), instance: '', request_id: '' }]
    for (const send of [
      (id: string) => cancel(id, {}, stranger),
      (id: string) => supersede({ ...job, reviewId: id }, {}, {}, stranger),
    ]) {
      const foreign = withoutIds(await send(job.reviewId))
      expect(foreign).toEqual(withoutIds(await send(unknownId)))
      expect(foreign[0]).toBe(404)
    }
  })

  test('a token of a platform client needs the organisation and the scope', async () => {
    const service = watched.watch(await platform.connect(clientOf(platform.process, 2)))
    const orgId = platform.process.credentials.org_id
    expect(codeOf(await supersede(job, {}, {}, service))).toEqual([400, 'org-required'])
    expect(
      codeOf(await service.call(`${reviewPath(job.reviewId, '/cancel')}?org_id=${orgId}`, { method: 'POST' })),
    ).toEqual([403, 'insufficient-scope'])
    const path = `/v1/ai-review/v1/ai-reviews/${job.reviewId}/supersede?orgId=${orgId}`
    const made = await expecting(202, service.call(path, { body: { images: [imageOf(job)] } }))
    job = { ...job, reviewId: textAt(made.body, 'aiReviewId') }
    expect(made.headers.get('location')).toBe(reviewPath(job.reviewId))
  })

  test('a review is cancelled or superseded only in the version of If-Match', async () => {
    const held = await running('awaiting_result')
    for (const send of [cancel(held.reviewId, { 'if-match': '"0"' }), supersede(held, {}, { 'if-match': '"0"' })]) {
      expect(codeOf(await send)).toEqual([412, 'precondition-failed'])
    }
    const cancelled = await expecting(200, cancel(held.reviewId, { 'if-match': '*' }))
    const etag = cancelled.headers.get('etag') ?? ''
    await reviewOnce(held.reviewId, 'cancelled')
    expect((await expecting(200, api.call(reviewPath(held.reviewId)))).headers.get('etag')).toBe(etag)
    await expecting(200, cancel(held.reviewId, { 'if-match': '"0"' }))
    expect(codeOf(await supersede(held, {}, { 'if-match': '"1"' }))).toEqual([412, 'precondition-failed'])
    await expecting(202, supersede(held, {}, { 'if-match': etag }))
  })
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toEqual(
    expect.arrayContaining([
      'cancelAiReview 409',
      'cancelAiReview 412',
      'supersedeAiReview 409',
      'supersedeAiReview 412',
    ]),
  )
  expect(await watched.undocumented()).toEqual([])
})
