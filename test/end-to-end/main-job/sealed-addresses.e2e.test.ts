import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  requestAssessment,
  reviewOfCase,
} from '../../support/main-job.ts'
import { clientOf, waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { eventsOf, eventsOfAll, type RecordedFact } from '../bad-days/recorded-events.ts'
import { startImageHost, type ImageHost } from './image-host.ts'

let platform: PlatformInUse
let api: ApiClient
let stranger: ApiClient
let host: ImageHost
let patientId: string
let strangersPatientId: string
/** Its images came in the body of the request. */
let inline: Job
/** The organisations of this file's platform. A real event store contains the events of other files, too. */
let organisations: readonly string[]

beforeAll(async () => {
  platform = await joinSharedPlatform()
  const [own, other] = [clientOf(platform.process, 0), clientOf(platform.process, 1)]
  organisations = [own.org_id ?? '', other.org_id ?? '']
  api = await platform.connect(own)
  stranger = await platform.connect(other)
  patientId = await consentedPatient(api, await createConsentTerms(api, own.org_id ?? ''))
  strangersPatientId = await consentedPatient(stranger, await createConsentTerms(stranger, other.org_id ?? ''))
  host = await startImageHost((await photograph()).bytes)
  inline = await inlineJob(api, patientId)
})
afterAll(async () => {
  await platform.stop()
  await host.close()
})

interface Job {
  readonly caseId: string
  readonly imageId: string
  readonly downloadUrl: string
  readonly reviewId: string
}

async function ended(client: ApiClient, id: string): Promise<Job> {
  const record = await endOf(client, id)
  expect(at(record, 'status')).toBe('completed')
  const caseId = textAt(record, 'case_id')
  const reviewId = textAt(await reviewOfCase(client, caseId), 'id')
  return {
    caseId,
    imageId: textAt(record, 'images', 0, 'id'),
    downloadUrl: textAt(record, 'images', 0, 'download_url'),
    reviewId,
  }
}

const inlineJob = async (client: ApiClient, patient: string) =>
  ended(client, await requestAssessment(client, assessmentBody(patient, [await photograph()])))

async function slotJob(): Promise<Job> {
  const { bytes } = await photograph()
  const body = { ...assessmentBody(patientId, []), images: [{ capture_type: 'dermoscopic', mime_type: 'image/jpeg' }] }
  const { body: record } = await expecting(202, api.call('/v1/clinical-api/assessments', { body }))
  const put = { method: 'PUT', headers: { 'content-type': 'image/jpeg' }, body: bytes }
  expect((await fetch(textAt(record, 'images', 0, 'upload_url'), put)).status).toBe(200)
  await expecting(200, api.call(`/v1/clinical-api/assessments/${textAt(record, 'id')}/submit`, { method: 'POST' }))
  return ended(api, textAt(record, 'id'))
}

function supersede(
  client: ApiClient,
  { reviewId, imageId }: Job,
  image: Readonly<Record<string, unknown>>,
): Promise<ApiAnswer> {
  const presignedUrlExpiresAt = new Date(Date.now() + 600_000).toISOString()
  const images = [{ imageId, imageType: 'DERMOSCOPIC', presignedUrlExpiresAt, ...image }]
  return client.call(`/v1/ai-reviews/${reviewId}/supersede`, { body: { images } })
}

/** The successor of a review, after it has ended. */
async function successor(client: ApiClient, answer: Promise<ApiAnswer>): Promise<unknown> {
  const id = textAt((await expecting(202, answer)).body, 'aiReviewId')
  return waitFor(`the end of review ${id}`, async () => {
    const { body } = await client.call(`/v1/ai-reviews/${id}`)
    return ['completed', 'failed'].includes(String(at(body, 'status'))) ? body : undefined
  })
}

function isOfThisFile({ stream, data, metadata }: RecordedFact): boolean {
  const text = JSON.stringify([stream, data, metadata])
  return organisations.some((id) => text.includes(id))
}

/** Texts that give access to an object store: ours, those of other clouds, and the addresses of this test. */
const usable =
  /X-Amz-(?:Signature|Credential|Security-Token)|[?&](?:Signature|Expires|sig|se|X-Goog-Signature)=|canary/i

test('no event on any stream or channel contains a usable address of an image', async () => {
  const slot = await slotJob()
  const foreign = `${host.address()}?Signature=canary&Expires=4070908800`
  expect(await successor(api, supersede(api, inline, { presignedUrl: foreign }))).toMatchObject({ status: 'completed' })
  expect(await successor(api, supersede(api, slot, { presignedUrl: slot.downloadUrl }))).toMatchObject({
    status: 'completed',
  })

  const events = (await eventsOfAll(platform.process.credentials.eventstore_url ?? '')).filter(isOfThisFile)
  const count = (type: string): number => events.filter((event) => event.type === type).length
  expect([
    count('ai_review.requested'),
    count('AiReviewSlotClaimed'),
    count('AiReviewRequested'),
    count('AiReviewCompleted'),
  ]).toEqual([2, 4, 4, 4])
  expect(
    events.filter(({ data, metadata }) => usable.test(JSON.stringify([data, metadata]))).map(({ type }) => type),
  ).toEqual([])
  expect([foreign, slot.downloadUrl].every((address) => usable.test(address))).toBe(true)
  const sealed = events.filter(({ data }) => at(data, 'addresses', '$phi') !== undefined).map(({ type }) => type)
  expect(sealed.toSorted()).toEqual([
    'AiReviewRequested',
    'AiReviewRequested',
    'AiReviewSlotClaimed',
    'AiReviewSlotClaimed',
  ])
})

test('the platform signs no address of a caller, so an unsigned one of another organisation gives no access', async () => {
  const requests = (await eventsOf(platform.process.credentials.eventstore_url ?? '', 'ai_review.events')).filter(
    (event) => event.type === 'ai_review.requested' && isOfThisFile(event),
  )
  const image = at(requests[0]?.data, 'images', 0)
  const [plain, objectKey] = [textAt(image, 'presignedUrl'), textAt(image, 'objectKey')]
  expect((await fetch(plain)).status).toBe(403)
  const job = await inlineJob(stranger, strangersPatientId)
  expect((await supersede(stranger, job, { presignedUrl: host.address(), objectKey })).status).toBe(400)
  expect((await supersede(stranger, job, { objectKey })).status).toBe(400)

  await platform.provider.reset()
  const review = await successor(stranger, supersede(stranger, job, { presignedUrl: plain }))
  expect(review).toMatchObject({ status: 'failed', errorClassification: 'image_fetch_failed' })
  expect((await platform.provider.calls()).map(({ call }) => call)).not.toContain('image')
})
