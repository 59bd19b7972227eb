import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  photograph,
  requestAssessment,
  subscribeToEnds,
  webhooksAbout,
} from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'

let platform: TestPlatform
let receiver: WebhookReceiver
let api: ApiClient
let patientId: string

/** The first poll is too early. The next one is due at the deadline. */
const resultTimeoutMs = 3_000
const settings = {
  STEP_TIMEOUT_MS: '3500',
  STEP_LEASE_MS: '4000',
  WEBHOOK_TIMEOUT_MS: '2000',
  PROVIDER_RESULT_INITIAL_DELAY_MS: '100',
  PROVIDER_RESULT_BACKOFF_SCHEDULE_MS: '60000',
  PROVIDER_RESULT_TIMEOUT_MS: String(resultTimeoutMs),
}

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  platform = await startTestPlatform({ env: settings })
  api = await platform.connect()
  const terms = await createConsentTerms(api, platform.process.credentials.org_id)
  await subscribeToEnds(api, receiver)
  patientId = await consentedPatient(api, terms)
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

test('a stop during provider calls is clean, and the next start finishes the work', async () => {
  // A stop does not wait so long, so it interrupts these calls.
  await platform.provider.fault({ call: 'image', status: 200, delay_ms: 20_000, times: 2 })
  const ids = await Promise.all(
    [1, 2, 3].map(async () => requestAssessment(api, assessmentBody(patientId, [await photograph()]))),
  )
  await waitFor('two images on their way', async () => {
    const calls = await platform.provider.calls()
    return calls.filter(({ call }) => call === 'image').length >= 2 ? true : undefined
  })
  expect(await platform.process.stop()).toBe(0)

  await platform.restart()
  const records = await Promise.all(ids.map((id) => endOf(api, id)))
  expect(records.map((record) => at(record, 'status'))).toEqual(['completed', 'completed', 'completed'])
  for (const id of ids) await waitFor('the webhook', () => webhooksAbout(receiver, id)[0])
  const calls = (await platform.provider.calls()).map(({ call }) => call)
  // The case of an interrupted image is abandoned, because nobody knows whether the provider has it. Nothing else runs twice.
  expect(calls.filter((call) => call === 'case')).toHaveLength(5)
  expect(calls.filter((call) => call === 'image')).toHaveLength(5)
  expect(calls.filter((call) => call === 'process')).toHaveLength(3)
  expect(ids.map((id) => webhooksAbout(receiver, id).length)).toEqual([1, 1, 1])
})

test('a poll that was due while the platform was down is made once more, even after the deadline', async () => {
  await platform.provider.reset()
  const [ready, never] = [await photograph(), await photograph()]
  await platform.provider.result(
    { sha256: ready.sha256, not_ready_polls: 1 },
    { sha256: never.sha256, not_ready_polls: 1_000 },
  )
  const ids = await Promise.all(
    [ready, never].map((image) => requestAssessment(api, assessmentBody(patientId, [image]))),
  )
  await waitFor('the first polls', async () => ((await resultCalls()) === 2 ? true : undefined))
  await platform.process.kill()
  await sleep(resultTimeoutMs)

  await platform.restart()
  const records = await Promise.all(ids.map((id) => endOf(api, id)))
  expect(records.map((record) => at(record, 'error', 'code') ?? at(record, 'status'))).toEqual([
    'completed',
    'ANALYSIS_TIMEOUT',
  ])
  expect(await resultCalls()).toBe(4)
})

async function resultCalls(): Promise<number> {
  return (await platform.provider.calls()).filter(({ call }) => call === 'result').length
}
