import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { isRealEventStore } from 'embedded-eventstore/testing'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  subscribeToEnds,
  webhooksAbout,
  type Photograph,
} from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import type { ProviderCall } from '../../support/provider.ts'
import { descendantsOf, untilGone } from './child-processes.ts'
import { eventsOf, eventsOfAll, type RecordedFact } from './recorded-events.ts'

const whole = ['case 1', 'image 1 a', 'image 1 b', 'process 1', 'result 1']
const second = whole.map((call) => call.replace('1', '2'))

interface Crash {
  readonly place: string
  /** All calls to the provider for the assessment, before and after the crash. */
  readonly calls: readonly string[]
  readonly webhooks: number
  /** The place at which the next start dies. The unfinished work of this one must not reach it. */
  readonly next: string
}

const crashes: readonly Crash[] = [
  { place: 'webhook-sent', calls: whole, webhooks: 2, next: 'process-answered' },
  {
    place: 'process-answered',
    calls: ['case 1', 'image 1 a', 'image 1 b', 'process 1', 'process 1', 'result 1'],
    webhooks: 1,
    next: 'image-sent',
  },
  { place: 'image-sent', calls: ['case 1', 'image 1 a', ...second], webhooks: 1, next: 'slot-claimed' },
  { place: 'slot-claimed', calls: whole, webhooks: 1, next: '' },
  { place: 'case-answered', calls: ['case 1', ...second], webhooks: 1, next: '' },
]

// Longer than a test waits: a start must continue its own interrupted steps without waiting for their lease.
const longLeases = { STEP_LEASE_MS: '60000' }

let platform: TestPlatform
let receiver: WebhookReceiver
let api: ApiClient
let photographs: readonly [Photograph, Photograph]
let patientId: string
let undisturbed: unknown
/** The place at which the running platform dies. */
let armed = ''
/** Assessment ids by idempotency key. */
const runs = new Map<string, string>()

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  platform = await startTestPlatform({ env: longLeases, ownPostgres: true })
  api = await platform.connect()
  const terms = await createConsentTerms(api, platform.process.credentials.org_id)
  patientId = await consentedPatient(api, terms)
  photographs = [await photograph('dermoscopic'), await photograph('macroscopic', 'lesion-3.png')]
  await subscribeToEnds(api, receiver)
  const id = await submitted('undisturbed')
  undisturbed = await endOf(api, id)
  await waitFor('the first webhook', () => webhooksAbout(receiver, id)[0])
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

function embeddedServers(): readonly string[] {
  return [
    'embedded/stand-ins',
    ...(platform.ownsPostgres ? ['embedded/postgres'] : []),
    ...(isRealEventStore ? [] : ['packages/embedded-eventstore']),
  ]
}

/** Sends the request, or repeats it like a client without an answer. */
async function submitted(key: string): Promise<string> {
  const headers = { 'idempotency-key': key }
  const body = assessmentBody(patientId, photographs)
  const { body: record } = await expecting(202, api.call('/v1/clinical-api/assessments', { body, headers }))
  const id = textAt(record, 'id')
  runs.set(key, id)
  return id
}

describe('the whole platform is killed at one place and started again', () => {
  test.each(crashes)('$place', async ({ place, calls, webhooks, next }) => {
    if (armed !== place) await platform.restart({ FAILPOINT: place })
    await platform.provider.reset()
    const children = await descendantsOf(platform.process.pid)
    for (const server of embeddedServers())
      expect(children.some(({ command }) => command.includes(`${server}/main.ts`))).toBe(true)
    // The crash may come before the answer. Then the client does not know whether its request was accepted.
    await submitted(place).catch(() => undefined)
    expect(await platform.process.exited).toBeNull()
    await untilGone(children)

    armed = next
    await platform.restart({ FAILPOINT: next })
    const id = await submitted(place)
    const record = await endOf(api, id)
    const received = await waitFor('the webhook', () => {
      const about = webhooksAbout(receiver, id)
      return about.length >= webhooks ? about : undefined
    })

    expect(at(record, 'status')).toBe('completed')
    expect(withoutIdentities(record)).toEqual(withoutIdentities(undisturbed))
    expect(storyOf(await platform.provider.caseCalls())).toEqual(calls)
    expect(received).toHaveLength(webhooks)
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  })
})

describe('after five crashes', () => {
  test('later starts repeated nothing', async () => {
    const counts = crashes.map(({ place }) => webhooksAbout(receiver, runs.get(place) ?? '').length)
    expect(counts).toEqual(crashes.map(({ webhooks }) => webhooks))
    const { body } = await expecting(200, api.call('/v1/ai-reviews?limit=200'))
    expect(at(body, 'data')).toHaveLength(runs.size)
  })

  test('no start waited for a lease of its earlier run', async () => {
    const attempts = new Map<string, { readonly attemptedAt: string; readonly leaseUntil: string }[]>()
    for (const { stream, type, data } of await eventsOfAll(platform.process.credentials.eventstore_url ?? '')) {
      if (type !== 'AiReviewCallAttempted' && type !== 'WebhookDeliveryAttempted') continue
      const {
        attemptedAt,
        leaseUntil,
        call = 'webhook',
      } = data as Record<'attemptedAt' | 'leaseUntil', string> & { readonly call?: string }
      const key = `${stream} ${call}`
      attempts.set(key, [...(attempts.get(key) ?? []), { attemptedAt, leaseUntil }])
    }
    const repeated = [...attempts.values()].filter((each) => each.length > 1 && each[1] !== undefined)
    const early = repeated.filter(([cutOff, next]) => (next?.attemptedAt ?? '') < (cutOff?.leaseUntil ?? ''))
    expect(repeated.length).toBeGreaterThan(2)
    expect(early).toEqual(repeated)
  })

  test('each public event is on its channel exactly once, in order, with its envelope', async () => {
    const url = platform.process.credentials.eventstore_url ?? ''
    const organisation = platform.process.credentials.org_id
    const published = (await eventsOf(url, 'ai_review.events')).filter(({ data }) => at(data, 'orgId') === organisation)
    const byCase = Map.groupBy(published, ({ data }) => textAt(data, 'caseId'))
    expect([...byCase.values()].map((facts) => facts.map(({ type }) => type))).toEqual(
      Array.from(runs, () => ['ai_review.requested', 'ai_review.started', 'ai_review.completed']),
    )
    const consents = (await eventsOf(url, 'consent.events')).filter(({ data }) => at(data, 'org_id') === organisation)
    expect(consents.map(({ type }) => type)).toEqual(['consent.granted'])

    const all = [...published, ...consents]
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
    expect(new Set(all.map(({ data }) => at(data, 'causation_id'))).size).toBe(all.length)
    for (const fact of all) expect(fact).toEqual(withEnvelope(fact))
  })

  test('the correlation id of a request is on every event that followed from it, in every stream', async () => {
    const facts = await eventsOfAll(platform.process.credentials.eventstore_url ?? '')
    for (const id of runs.values()) {
      const first = facts.find(({ type, data }) => type === 'AssessmentSubmitted' && at(data, 'assessmentId') === id)
      const correlationId = textAt(first?.metadata, '$correlationId')
      const followed = facts.filter(({ metadata }) => at(metadata, '$correlationId') === correlationId)
      expect([...new Set(followed.map(({ stream }) => categoryOf(stream)))].toSorted()).toEqual([
        'ai_review',
        'ai_review.events',
        'ai_review_slot',
        'assessment',
        'assessment.events',
        'case',
        'clinical.events',
        'webhook_delivery',
      ])
      expect(followed.filter(({ type }) => type === 'AssessmentSubmitted')).toHaveLength(1)
      expect(followed.filter(({ type }) => type === 'AssessmentCompleted')).toHaveLength(1)
    }
  })
})

/** The calls to the provider, with cases numbered in order and photographs named a and b. */
function storyOf(calls: readonly ProviderCall[]): string[] {
  const cases = [...new Set(calls.map(({ caseId }) => caseId).filter((caseId) => caseId !== undefined))]
  const hashes = photographs.map(({ sha256 }) => sha256)
  return calls.map(({ call, caseId, sha256 }) => {
    const image = sha256 === undefined ? '' : ` ${'ab'[hashes.indexOf(sha256)] ?? '?'}`
    return `${call} ${caseId === undefined ? '?' : cases.indexOf(caseId) + 1}${image}`
  })
}

/** A record with numbered ids and without instants and addresses, so that equal runs give equal records. */
function withoutIdentities(record: unknown): unknown {
  const ids: string[] = []
  return JSON.parse(JSON.stringify(record), (name, value: unknown) => {
    if (typeof value !== 'string') return value
    if (name === 'download_url') return new URL(value).protocol
    if (name.endsWith('_at')) return 'an instant'
    if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) return value
    if (!ids.includes(value)) ids.push(value)
    return ids.indexOf(value)
  })
}

function withEnvelope(fact: RecordedFact): unknown {
  return {
    ...fact,
    data: expect.objectContaining({
      event_id: fact.id,
      event_type: fact.type,
      occurred_at: expect.stringMatching(/^\d{4}-.*Z$/),
      schema_version: 1,
      causation_id: at(fact.metadata, '$causationId'),
      correlation_id: at(fact.metadata, '$correlationId'),
      hop: 0,
    }),
  }
}

function categoryOf(stream: string): string {
  return stream.slice(0, stream.includes('-') ? stream.indexOf('-') : undefined)
}
