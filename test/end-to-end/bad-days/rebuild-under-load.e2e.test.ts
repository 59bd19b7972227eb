import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { knownNames } from '../../../app/projections/known-projectors.ts'
import { checkFeed } from '../../../tools/torture/checks/feed.ts'
import { readWholeLog } from '../../../tools/torture/stage/log-reader.ts'
import { FeedReaders } from '../../../tools/torture/stage/feed-reader.ts'
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
  webhooksAbout,
  type ConsentTerms,
  type Photograph,
} from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { entryOf, projections } from './projections-command.ts'

const parallelJobs = 2
/** Long waits and retries, because this test is not about a busy machine. */
const patience = { READ_YOUR_WRITES_MS: '8000', PROVIDER_START_RETRY_SCHEDULE_MS: '500,1000,2000' }

let platform: TestPlatform
let receiver: WebhookReceiver
let api: ApiClient
let terms: ConsentTerms
let feed: FeedReaders

/** Number of answers, and all failures. */
const watched = { answers: 0, failures: new Array<string>() }

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  platform = await startTestPlatform({ env: { ESDB_URL: '', ...patience } })
  const plain = await platform.connect()
  const counted = async <Found>(path: string, asked: Promise<Found>): Promise<Found> => {
    watched.answers += 1
    return asked.catch((error: unknown) => {
      throw new Error(noted(path, String(error)))
    })
  }
  api = {
    client: {
      ...plain.client,
      request: (method, path, ...options) => counted(path, plain.client.request(method, path, ...options)),
    },
    async call(path, request) {
      const answer = await counted(path, plain.call(path, request))
      if (answer.status >= 300) noted(path, `${answer.status} ${JSON.stringify(answer.body)}`)
      return answer
    },
  }
  terms = await createConsentTerms(api, platform.process.credentials.org_id)
  await subscribeToEnds(api, receiver)
  const { base_url: baseUrl, clients } = platform.process.credentials
  feed = new FeedReaders(
    baseUrl,
    clients.filter(({ org_id }) => org_id !== null),
  )
})

afterAll(async () => {
  await feed.close()
  await platform.stop()
  await receiver.close()
})

function noted(path: string, what: string): string {
  watched.failures.push(`${path}: ${what}`)
  return `${path}: ${what}`
}

interface Job {
  readonly assessmentId: string
  readonly image: Photograph
}

/** The main job from a new patient to the result, with every GET of the job. */
async function mainJob(): Promise<Job> {
  const patientId = await consentedPatient(api, terms)
  const image = await photograph()
  const assessmentId = await requestAssessment(api, assessmentBody(patientId, [image]))
  const record = await endOf(api, assessmentId)
  expect(record).toMatchObject({ status: 'completed', error: null })
  const caseId = textAt(record, 'case_id')
  await reviewOfCase(api, caseId)
  for (const path of [
    `/v1/clinical-api/patients/${patientId}`,
    `/v1/clinical-api/cases/${caseId}`,
    `/v1/clinical-api/assessments/${assessmentId}`,
    `/v1/patients/${patientId}/consents/ai_analysis/status`,
    `/v1/consent-records?patientId=${patientId}&consentTypeCode=ai_analysis`,
    '/v1/clinical-api/webhook-subscriptions',
  ])
    await found(path)
  return { assessmentId, image }
}

async function found(path: string): Promise<ApiAnswer> {
  return expecting(200, api.call(path))
}

/** Runs jobs in sequence until the work is done. At least one job ends meanwhile. */
async function underLoad<Result>(work: () => Promise<Result>): Promise<{ result: Result; jobs: readonly Job[] }> {
  const done = new AbortController()
  const jobs: Job[] = []
  const loops = Array.from({ length: parallelJobs }, async () => {
    while (!done.signal.aborted) jobs.push(await mainJob())
  })
  // The end of the test reports a failed loop, so it must not become an unhandled rejection.
  for (const loop of loops) loop.catch(() => undefined)
  try {
    await waitFor('the load', () => (jobs.length >= parallelJobs ? true : undefined))
    const before = jobs.length
    const result = await work()
    expect(jobs.length).toBeGreaterThan(before)
    done.abort()
    await Promise.all(loops)
    return { result, jobs }
  } finally {
    done.abort()
    await Promise.allSettled(loops)
  }
}

test('all projectors are rebuilt, and one of them again, while the main job runs: no request fails, no consumer of the feed misses an event, nothing is done twice, all rows are verified', async () => {
  const { result: rebuilds, jobs } = await underLoad(async () => [
    await projections(platform.dataDir, ['rebuild', '--all']),
    await projections(platform.dataDir, ['rebuild', 'assessments']),
  ])

  for (const rebuilt of rebuilds) expect(rebuilt).toMatchObject({ code: 0, err: '' })
  const switched = /: rebuilt and switched at \d+\/\d+ \(version \d+; \d+ rows, equal by content hash at /g
  expect(rebuilds.map(({ out }) => out.match(switched)?.length)).toEqual([knownNames.length, 1])
  expect(watched.failures).toEqual([])
  expect(watched.answers).toBeGreaterThan(jobs.length * 10)

  for (const { assessmentId, image } of jobs) {
    await waitFor(`the webhook about ${assessmentId}`, () => webhooksAbout(receiver, assessmentId)[0])
    const calls = await platform.provider.calls()
    const caseId = calls.find(({ sha256 }) => sha256 === image.sha256)?.caseId
    const asked = calls.filter((call) => caseId !== undefined && call.caseId === caseId).map(({ call }) => call)
    expect(asked.filter((call) => call !== 'result')).toEqual(['case', 'image', 'process'])
  }
  await waitFor('an end of all work', async () => {
    const { out } = await projections(platform.dataDir, ['lag', '--json'])
    const entries = at(JSON.parse(out), 'projectors')
    return Array.isArray(entries) && entries.every((entry) => at(entry, 'at_head') === true) ? true : undefined
  })
  expect(receiver.received).toHaveLength(jobs.length)
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(jobs.length)

  const eventStoreUrl = platform.process.credentials.eventstore_url ?? ''
  const log = await readWholeLog(eventStoreUrl, 'forwards')
  const readings = await feed.caughtUp(3_000, 60_000)
  const { findings, examined } = checkFeed(log, readings, await readWholeLog(eventStoreUrl, 'forwards'))
  expect(findings).toEqual([])
  expect(examined).toBeGreaterThan(2 * jobs.length)

  const verified = await projections(platform.dataDir, ['verify', '--all'])
  expect(verified).toMatchObject({ code: 0, err: '' })
  const listed = await projections(platform.dataDir, ['list', '--json'])
  expect(entryOf(listed, 'assessments')).toMatchObject({ status: 'running', copies: [{ kind: 'previous' }] })
  expect(watched.failures).toEqual([])
})
