import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startEventStore, type EventStoreNode } from 'embedded-eventstore'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  subscribeToEnds,
  webhooksAbout,
} from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { descendantsOf, untilGone } from './child-processes.ts'
import { eventsOf } from './recorded-events.ts'

// The default schedule for the start of reviews, because the read models need time to catch up.
const settings = {
  STEP_TIMEOUT_MS: '3500',
  STEP_LEASE_MS: '4000',
  WEBHOOK_TIMEOUT_MS: '2000',
  PROVIDER_START_RETRY_SCHEDULE_MS: '2000,4000,8000',
}

let receiver: WebhookReceiver
let platform: TestPlatform
let api: ApiClient

beforeAll(async () => {
  receiver = await startWebhookReceiver()
})
afterAll(() => receiver.close())

/** Prepares a platform with a subscription and a consenting patient. Resolves to the body of a request. */
async function readyForRequests(eventStoreUrl: string): Promise<unknown> {
  platform = await startTestPlatform({ env: { ...settings, ESDB_URL: eventStoreUrl } })
  api = await platform.connect()
  const terms = await createConsentTerms(api, platform.process.credentials.org_id)
  await subscribeToEnds(api, receiver)
  return assessmentBody(await consentedPatient(api, terms), [await photograph()])
}

/**
 * Repeats the request with the same key, as a client does, until the platform accepts it. Resolves when the record can
 * be read. That is later than the answer while the read models reconnect to the event store.
 */
async function submitted(body: unknown, key: string): Promise<string> {
  const id = await waitFor(`an answer to request ${key}`, async () => {
    const answer = await api.call('/v1/clinical-api/assessments', { body, headers: { 'idempotency-key': key } })
    if (answer.status === 202) return textAt(answer.body, 'id')
    expect(answer).toMatchObject({ status: 503, body: { code: 'event-store-unavailable', retriable: true } })
    return undefined
  })
  await waitFor(`assessment ${id}`, async () => {
    const { status } = await api.call(`/v1/clinical-api/assessments/${id}`)
    return status === 200 ? true : undefined
  })
  return id
}

/** Expects every effect of a run exactly once. */
async function expectWholeRun(ids: readonly string[]): Promise<void> {
  const records = await Promise.all(ids.map((id) => endOf(api, id, 40_000)))
  expect(records.map((record) => at(record, 'status'))).toEqual(ids.map(() => 'completed'))
  for (const id of ids) {
    const received = await waitFor('the webhook', () =>
      webhooksAbout(receiver, id).length > 0 ? webhooksAbout(receiver, id) : undefined,
    )
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  }
  const { body: page } = await expecting(200, api.call('/v1/ai-reviews?limit=200'))
  expect(at(page, 'data')).toHaveLength(ids.length)

  const url = platform.process.credentials.eventstore_url ?? ''
  const published = await eventsOf(url, 'ai_review.events')
  const byCase = Map.groupBy(published, ({ data }) => textAt(data, 'caseId'))
  const cases = records.map((record) => byCase.get(textAt(record, 'case_id'))?.map(({ type }) => type))
  expect(cases).toEqual(ids.map(() => ['ai_review.requested', 'ai_review.started', 'ai_review.completed']))
  expect(published).toHaveLength(3 * ids.length)
}

test('a killed embedded event store ends the platform, and the next start continues from there', async () => {
  onTestFinished(() => platform.stop())
  const body = await readyForRequests('')
  await platform.provider.fault({ call: 'image', status: 200, delay_ms: 1_000, times: 2 })
  const ids = await Promise.all(['1', '2', '3'].map((key) => submitted(body, key)))
  await waitFor('an image on its way', async () =>
    (await platform.provider.calls()).find(({ call }) => call === 'image'),
  )

  const children = await descendantsOf(platform.process.pid)
  const node = children.find(({ command }) => command.includes('packages/embedded-eventstore/main.ts'))
  process.kill(node?.pid ?? Number.NaN, 'SIGKILL')
  expect(await platform.process.exited).toBe(1)
  expect(platform.process.output()).toContain('platform: the embedded event store ended unexpectedly')
  await untilGone(children)

  await platform.restart()
  await expectWholeRun(ids)
})

describe('a platform on a remote event store', () => {
  let dataDir: string
  let node: EventStoreNode
  let body: unknown

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
    node = await startEventStore({ dataDir })
    body = await readyForRequests(node.url)
  })
  afterAll(async () => {
    await platform.stop()
    await node.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  test('waits for it while it is killed and comes back, and loses nothing', async () => {
    const requests = Array.from({ length: 20 }, (_, index) => submitted(body, `run-${index}`))
    await waitFor('images on their way', async () =>
      (await platform.provider.calls()).filter(({ call }) => call === 'image').length > 2 ? true : undefined,
    )
    node.kill()
    await node.exited
    const away = await waitFor('the health check to notice', async () => {
      const answer = await fetch(`${platform.baseUrl}/health`)
      return answer.status === 503 ? answer.text() : undefined
    })
    expect(away).toContain('event_store')
    const meanwhile = submitted(body, 'meanwhile')
    node = await startEventStore({ dataDir, port: node.port })

    const ids = await Promise.all([...requests, meanwhile])
    expect(new Set(ids).size).toBe(21)
    await expectWholeRun(ids)
    await expectWholeRun([...ids, await submitted(body, 'afterwards')])
    expect((await fetch(`${platform.baseUrl}/health`)).status).toBe(200)
  })

  test.each([
    ['is killed', async () => node.kill()],
    ['stops and closes its connections', () => node.stop()],
  ])('answers the first writes after it %s soon, with Retry-After', async (_, end) => {
    const patients = '/v1/clinical-api/patients'
    const patient = { body: { given_name: 'A', family_name: 'B', dob: '1980-02-29' } }
    // The writes go on after the test before.
    await waitFor('a write', async () => ((await api.call(patients, patient)).status === 201 ? true : undefined))
    await end()
    const beganAt = performance.now()
    const writes = [
      api.call(patients, patient),
      api.call('/v1/clinical-api/assessments', { body, headers: { 'idempotency-key': 'away' } }),
    ]
    for (const { status, body: problem, headers } of await Promise.all(writes)) {
      expect([status, at(problem, 'code')]).toEqual([503, 'event-store-unavailable'])
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    }
    // Five seconds are documented; the rest is for a busy machine.
    expect(performance.now() - beganAt).toBeLessThan(10_000)
    await node.exited
    node = await startEventStore({ dataDir, port: node.port })
  })
})
