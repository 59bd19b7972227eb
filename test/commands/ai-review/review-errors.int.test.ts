import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { at } from '../../../app/demo/members.ts'
import { startOutsideServer } from '../../support/process-world.ts'
import { ids } from '../../streams/facts.ts'
import { openReviewApi, type ReviewApi } from './review-api.ts'

/* Every row of the table in section 7.3 of the interface specification, over HTTP. */

let api: ReviewApi
beforeAll(async () => {
  api = await openReviewApi()
})
afterAll(() => api.close())
beforeEach(() => api.world.reset())

const forEver = 1_000_000

/** The record and the public event of a review that failed have the classification. */
async function expectFailed(id: string, classification: string, isRetriable: boolean, upstreamStatus: number | null) {
  const message = expect.stringMatching(/\w/) as unknown
  expect(await api.review(id)).toMatchObject({
    status: 'failed',
    errorClassification: classification,
    error: { code: classification, message, classification, upstreamStatus },
    completedAt: expect.any(String),
  })
  expect(await api.lastPublished(id)).toMatchObject({
    type: 'ai_review.failed',
    data: { aiReviewId: id, errorClassification: classification, errorMessage: message, retriable: isRetriable },
  })
}

const story = async () => (await api.world.provider.calls()).map(({ call, status }) => `${call} ${status}`)

test.each([
  ['case', 0, 'in_progress'],
  ['image', 1, 'in_progress'],
  ['process', 2, 'awaiting_result'],
  ['result', 3, 'completed'],
] as const)(
  '7.3 row 1: the first 401 of %s drops the session, and one retry follows a new login',
  async (call, before, status) => {
    const id = await api.startedBy(before)
    if (before === 0) await api.startedBy(1)
    await api.world.provider.reset()
    await api.world.provider.fault({ call, status: 401 })
    api.world.pass(5)
    await api.run(call === 'result' ? 'poll' : 'start', id)
    expect(await story()).toEqual([`${call} 401`, 'login 200', `${call} 200`])
    expect(await api.review(id)).toMatchObject({ status, errorClassification: null })
  },
)

test('7.3 row 2: a 401 after the new login is provider_auth_failed, and is not retried', async () => {
  const id = await api.requested()
  await api.world.provider.fault({ call: 'case', status: 401, times: 2 })
  await api.run('start', id)
  await expectFailed(id, 'provider_auth_failed', false, 401)
  expect(await api.run('start', id)).toEqual({ kind: 'done' })
  expect(await api.calls()).toEqual(['case 401', 'case 401'])
})

test('7.3 row 3: a 5xx while starting is retried three times with growing delays, then provider_upstream_transient', async () => {
  const id = await api.requested()
  await api.world.provider.fault({ call: 'case', status: 503, times: forEver })
  for (const seconds of [2, 4, 8]) {
    await api.run('start', id)
    expect(at(await api.review(id), 'status')).toBe('pending')
    api.world.pass(seconds)
  }
  await api.run('start', id)
  await expectFailed(id, 'provider_upstream_transient', true, 503)
  expect(await api.calls()).toEqual(['case 503', 'case 503', 'case 503', 'case 503'])
})

test('7.3 row 3: a broken connection while starting is retried, and a later success counts', async () => {
  const server = await startOutsideServer(({ route }) =>
    route === 'POST /api5/login' ? { status: 200, headers: { authorization: 'session' } } : 'cut',
  )
  const id = await api.requested()
  await api.run('start', id, { deps: api.world.rewired({ providerBaseUrl: server.url }) })
  await server.close()
  expect(await api.review(id)).toMatchObject({ status: 'pending', errorClassification: null })
  api.world.pass(2)
  await api.run('start', id)
  expect(at(await api.review(id), 'status')).toBe('in_progress')
})

test.each([400, 403, 404, 422, 429])('7.3 row 4: a %i while starting is provider_client_error', async (status) => {
  const id = await api.requested()
  await api.world.provider.fault({ call: 'case', status })
  await api.run('start', id)
  await expectFailed(id, 'provider_client_error', false, status)
})

test('7.3 row 5: no result within the budget is provider_result_timeout', async () => {
  const id = await api.startedBy(3)
  await api.world.provider.result({ sha256: '*', not_ready_polls: forEver })
  api.world.pass(600)
  await api.run('poll', id)
  await expectFailed(id, 'provider_result_timeout', false, null)
})

test('7.3 row 6: another analysis result is provider_processing_failed, and the outcome is recorded', async () => {
  const id = await api.startedBy(3)
  await api.world.provider.result({ sha256: '*', analysis_result: 'NOT_A_LESION' })
  api.world.pass(5)
  await api.run('poll', id)
  await expectFailed(id, 'provider_processing_failed', false, null)
  expect(await api.review(id)).toMatchObject({ analysisResult: 'NOT_A_LESION', providerVersion: '5.4.1-simulator' })
  expect((await api.get(`/${id}/raw`)).body).toMatchObject({ analysisResult: 'NOT_A_LESION' })
})

test('7.3 row 7: unsuitable image quality is no error, and ai_review.completed contains it', async () => {
  const id = await api.startedBy(3)
  await api.world.provider.result({ sha256: '*', image_quality: 'IMAGE_QUALITY_UNSUITABLE' })
  api.world.pass(5)
  await api.run('poll', id)
  expect(await api.review(id)).toMatchObject({ status: 'completed', error: null, errorClassification: null })
  const imageQuality = [{ imageId: expect.any(String), quality: 'IMAGE_QUALITY_UNSUITABLE' }]
  expect(await api.lastPublished(id)).toMatchObject({ type: 'ai_review.completed', data: { imageQuality } })
})

test.each([403, 404])('7.3 row 8: a %i for an image is image_fetch_failed; fresh addresses help', async (status) => {
  const server = await startOutsideServer(() => ({ status }))
  const id = await api.requested({ images: [await api.image({ presignedUrl: `${server.url}/image` })] })
  await api.run('start', id)
  await api.run('start', id)
  await server.close()
  await expectFailed(id, 'image_fetch_failed', false, status)
  expect(await api.calls()).toEqual(['case 200'])

  const again = await api.post(`/${id}/supersede`, { body: { images: [await api.image()] } })
  const newId = String(at(again.body, 'aiReviewId'))
  for (let call = 0; call < 3; call += 1) await api.run('start', newId)
  expect(at(await api.review(newId), 'status')).toBe('awaiting_result')
})

test('an image host that does not answer is image_host_unavailable after three retries, and names no provider', async () => {
  const server = await startOutsideServer(() => 'cut')
  const id = await api.requested({ images: [await api.image({ presignedUrl: `${server.url}/image` })] })
  await api.run('start', id)
  for (const seconds of [2, 4, 8, 0]) {
    await api.run('start', id)
    api.world.pass(seconds)
  }
  await server.close()
  await expectFailed(id, 'image_host_unavailable', true, null)
  expect(JSON.stringify(at(await api.review(id), 'error'))).not.toMatch(/provider/i)
})

test.each(['denied', 'withdrawn'] as const)(
  '7.3 row 9: a consent that was %s before the pickup is consent_missing, without a provider call',
  async (consent) => {
    const id = await api.requested()
    api.world.services.consent = consent
    await api.run('start', id)
    await expectFailed(id, 'consent_missing', false, null)
    expect(await story()).toEqual([])
  },
)

test('a consent service that does not answer is consent_check_unavailable after three retries', async () => {
  const id = await api.requested()
  api.world.services.consent = null
  for (const seconds of [2, 4, 8, 0]) {
    await api.run('start', id)
    api.world.pass(seconds)
  }
  await expectFailed(id, 'consent_check_unavailable', true, null)
  expect(await story()).toEqual([])
})

test('a case that is not visible is case_lookup_unavailable after three retries, and no missing consent', async () => {
  const [id, later] = [await api.requested(), await api.requestedByEvent(await api.newCase())]
  api.world.services.patientId = null
  await api.run('start', later)
  for (const seconds of [2, 4, 8, 0]) {
    await api.run('start', id)
    api.world.pass(seconds)
  }
  await expectFailed(id, 'case_lookup_unavailable', true, null)
  expect(await story()).toEqual([])
  expect(await api.review(later)).toMatchObject({ status: 'pending', patientId: null, errorClassification: null })
  api.world.services.patientId = ids.patient
  await api.run('start', later)
  expect(await api.review(later)).toMatchObject({ status: 'in_progress', patientId: ids.patient })
})

test('`error` has a code and a fixed text, and nothing of the body of the provider', async () => {
  const texts: unknown[] = []
  for (const body of ['{"error":"canary-one"}', 'canary-two']) {
    const id = await api.requested()
    await api.world.provider.fault({ call: 'case', status: 400, body })
    await api.run('start', id)
    await expectFailed(id, 'provider_client_error', false, 400)
    const [record, event] = [await api.review(id), await api.lastPublished(id)]
    expect(JSON.stringify([record, event, (await api.get('?status=failed')).body])).not.toContain('canary')
    texts.push(at(record, 'error', 'message'))
  }
  expect(new Set(texts).size).toBe(1)
})

test('PROVIDER_SUCCESS_RESULT is the analysis result of a success; by default SUCCESSFUL_PROCESSING', async () => {
  const deps = api.world.rewired({ providerSuccessResult: 'DONE' })
  const [own, usual] = [await api.startedBy(3), await api.startedBy(3)]
  await api.world.provider.result({ sha256: '*', analysis_result: 'DONE' })
  api.world.pass(5)
  await api.run('poll', own, { deps })
  expect(await api.review(own)).toMatchObject({ status: 'completed', result: { analysisResult: 'DONE' } })
  await api.run('poll', usual)
  await expectFailed(usual, 'provider_processing_failed', false, null)
})
