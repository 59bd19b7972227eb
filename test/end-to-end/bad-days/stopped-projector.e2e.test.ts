import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { requestResume } from '../../../engine/rebuild/resume.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import type { RunningPlatform } from '../../../app/up.ts'
import { startInProcessPlatform, type InProcessPlatform } from '../../support/in-process-platform.ts'
import {
  assessmentBody,
  consentedPatient,
  decideConsent,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
  reviewOfCase,
  type ConsentTerms,
  type Photograph,
} from '../../support/main-job.ts'
import { eventually } from '../../support/eventually.ts'
import { waitFor } from '../../support/platform.ts'
import { stopProjector } from '../../support/stopped-projectors.ts'
import type { TestProvider } from '../../support/provider.ts'

const projector = 'consent_records'
const readYourWritesMs = 500

let given: InProcessPlatform
let platform: RunningPlatform
let provider: TestProvider
let api: ApiClient
let pool: Pool
let terms: ConsentTerms

beforeAll(async () => {
  given = await startInProcessPlatform({
    ESDB_URL: process.env['ESDB_URL'],
    READ_YOUR_WRITES_MS: String(readYourWritesMs),
  })
  ;({ platform, provider, api, terms } = given)
  pool = createPool({ url: given.databaseUrl, max: 1 })
})

afterEach(async () => {
  await resume()
  await provider.reset()
})

afterAll(async () => {
  await pool.end()
  await given.close()
})

async function stop(): Promise<void> {
  const { runner } = platform
  if (runner === undefined) throw new TypeError('the platform runs no projector')
  await stopProjector(runner, pool, projector)
}

async function resume(): Promise<void> {
  if ((await requestResume(pool, projector)) === undefined) return
  await eventually(() =>
    expect(platform.runner?.status().find(({ name }) => name === projector)?.state).not.toBe('stopped'),
  )
  await platform.caughtUp()
}

async function requested(patientId: string, image?: Photograph): Promise<string> {
  return requestAssessment(api, assessmentBody(patientId, [image ?? (await photograph())]))
}

async function reviewOf(assessmentId: string): Promise<unknown> {
  const { body } = await expecting(200, api.call(`/v1/clinical-api/assessments/${assessmentId}`))
  return reviewOfCase(api, textAt(body, 'case_id'))
}

async function untilReviewIs(assessmentId: string, status: string): Promise<unknown> {
  return waitFor(`a review that is ${status}`, async () => {
    const review = await reviewOf(assessmentId)
    return at(review, 'status') === status ? review : undefined
  })
}

async function callsOf(image: Photograph): Promise<readonly string[]> {
  const calls = await provider.calls()
  const caseId = calls.find(({ sha256 }) => sha256 === image.sha256)?.caseId
  return calls.filter((call) => caseId !== undefined && call.caseId === caseId).map(({ call }) => call)
}

test('while the consent records are stopped, writes succeed, GETs return old data, and no check does', async () => {
  const patientId = await consentedPatient(api, terms)
  await stop()

  const begun = performance.now()
  const written = await decideConsent(api, patientId, terms, 'withdrawn')
  // The answer does not wait. The limit only distinguishes it from a wait for the read model.
  expect(performance.now() - begun).toBeLessThan(10 * readYourWritesMs)

  const status = await expecting(200, api.call(`/v1/patients/${patientId}/consents/ai_analysis/status`))
  expect(status.body).toMatchObject({ granted: true, decision: 'granted' })
  const position = { 'x-min-commit-position': written.headers.get('x-commit-position') ?? '' }
  const late = await expecting(
    200,
    api.call(`/v1/patients/${patientId}/consents/ai_analysis/status`, { headers: position }),
  )
  expect(late.body).toEqual(status.body)
  expect(late.headers.has('x-projection-lag-ms')).toBe(true)
  const check = await expecting(200, api.call(`/v1/patients/${patientId}/consents/check?types=ai_analysis`))
  expect(check.body).toEqual({ consents: { ai_analysis: true } })
  const records = `/v1/consent-records?patientId=${patientId}&consentTypeCode=ai_analysis`
  const refused = await expecting(503, api.call(records))
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(at(refused.body, 'retriable')).toBe(true)

  await resume()
  // A read waits only some milliseconds for the read model, which may need longer on a busy machine.
  const current = await waitFor('an answer that does not lag', async () => {
    const path = `/v1/patients/${patientId}/consents/ai_analysis/status`
    const answer = await expecting(200, api.call(path, { headers: position }))
    return answer.headers.has('x-projection-lag-ms') ? undefined : answer
  })
  expect(current.body).toMatchObject({ granted: false, decision: 'withdrawn' })
  const answered = await expecting(200, api.call(records))
  expect(answered.body).toMatchObject({ status: 'withdrawn', granted: false })
})

test('a consent withdrawn meanwhile stops the review, although GET still returns the old decision', async () => {
  const patientId = await consentedPatient(api, terms)
  await stop()
  await decideConsent(api, patientId, terms, 'withdrawn')
  const status = await expecting(200, api.call(`/v1/patients/${patientId}/consents/ai_analysis/status`))
  expect(status.body).toMatchObject({ granted: true })
  const id = await requested(patientId)
  expect(await endOf(api, id)).toMatchObject({ status: 'failed', error: { code: 'CONSENT_MISSING' } })
  expect(await reviewOf(id)).toMatchObject({ status: 'failed', errorClassification: 'consent_missing' })
  expect(await provider.calls()).toEqual([])
})

test('after a consent is withdrawn the provider analyses nothing, although the images were sent', async () => {
  const patientId = await consentedPatient(api, terms)
  const image = await photograph()
  await provider.fault({ call: 'image', status: 200, delay_ms: 1_500, times: 2 })
  const id = await requested(patientId, image)
  await waitFor('the image at the provider', async () => (await callsOf(image))[0])
  await stop()
  await decideConsent(api, patientId, terms, 'withdrawn')
  expect(await endOf(api, id)).toMatchObject({ status: 'failed', error: { code: 'CONSENT_MISSING' } })

  // The next image is delayed as long as this one. When its review has ended, this call has returned too.
  await resume()
  expect(await endOf(api, await requested(await consentedPatient(api, terms)))).toMatchObject({ status: 'completed' })
  expect(await callsOf(image)).toEqual(['case', 'image'])
})

test('a review needs no read model: a consent that the records miss counts, and so does none', async () => {
  await stop()
  const patientId = await consentedPatient(api, terms)
  expect(await endOf(api, await requested(patientId))).toMatchObject({ status: 'completed' })
  const undecided = await requested(await registerPatient(api))
  expect(await endOf(api, undecided)).toMatchObject({ status: 'failed', error: { code: 'CONSENT_MISSING' } })
})

test('a consent withdrawn while the result is awaited cancels the review, and ends the polls', async () => {
  const patientId = await consentedPatient(api, terms)
  const image = await photograph()
  await provider.result({ sha256: image.sha256, not_ready_polls: 1_000 })
  const id = await requested(patientId, image)
  await untilReviewIs(id, 'awaiting_result')
  await waitFor('a first poll', async () => ((await callsOf(image)).includes('result') ? true : undefined))
  await decideConsent(api, patientId, terms, 'withdrawn')
  expect(await endOf(api, id)).toMatchObject({ status: 'failed', error: { code: 'CONSENT_MISSING' }, result: null })
  const polled = await callsOf(image)
  expect(await reviewOf(id)).toMatchObject({ status: 'cancelled', cancelReason: 'consent_withdrawn', lesions: [] })

  expect(await endOf(api, await requested(await consentedPatient(api, terms)))).toMatchObject({ status: 'completed' })
  expect(await callsOf(image)).toEqual(polled)
})
