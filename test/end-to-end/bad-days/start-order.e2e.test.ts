import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, type ApiClient } from '../../../platform/demo/api-client.ts'
import { assessmentBody, consentedPatient, createConsentTerms, endOf, photograph, requestAssessment } from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'

const dueAfterMs = 2_000

let platform: TestPlatform
let api: ApiClient
let patientId: string

beforeAll(async () => {
  platform = await startTestPlatform({ env: { PROVIDER_START_RETRY_SCHEDULE_MS: `${dueAfterMs},60000` } })
  api = await platform.connect()
  patientId = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
})

afterAll(() => platform.stop())

/** One more try would wait for a minute: each of these reviews has one left when the platform starts again. */
test('steps that are due when the platform starts find its own services answering', async () => {
  await platform.provider.fault({ call: 'case', status: 503, times: 3 })
  const photo = await photograph()
  const ids = await Promise.all([1, 2, 3].map(() => requestAssessment(api, assessmentBody(patientId, [photo]))))
  await waitFor('the first tries', async () => ((await platform.provider.calls()).filter(({ call }) => call === 'case').length === 3 ? true : undefined))
  await platform.process.stop()
  await sleep(dueAfterMs)

  await platform.restart()
  const records = await Promise.all(ids.map((id) => endOf(api, id, 15_000)))
  expect(records.map((record) => at(record, 'status'))).toEqual(['completed', 'completed', 'completed'])
})
