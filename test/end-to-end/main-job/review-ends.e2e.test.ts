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

/** An assessment whose review polls for a result until the test ends it. */
async function running(): Promise<Running> {
  const photo = await photograph()
  await platform.provider.result({ sha256: photo.sha256, not_ready_polls: forEver })
  const { body } = await expecting(
    202,
    api.call('/v1/clinical-api/assessments', { body: assessmentBody(patientId, [photo]) }),
  )
  const [assessmentId, caseId, imageId] = [textAt(body, 'id'), textAt(body, 'case_id'), textAt(body, 'images', 0, 'id')]
  const { id: reviewId } = await reviewOfCase(api, caseId)
  await reviewOnce(reviewId, 'awaiting_result')
  return { assessmentId, caseId, imageId, reviewId, sha256: photo.sha256 }
}

/** The provider calls about the photograph of an assessment. */
async function callsAbout({ sha256 }: Running) {
  const calls = await platform.provider.calls()
  const providerCase = calls.find((call) => call.sha256 === sha256)?.caseId
  return calls.filter((call) => call.sha256 === sha256 || (providerCase !== undefined && call.caseId === providerCase))
}

async function typesOf(stream: string): Promise<readonly string[]> {
  const url = platform.process.credentials.eventstore_url ?? ''
  return (await eventsOf(url, stream)).map(({ type }) => type)
}

/** The facts of a review of this type. */
async function factsOf(reviewId: string, type: string): Promise<readonly string[]> {
  const types = await typesOf(`ai_review-${platform.process.credentials.org_id}-${reviewId}`)
  return types.filter((one) => one === type)
}

/** The events of this type on the channel, about a review. */
async function publishedAbout(reviewId: string, type: string): Promise<number> {
  const events = await eventsOf(platform.process.credentials.eventstore_url ?? '', 'ai_review.events')
  const about = (data: unknown) => at(data, 'aiReviewId') === reviewId || at(data, 'oldAiReviewId') === reviewId
  return events.filter((event) => event.type === type && about(event.data)).length
}

function positionOf({ headers }: ApiAnswer): Position {
  const position = parsePosition(headers.get('x-commit-position') ?? '')
  if (position === undefined) throw new Error('the answer names no position')
  return position
}

function claimsOf(caseId: string): Promise<readonly string[]> {
  const { org_id: orgId, product_id: productId } = platform.process.credentials
  return typesOf(`ai_review_slot-${orgId}-${caseId}.${productId}`)
}

/** What must not happen again after the end of a review. The last test looks, when more time has passed. */
const ended: { readonly job: Running; readonly calls: number; readonly type: string; readonly review: unknown }[] = []

describe('a review that is cancelled', () => {
  test('twenty times at once is cancelled once, makes no further provider call, and its assessment fails once', async () => {
    const job = await running()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        sendUntilAnswered(() => cancel(job.reviewId, { 'idempotency-key': 'cancel-20' })),
      ),
    )
    const answer = { aiReviewId: job.reviewId, status: 'cancelled' }
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [200, answer]))
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1)
    expect(await factsOf(job.reviewId, 'AiReviewCancelled')).toHaveLength(1)
    const failed = await endOf(api, job.assessmentId)
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'CANCELLED' } })
    const seen = await reviewOnce(job.reviewId, 'cancelled')
    expect(seen).toMatchObject({ cancelReason: 'requested', error: null, supersededById: null, result: null })
    ended.push({ job, calls: (await callsAbout(job)).length, type: 'ai_review.cancelled', review: seen })
  })

  test('in the version of If-Match answers every repeat alike, and may have a successor', async () => {
    const job = await running()
    const cancelled = { 'idempotency-key': 'cancel-1', 'if-match': '*' }
    for (const send of [cancel(job.reviewId, { 'if-match': '"0"' }), supersede(job, {}, { 'if-match': '"0"' })])
      expect(codeOf(await send)).toEqual([412, 'precondition-failed'])
    const first = await expecting(200, cancel(job.reviewId, cancelled))
    const etag = first.headers.get('etag') ?? ''

    const renewed = watched.watch(await platform.connect())
    const again = await expecting(200, cancel(job.reviewId, { 'idempotency-key': '"cancel-1"' }, renewed))
    const other = await expecting(200, cancel(job.reviewId, { 'if-match': '"0"' }))
    expect([again.body, other.body]).toEqual([first.body, first.body])
    const replayed = [first, again, other].map(({ headers }) => headers.get('idempotency-replayed'))
    expect(replayed).toEqual([null, 'true', null])
    expect([again, other].map(({ headers }) => headers.get('etag'))).toEqual([etag, etag])
    for (const mount of ['/v1/ai-review', '/v1/ai-review/v1']) {
      const path = `${mount}/ai-reviews/${job.reviewId}/cancel`
      const mounted = await expecting(200, api.call(path, { body: {}, headers: { 'idempotency-key': 'cancel-1' } }))
      expect([mounted.body, mounted.headers.get('idempotency-replayed')]).toEqual([first.body, 'true'])
    }
    await expecting(200, api.call(reviewPath(job.reviewId.toUpperCase(), '/cancel'), { method: 'POST' }))
    expect(await factsOf(job.reviewId, 'AiReviewCancelled')).toHaveLength(1)
    await reviewOnce(job.reviewId, 'cancelled')
    expect((await expecting(200, api.call(reviewPath(job.reviewId)))).headers.get('etag')).toBe(etag)

    const failed = await endOf(api, job.assessmentId)
    expect(at(failed, 'error', 'code')).toBe('CANCELLED')
    expect(codeOf(await supersede(job, {}, { 'if-match': '"1"' }))).toEqual([412, 'precondition-failed'])
    const made = await expecting(202, supersede(job, {}, { 'if-match': etag }))
    const known = await expecting(200, cancel(job.reviewId, { 'idempotency-key': 'cancel-1' }))
    expect([known.body, known.headers.get('idempotency-replayed')]).toEqual([first.body, 'true'])
    expect(codeOf(await cancel(job.reviewId))).toEqual([409, 'ai-review-not-cancellable'])
    await reviewOnce(textAt(made.body, 'aiReviewId'), 'completed')
    expect(await endOf(api, job.assessmentId)).toEqual(failed)
  })
})

describe('a review that is superseded', () => {
  test('while it waits lets the assessment complete with the new one, and names it', async () => {
    const job = await running()
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
    ended.push({ job, calls: (await callsAbout(job)).length, type: 'ai_review.superseded', review: old })
    const listed = await expecting(200, api.call(`/v1/ai-reviews?caseId=${job.caseId}`))
    expect(listed.body).toMatchObject({
      data: [
        { id: newId, status: 'completed' },
        { id: job.reviewId, status: 'superseded', supersededById: newId },
      ],
    })
    expect(codeOf(await supersede(job))).toEqual([409, 'ai-review-already-superseded'])
    expect(codeOf(await cancel(job.reviewId))).toEqual([409, 'ai-review-not-cancellable'])
    const withBody = await api.call(reviewPath(job.reviewId, '/cancel'), { body: { reason: 'late' } })
    const pointer = at(withBody.body, 'errors', 0, 'pointer')
    expect([...codeOf(withBody), pointer]).toEqual([400, 'validation-failed', '/reason'])
  })

  test('twenty times at once with one key has one successor, which the key always returns', async () => {
    const job = await running()
    const body = { images: [imageOf(job)] }
    const send = () => supersede(job, body, { 'idempotency-key': 'supersede-20' })
    const answers = await Promise.all(Array.from({ length: 20 }, () => sendUntilAnswered(send)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    expect(new Set(answers.map((answer) => textAt(answer.body, 'aiReviewId'))).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1)
    const again = await expecting(202, send())
    // The answer contains the position of the successor's beginning, which is after the claim. So does a repeat.
    for (const answer of answers)
      expect(comparePositions(positionOf(again), positionOf(answer))).toBeGreaterThanOrEqual(0)
    expect(await claimsOf(job.caseId)).toEqual(['AiReviewSlotClaimed', 'AiReviewSlotClaimed'])
    expect(await factsOf(job.reviewId, 'AiReviewSuperseded')).toHaveLength(1)

    const successor = { ...job, reviewId: textAt(answers[0]?.body, 'aiReviewId') }
    // Of two requests at once, one has a successor.
    const two = await Promise.all([supersede(successor), supersede(successor)])
    expect(two.toSorted((one, other) => one.status - other.status).map(codeOf)).toEqual([
      [202, undefined],
      [409, 'ai-review-already-superseded'],
    ])
    expect(await claimsOf(job.caseId)).toHaveLength(3)
    const later = await expecting(202, send())
    expect([later.body, later.headers.get('idempotency-replayed')]).toEqual([answers[0]?.body, 'true'])
    expect(codeOf(await supersede(job, { images: [imageOf(job)] }, { 'idempotency-key': 'supersede-20' }))).toEqual([
      409,
      'idempotency-key-reused',
    ])
    expect(at(await endOf(api, job.assessmentId), 'status')).toBe('completed')
  })
})

describe('a refused request', () => {
  let job: Running
  beforeAll(async () => {
    job = await running()
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
})

test('nothing happens to a review after its end, and its assessment has one webhook', async () => {
  expect(ended.map(({ type }) => type)).toEqual(['ai_review.cancelled', 'ai_review.superseded'])
  // A whole run of another assessment gives enough time for a wrong extra effect.
  const id = await requestAssessment(api, assessmentBody(patientId, [await photograph()]))
  expect(at(await endOf(api, id), 'status')).toBe('completed')
  await webhookAbout(receiver, id)
  for (const { job, calls, type, review: before } of ended) {
    // A poll that was under way at the end may still have got its answer.
    expect((await callsAbout(job)).length).toBeLessThanOrEqual(calls + 1)
    expect(await review(job.reviewId)).toEqual(before)
    expect(webhooksAbout(receiver, job.assessmentId)).toHaveLength(1)
    expect(await publishedAbout(job.reviewId, type)).toBe(1)
  }
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
