import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import { consentedPatient, createConsentTerms, expecting, photograph } from '../../support/main-job.ts'
import { waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { startImageHost, type ImageHost } from '../main-job/image-host.ts'

// `test/commands/ai-review/` has the rules of reviews. Here a running platform analyses what others request of it.

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let host: ImageHost
let patientId: string

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  patientId = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
  host = await startImageHost((await photograph()).bytes)
})
afterAll(async () => {
  await platform.stop()
  await host.close()
})

function imageOf() {
  const presignedUrlExpiresAt = new Date(Date.now() + 3_600_000).toISOString()
  return { imageId: randomUUID(), imageType: 'DERMOSCOPIC', presignedUrl: host.address(), presignedUrlExpiresAt }
}

async function newCase(): Promise<string> {
  const opened = await expecting(201, api.call('/v1/clinical-api/cases', { body: { patient_id: patientId } }))
  return textAt(opened.body, 'id')
}

test('a review that a client requests completes, and its case then has a review', async () => {
  const body = { caseId: await newCase(), images: [imageOf()], patientId }
  const made = await expecting(202, api.call('/v1/ai-reviews', { body }))
  const id = textAt(made.body, 'aiReviewId')
  const path = `/v1/ai-reviews/${id}`
  const completed = await expecting(200, api.call(path, { headers: { prefer: 'wait=25' } }))
  const { product_id: productId } = platform.process.credentials
  expect(completed.body).toMatchObject({ status: 'completed', caseId: body.caseId, productId, patientId })
  const again = await expecting(200, api.call('/v1/ai-reviews', { body }))
  expect(again.body).toEqual({ aiReviewId: id, status: 'completed' })
})

async function rejectedEvents(): Promise<number> {
  const checks = at((await api.call('/health')).body, 'checks') as readonly unknown[]
  const check = checks.find((one) => at(one, 'name') === 'foreign_channels')
  if (at(check, 'status') === 'ok') return 0
  const [, number] = /^rejected events of 7 days: (\d+)\. foreign-events rejected lists them$/.exec(
    textAt(check, 'detail'),
  ) ?? [undefined, Number.NaN]
  expect(at(check, 'status')).toBe('warning')
  return Number(number)
}

test('a request of another service becomes a review; a malformed one is skipped and counted in /health', async () => {
  const { org_id: orgId, product_id: productId, eventstore_url: url } = platform.process.credentials
  const [caseId, before] = [await newCase(), await rejectedEvents()]
  const request = { caseId, productId, orgId, correlationId: 'clinic-17', requestedAt: new Date().toISOString() }
  const good = jsonEvent({ type: 'ai_review.requested', data: { ...request, images: [imageOf()], urgency: 'high' } })
  const bad = jsonEvent({ type: 'ai_review.requested', data: { ...request, images: [] } })
  const clinic = EventStoreDBClient.connectionString(url ?? '')
  await clinic.appendToStream('visits.events', [bad, good])
  await clinic.dispose()
  const completed = await waitFor('the end of the review of the request', async () => {
    const { body } = await api.call(`/v1/ai-reviews?caseId=${caseId}&status=completed`)
    return at(body, 'data', 0)
  })
  expect(completed).toMatchObject({ correlationId: 'clinic-17', patientId })
  const count = await waitFor('the rejected event in /health', async () => {
    const number = await rejectedEvents()
    return number === before ? undefined : number
  })
  expect(count).toBe(before + 1)
})

test('every answer has its documented form', async () => {
  expect(await watched.undocumented()).toEqual([])
})
