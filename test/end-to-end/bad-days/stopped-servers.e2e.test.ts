import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFailed, test, vi } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { requestToken, type ApiAnswer, type ApiClient } from '../../support/raw-api.ts'
import { startObjectStore, type EmbeddedObjectStore } from '../../../embedded/object-store/start-object-store.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  expecting,
  photograph,
  registerPatient,
  subscribeToEnds,
  webhooksAbout,
  type Photograph,
} from '../../support/main-job.ts'
import { clientOf, startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { isRealPostgres, postgresAdminUrl, vaultAdminUrl } from '../../support/postgres.ts'
import { stopServer } from './listening-process.ts'
import { eventsOfAll } from './recorded-events.ts'

/**
 * Minimum time in seconds that each server is stopped. It continues after all answers. `npm run faults -- paused` uses
 * 30.
 */
const stopSeconds = Number(process.env['STOP_SECONDS'] ?? 8)

// The default schedule for the start of a review, and the default time limits of steps.
const account = { accessKeyId: 'stopped', secretAccessKey: 'of this test', bucket: 'stopped' }
const settings = { PROVIDER_START_RETRY_SCHEDULE_MS: '2000,4000,8000' }
vi.setConfig({ testTimeout: 600_000 })

const assessments = '/v1/clinical-api/assessments'

type Ending = 'completed' | 'CONSENT_MISSING' | 'IMAGE_QUALITY_INSUFFICIENT'

interface Run {
  readonly id: string
  readonly ending: Ending
  readonly image: Photograph
}

let objectsFolder: string
let objects: EmbeddedObjectStore
let platform: TestPlatform
let receiver: WebhookReceiver
let api: ApiClient
let consenting: string
let undecided: string
const runs: Promise<Run>[] = []

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  objectsFolder = await mkdtemp(join(tmpdir(), 'objects-'))
  // In a process of its own: it goes on while the provider's process is stopped.
  objects = await startObjectStore({ dataDir: objectsFolder, port: 0, ...account })
  const store = {
    S3_ENDPOINT: objects.endpoint,
    S3_BUCKET: account.bucket,
    S3_ACCESS_KEY_ID: account.accessKeyId,
    S3_SECRET_ACCESS_KEY: account.secretAccessKey,
  }
  platform = await startTestPlatform({ ownPostgres: true, env: { ...settings, ...store } })
  api = await platform.connect()
  const terms = await createConsentTerms(api, platform.process.credentials.org_id)
  await subscribeToEnds(api, receiver)
  consenting = await consentedPatient(api, terms)
  undecided = await registerPatient(api)
})

afterAll(async () => {
  await platform.stop()
  await objects.stop()
  await rm(objectsFolder, { recursive: true })
  await receiver.close()
})

/** Repeats a request after a 503, after the time in the answer, as the README requires of clients. */
async function patiently(ask: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  for (;;) {
    const answer = await ask()
    if (answer.status !== 503) return answer
    expectRefusal(answer)
    await sleep(Number(answer.headers.get('retry-after')) * 1_000)
  }
}

function expectRefusal(answer: ApiAnswer): void {
  expect(answer).toMatchObject({ status: 503, body: { retriable: true } })
  const away = ['access-log-unavailable', 'event-store-unavailable', 'database-unavailable', 'read-model-behind']
  expect(away).toContain(at(answer.body, 'code'))
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
}

/** Sends a request with a new key until it is accepted. */
function request(ending: Ending = 'completed'): void {
  runs.push(submitted(`run-${runs.length}`, ending))
}

async function submitted(key: string, ending: Ending): Promise<Run> {
  const image = await photograph()
  if (ending === 'IMAGE_QUALITY_INSUFFICIENT') {
    await platform.provider.result({ sha256: image.sha256, image_quality: 'IMAGE_QUALITY_UNSUITABLE' })
  }
  const answer = await expecting(
    202,
    patiently(() => submission({ ending, image }, key)),
  )
  return { id: textAt(answer.body, 'id'), ending, image }
}

function submission({ ending, image }: Pick<Run, 'ending' | 'image'>, key: string): Promise<ApiAnswer> {
  const body = assessmentBody(ending === 'CONSENT_MISSING' ? undecided : consenting, [image])
  return api.call(assessments, { body, headers: { 'idempotency-key': key } })
}

/** An acknowledged record must never be a 404. */
async function endOf({ id }: Run): Promise<unknown> {
  for (;;) {
    const { body } = await expecting(
      200,
      patiently(() => api.call(`${assessments}/${id}`)),
    )
    if (at(body, 'status') !== 'processing') return body
    await sleep(200)
  }
}

/** Stops the servers during a run, sends more requests, and continues the servers after all answers. */
async function whileStopped(addresses: readonly string[], look: () => Promise<void>): Promise<void> {
  const before = (await platform.provider.calls()).length
  for (const ending of ['completed', 'CONSENT_MISSING', 'IMAGE_QUALITY_INSUFFICIENT'] as const) request(ending)
  while (runs.length % 8 < 6) request()
  await waitFor('calls at the provider', async () =>
    (await platform.provider.calls()).length > before + 3 ? true : undefined,
  )
  const stopped = await Promise.all(addresses.map(stopServer))
  try {
    while (runs.length % 8 !== 0) request()
    await Promise.all([look(), sleep(stopSeconds * 1_000)])
  } finally {
    for (const server of stopped) server.goOn()
  }
  await waitFor('a healthy platform', async () => ((await fetch(`${platform.baseUrl}/health`)).ok ? true : undefined))
}

async function healthOf(path = ''): Promise<ApiAnswer> {
  const response = await fetch(`${platform.baseUrl}/health${path}`)
  return { status: response.status, headers: response.headers, body: await response.json() }
}

function failing(name: string): unknown {
  return expect.objectContaining({
    checks: expect.arrayContaining([expect.objectContaining({ name, status: 'failing' })]),
  })
}

test('event store, Postgres and provider are stopped in turn: each of 26 assessments ends once, with the correct status', async () => {
  onTestFailed(() => void process.stderr.write(platform.process.output()))
  const { credentials } = platform.process
  const known = await submitted('known', 'completed')
  const path = `${assessments}/${known.id}`
  await endOf(known)

  await whileStopped([credentials.eventstore_url ?? ''], async () => {
    const [repeat, record, unknown, list, token, full] = await Promise.all([
      submission(known, 'known'),
      api.call(path),
      api.call(`${assessments}/0190b0a0-0000-7000-8000-000000000001`),
      api.call('/v1/ai-reviews?limit=10'),
      requestToken(platform.baseUrl, clientOf(platform.process, 0)),
      healthOf(),
    ])
    expectRefusal(repeat)
    expectRefusal(unknown)
    expect([record.status, (await healthOf('/live')).status]).toEqual([200, 200])
    // A review that ended a moment ago shows its result, and nobody can record now that it was seen.
    if (list.status !== 200) expectRefusal(list)
    if (token.status !== 200) expectRefusal(token)
    for (const health of [full, await healthOf('/ready')])
      expect(health).toMatchObject({ status: 503, body: failing('event_store') })
  })
  const servers = isRealPostgres ? [postgresAdminUrl(), vaultAdminUrl()] : [credentials.database_url ?? '']
  await whileStopped([...new Set(servers)], async () => {
    const [record, list, token, full] = await Promise.all([
      api.call(path),
      api.call('/v1/ai-reviews?limit=10'),
      requestToken(platform.baseUrl, clientOf(platform.process, 0)),
      healthOf(),
    ])
    expectRefusal(record)
    expectRefusal(list)
    if (token.status !== 200) expectRefusal(token)
    for (const health of [full, await healthOf('/ready')])
      expect(health).toMatchObject({ status: 503, body: failing('database') })
    expect(await healthOf('/live')).toMatchObject({ status: 200 })
  })
  await whileStopped([credentials.provider_url ?? ''], async () => {
    expect(await api.call(path)).toMatchObject({ status: 200 })
    expect(await healthOf()).toMatchObject({ status: 200 })
  })
  request()
  request('IMAGE_QUALITY_INSUFFICIENT')
  expect(runs).toHaveLength(26)

  const done = await Promise.all(runs)
  expect(new Set(done.map(({ id }) => id)).size).toBe(26)
  const records = await Promise.all(done.map(endOf))
  expect(records.map((record) => at(record, 'error', 'code') ?? at(record, 'status'))).toEqual(
    done.map(({ ending }) => ending),
  )
  await expectOneWebhookEach(done)
  await expectOneStoryEach(done)
  expect(platform.process.output()).not.toContain('internal-error')
})

async function expectOneWebhookEach(done: readonly Run[]): Promise<void> {
  for (const { id } of done) {
    await waitFor(`the webhook about ${id}`, () => webhooksAbout(receiver, id)[0])
    expect(new Set(webhooksAbout(receiver, id).map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  }
}

/**
 * Expects one end in each stream, one analysed provider case, and no more requested analyses than recorded attempts.
 */
async function expectOneStoryEach(done: readonly Run[]): Promise<void> {
  const facts = await eventsOfAll(platform.process.credentials.eventstore_url ?? '')
  const calls = await platform.provider.calls()
  const caseOf = (id: string) =>
    textAt(
      facts.find(({ type, data }) => type === 'AssessmentSubmitted' && at(data, 'assessmentId') === id)?.data,
      'caseId',
    )
  for (const { id, ending, image } of done) {
    const ends = facts.filter(
      ({ type, data }) => ['AssessmentCompleted', 'AssessmentFailed'].includes(type) && at(data, 'assessmentId') === id,
    )
    expect(ends).toHaveLength(1)
    const requested = facts.filter(
      ({ type, data }) => type === 'AiReviewRequested' && at(data, 'caseId') === caseOf(id),
    )
    expect(requested).toHaveLength(1)
    const story = facts.filter(({ stream }) => stream === requested[0]?.stream)
    const attempts = story.filter(
      ({ type, data }) => type === 'AiReviewCallAttempted' && at(data, 'call') === 'process',
    )
    const cases = calls
      .filter(({ call, sha256 }) => call === 'image' && sha256 === image.sha256)
      .map(({ caseId }) => caseId)
    const analysed = calls
      .filter(({ call, caseId }) => call === 'process' && cases.includes(caseId))
      .map(({ caseId }) => caseId)
    expect(new Set(analysed).size).toBe(ending === 'CONSENT_MISSING' ? 0 : 1)
    expect(analysed.length).toBeLessThanOrEqual(attempts.length)
  }
}
