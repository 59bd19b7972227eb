import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { at, textAt } from '../../../app/demo/members.ts'
import {
  createApiClient,
  requestToken,
  type ApiAnswer,
  type ApiClient,
  type ClientSecrets,
} from '../../support/raw-api.ts'
import { startWebhookReceiver, type ReceivedWebhook, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { allRoles } from '../../../app/roles.ts'
import { readModels } from '../../../projections/registry.ts'
import { startPlatformApart, type PlatformApart, type RoleProcess } from '../../support/apart.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
  reviewOfCase,
  subscribeToEnds,
  webhookAbout,
  webhooksAbout,
} from '../../support/main-job.ts'
import { clientOf, fastSettings, waitFor } from '../../support/platform.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'
import { providerAt, type TestProvider } from '../../support/provider.ts'
import { startTraceReceiver, type TraceReceiver } from '../../support/trace-receiver.ts'
import { eventsOf } from '../bad-days/recorded-events.ts'
import { startImageHost } from '../main-job/image-host.ts'

/*
 * What two processes of a role must agree on. Each test acts through both APIs. Two projectors and two processors do the
 * work. One process alone answers all other questions about the same routes, in `main-job/`.
 */

const main = fileURLToPath(new URL('../../../app/main.ts', import.meta.url))
const patients = '/v1/clinical-api/patients'
const assessments = '/v1/clinical-api/assessments'
const subscriptions = '/v1/clinical-api/webhook-subscriptions'
const forEver = 1_000_000

let dataDir: string
let database: FreshDatabases
let platform: PlatformApart
let watched: WatchedPlatform
let provider: TestProvider
let receiver: WebhookReceiver
let collector: TraceReceiver
/** Addresses of the API processes. */
let apis: readonly string[]
/** The same client at each of the two API processes. */
let one: ApiClient
let other: ApiClient
let patientId: string

beforeAll(async () => {
  ;[dataDir, database, receiver, collector] = await Promise.all([
    mkdtemp(join(tmpdir(), 'two-processes-')),
    freshDatabases(),
    startWebhookReceiver(),
    startTraceReceiver(),
  ])
  platform = await startPlatformApart(dataDir, {
    ...fastSettings,
    PROVIDER_RESULT_MAX_ATTEMPTS: '1000',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    PORT: String(await freePort()),
    ESDB_URL: '',
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
  })
  const { base_url: baseUrl, org_id: orgId, provider_url: providerUrl, control_secret: secret } = platform.credentials
  watched = watchPlatform(baseUrl)
  provider = providerAt(providerUrl ?? '', secret ?? '', true)
  const token = textAt((await requestToken(baseUrl, clientOf(platform, 0))).body, 'access_token')
  apis = platform.instances.filter(({ role }) => role === 'api').map(({ port }) => `http://127.0.0.1:${port}`)
  const [first, second] = apis.map((base) => watched.watch(createApiClient(base, token)))
  if (first === undefined || second === undefined) throw new Error('there are no two APIs')
  ;[one, other] = [first, second]
  patientId = await consentedPatient(one, await createConsentTerms(one, orgId))
  await subscribeToEnds(one, receiver)
})
beforeEach(() => provider.reset())
afterAll(async () => {
  await platform.stop()
  await receiver.close()
  await collector.close()
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
})

/** Sends requests at once, by turns to each API. */
function atOnce(count: number, send: (api: ApiClient, place: number) => Promise<ApiAnswer>): Promise<ApiAnswer[]> {
  return Promise.all(Array.from({ length: count }, (_, place) => send(place % 2 === 0 ? one : other, place)))
}

function countsOf(answers: readonly ApiAnswer[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...Map.groupBy(answers, ({ status }) => status)].map(([status, alike]) => [status, alike.length]),
  )
}

const firstOnes = (answers: readonly ApiAnswer[]) =>
  answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)

test('both processes of every role are ready, show their role, and do their part', async () => {
  const reports = await Promise.all(
    platform.instances.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/health/ready`)).json()),
  )
  const roles = reports.map((report) => `${textAt(report, 'status')} ${JSON.stringify(at(report, 'roles'))}`)
  expect(roles.toSorted()).toEqual([...allRoles, ...allRoles].map((role) => `ok ["${role}"]`).toSorted())
  expect(platform.front.answered().every((count) => count > 0)).toBe(true)
})

test('a read at one API waits for what the other one wrote, and for an end that a processor causes', async () => {
  const body = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' }
  for (const [writer, reader] of [
    [one, other],
    [other, one],
  ] as const) {
    const written = await expecting(201, writer.call(patients, { body, headers: { prefer: 'respond-async' } }))
    const headers = { 'x-min-commit-position': written.headers.get('x-commit-position') ?? '' }
    const read = await expecting(200, reader.call(`${patients}/${textAt(written.body, 'id')}`, { headers }))
    expect([read.body, read.headers.get('etag')]).toEqual([written.body, written.headers.get('etag')])

    const id = await requestAssessment(writer, assessmentBody(textAt(written.body, 'id'), [await photograph()]))
    const held = await expecting(200, reader.call(`${assessments}/${id}`, { headers: { prefer: 'wait=25' } }))
    expect([at(held.body, 'status'), held.headers.get('preference-applied')]).toEqual(['failed', 'wait=25'])
  }
})

test('a page, a version and a link of one API are valid at the other', async () => {
  const id = await registerPatient(one)
  const made: string[] = []
  for (const api of [one, other, one]) {
    const opened = await expecting(201, api.call('/v1/clinical-api/cases', { body: { patient_id: id } }))
    made.push(textAt(opened.body, 'id'))
  }
  const path = `/v1/clinical-api/cases?patient_id=${id}`
  const found: unknown[] = []
  let next: string | undefined = `${path}&limit=1`
  while (next !== undefined) {
    const { body, headers } = await expecting(200, (found.length % 2 === 0 ? one : other).call(next))
    found.push(at(body, 'data', 0, 'id'))
    next = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
  }
  expect([found.length, new Set(found)]).toEqual([3, new Set<unknown>(made)])

  const read = await expecting(200, one.call(`${patients}/${id}`))
  const etag = read.headers.get('etag') ?? ''
  await expecting(304, other.call(`${patients}/${id}`, { headers: { 'if-none-match': etag } }))
})

test('an analysis takes each step once', async () => {
  const photographs = [await photograph('dermoscopic'), await photograph('macroscopic')]
  await provider.result({ sha256: '*', not_ready_polls: 2 })
  const id = await requestAssessment(one, assessmentBody(patientId, photographs))
  expect(at(await endOf(other, id), 'status')).toBe('completed')
  expect((await provider.caseCalls()).map(({ call, status }) => `${call} ${status}`)).toEqual([
    'case 200',
    'image 200',
    'image 200',
    'process 200',
    'result 200',
    'result 200',
    'result 200',
  ])
  await webhookAbout(receiver, id)
  await whileAnotherRuns()
  expect(webhooksAbout(receiver, id)).toHaveLength(1)
})

test('an assessment is one trace over API, projector and processor, from the POST to the webhook', async () => {
  const traceId = randomBytes(16).toString('hex')
  const post = 'POST /v1/clinical-api/assessments'
  const body = assessmentBody(patientId, [await photograph()])
  const id = await requestAssessment(one, body, { traceparent: `00-${traceId}-00f067aa0ba902b7-01` })
  expect((await webhookAbout(receiver, id)).headers['traceparent']).toContain(`00-${traceId}-`)
  const trace = await collector.trace(traceId, [
    'append assessment',
    'project assessments',
    'project webhooks_todo',
    'step ai_review.start',
    'call provider',
    'append assessment.events',
    'step webhooks.deliver',
    'call webhook',
  ])
  expect(trace.root.name).toBe(post)
  const processOf = (name: string) => trace.span(name)?.resource['service.instance.id']
  expect(new Set([post, 'project assessments', 'step webhooks.deliver'].map(processOf)).size).toBe(3)
})

/** Runs another assessment from request to webhook. This gives enough time for a wrong extra effect. */
async function whileAnotherRuns(): Promise<void> {
  const id = await requestAssessment(other, assessmentBody(patientId, [await photograph()]))
  expect(at(await endOf(one, id), 'status')).toBe('completed')
  await webhookAbout(receiver, id)
}

test('a patient who is changed through one API is read, found and changed again through the other', async () => {
  const mrn = (value: string) => [{ scheme: 'mrn', value }]
  const id = await registerPatient(one, { identifiers: mrn('before') })
  let { headers } = await expecting(200, other.call(`${patients}/${id}`))
  for (const [writer, reader, value] of [
    [one, other, 'first'],
    [other, one, 'second'],
  ] as const) {
    const change = {
      method: 'PATCH',
      body: { family_name: value, identifiers: mrn(value) },
      headers: { 'if-match': headers.get('etag') ?? '' },
    }
    const changed = await expecting(200, writer.call(`${patients}/${id}`, change))
    const minimum = { 'x-min-commit-position': changed.headers.get('x-commit-position') ?? '' }
    const read = await expecting(200, reader.call(`${patients}/${id}`, { headers: minimum }))
    expect([read.body, read.headers.get('etag')]).toEqual([changed.body, changed.headers.get('etag')])
    const listed = await expecting(200, reader.call(`${patients}?identifier=mrn|${value}`, { headers: minimum }))
    expect(at(listed.body, 'data', 0, 'id')).toBe(id)
    await expecting(412, reader.call(`${patients}/${id}`, change))
    ;({ headers } = read)
  }
  const versions = { 'if-match': headers.get('etag') ?? '' }
  const raced = await atOnce(2, (api, place) =>
    api.call(`${patients}/${id}`, { method: 'PATCH', body: { given_name: `Name ${place}` }, headers: versions }),
  )
  expect(countsOf(raced)).toEqual({ 200: 1, 412: 1 })
})

test('fifty requests with one key at once make one assessment, one review, one provider case and one webhook', async () => {
  const photo = await photograph()
  const body = assessmentBody(patientId, [photo])
  const headers = { 'idempotency-key': 'fifty' }
  const answers = await atOnce(50, (api) => api.call(assessments, { body, headers }))
  expect(countsOf(answers)).toEqual({ 202: 50 })
  expect(firstOnes(answers)).toHaveLength(1)
  const [id = '', ...others] = new Set(answers.map((answer) => textAt(answer.body, 'id')))
  expect(others).toEqual([])
  const ended = await endOf(other, id)
  expect(at(ended, 'status')).toBe('completed')
  const reviews = await expecting(200, one.call(`/v1/ai-reviews?caseId=${textAt(ended, 'case_id')}`))
  expect(at(reviews.body, 'data')).toHaveLength(1)
  expect((await provider.caseCalls()).map(({ call }) => call)).toEqual(['case', 'image', 'process', 'result'])
  await webhookAbout(receiver, id)
  await whileAnotherRuns()
  expect(webhooksAbout(receiver, id)).toHaveLength(1)
  const another = { body: { ...body, external_reference: 'another' }, headers }
  for (const api of [one, other]) await expecting(409, api.call(assessments, another))
})

test('requests at once without a key register one patient, one subscription, and no more than the limit', async () => {
  const patient = {
    given_name: 'Ada',
    family_name: 'Example',
    dob: '1980-02-29',
    identifiers: [{ scheme: 'mrn', value: 'at once' }],
  }
  const body = { patient, finding: { finding_type: 'rash' }, images: [(await photograph()).entry] }
  const answers = await atOnce(20, (api) => api.call(assessments, { body }))
  expect(countsOf(answers)).toEqual({ 202: 20 })
  expect(new Set(answers.map((answer) => at(answer.body, 'patient_id'))).size).toBe(1)
  expect(new Set(answers.map((answer) => at(answer.body, 'id'))).size).toBe(20)

  const subscribe = (api: ApiClient, place: number) =>
    api.call(subscriptions, { body: { url: `http://127.0.0.1:1/${place}`, event_types: ['assessment.failed'] } })
  const equal = await atOnce(10, (api) => subscribe(api, 0))
  expect(countsOf(equal)).toEqual({ 200: 9, 201: 1 })
  // The receiver's subscription is the first of twenty.
  expect(countsOf(await atOnce(20, (api, place) => subscribe(api, place + 1)))).toEqual({ 201: 18, 409: 2 })
})

interface Running {
  readonly assessmentId: string
  readonly caseId: string
  readonly reviewId: string
  readonly imageId: string
}

/** An assessment whose review polls for a result that never comes. */
async function polling(): Promise<Running> {
  const photo = await photograph()
  await provider.result({ sha256: photo.sha256, not_ready_polls: forEver })
  const { body } = await expecting(202, one.call(assessments, { body: assessmentBody(patientId, [photo]) }))
  const caseId = textAt(body, 'case_id')
  const review = await waitFor('a review that polls', async () => {
    const seen = await reviewOfCase(other, caseId)
    return at(seen, 'status') === 'awaiting_result' ? seen : undefined
  })
  const ids = { assessmentId: textAt(body, 'id'), imageId: textAt(body, 'images', 0, 'id') }
  return { ...ids, caseId, reviewId: textAt(review, 'id') }
}

async function factsOf(category: string, id: string): Promise<readonly string[]> {
  const { eventstore_url: url, org_id: orgId } = platform.credentials
  return (await eventsOf(url ?? '', `${category}-${orgId}-${id}`)).map(({ type }) => type)
}

test('a review that is cancelled through both APIs at once during a processor’s work ends once', async () => {
  const job = await polling()
  const headers = { 'idempotency-key': 'cancel-at-once' }
  const answers = await atOnce(50, (api) =>
    api.call(`/v1/ai-reviews/${job.reviewId}/cancel`, { method: 'POST', headers }),
  )
  expect(countsOf(answers)).toEqual({ 200: 50 })
  expect(firstOnes(answers)).toHaveLength(1)
  expect(await endOf(other, job.assessmentId)).toMatchObject({ status: 'failed', error: { code: 'CANCELLED' } })
  await whileAnotherRuns()
  expect((await factsOf('ai_review', job.reviewId)).filter((type) => type === 'AiReviewCancelled')).toHaveLength(1)
  expect(webhooksAbout(receiver, job.assessmentId)).toHaveLength(1)
})

test('a review that is superseded through both APIs at once during a processor’s work has one successor', async ({
  onTestFinished,
}) => {
  const job = await polling()
  const host = await startImageHost((await photograph()).bytes)
  onTestFinished(() => host.close())
  const presignedUrlExpiresAt = new Date(Date.now() + 60_000).toISOString()
  const image = { imageType: 'DERMOSCOPIC', presignedUrl: host.address(), presignedUrlExpiresAt }
  const images = [{ ...image, imageId: job.imageId }]
  const answers = await atOnce(2, (api) =>
    api.call(`/v1/ai-reviews/${job.reviewId}/supersede`, { body: { reason: 'new photographs', images } }),
  )
  expect(countsOf(answers)).toEqual({ 202: 1, 409: 1 })
  const { product_id: productId } = platform.credentials
  expect(await factsOf('ai_review_slot', `${job.caseId}.${productId}`)).toEqual([
    'AiReviewSlotClaimed',
    'AiReviewSlotClaimed',
  ])
  await provider.reset()
  expect(at(await endOf(other, job.assessmentId), 'status')).toBe('completed')
})

test('every delivery verifies with the secret of the receiver while an API replaces it', async ({ onTestFinished }) => {
  const mine = await startWebhookReceiver()
  onTestFinished(() => mine.close())
  const stranger = await registerPatient(one)
  const [first] = Object.values(Object(at((await one.call(subscriptions)).body, 'data')) as object)
  const path = `${subscriptions}/${textAt(first, 'id')}`
  await expecting(200, one.call(path, { method: 'PATCH', body: { url: mine.url } }))
  const secrets: string[] = []
  const rotate = async (api: ApiClient, graceSeconds: number) => {
    const body = { grace_seconds: graceSeconds }
    const rotated = await expecting(200, api.call(`${path}/rotate-secret`, { method: 'POST', body }))
    secrets.push(textAt(rotated.body, 'secret'))
  }
  const webhook = async (api: ApiClient) =>
    webhookAbout(mine, await requestAssessment(api, assessmentBody(stranger, [await photograph()])))
  const verifying = ({ body, headers }: ReceivedWebhook) =>
    secrets.map((secret) => {
      try {
        new Webhook(secret).verify(body, { ...headers })
        return true
      } catch (error) {
        if (error instanceof WebhookVerificationError) return false
        throw error
      }
    })
  await rotate(one, 0)
  expect(verifying(await webhook(other))).toEqual([true])
  const amid = await Promise.all([webhook(one), webhook(other), rotate(other, 3_600), webhook(one), webhook(other)])
  for (const delivered of amid) if (delivered !== undefined) expect(verifying(delivered)[0]).toBe(true)
  expect(verifying(await webhook(one))).toEqual([true, true])
  await rotate(one, 0)
  expect(verifying(await webhook(other))).toEqual([true, false, true])
})

const admin = () => ({ 'x-admin-api-secret': platform.credentials.admin_api_secret ?? '' })

async function registerClient(): Promise<ClientSecrets> {
  const body = { name: 'to be ended', org_id: platform.credentials.org_id, scopes: ['patients:read'] }
  const answer = await fetch(`${apis[0]}/v1/auth/clients`, {
    method: 'POST',
    headers: { ...admin(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const record: unknown = await answer.json()
  return { client_id: textAt(record, 'client_id'), client_secret: textAt(record, 'client_secret') }
}

/** A token that each API process has verified and cached. */
async function tokenInUse(client: ClientSecrets): Promise<string> {
  const token = textAt((await expecting(200, requestToken(apis[0] ?? '', client))).body, 'access_token')
  expect(await statuses(token)).toEqual(apis.map(() => 200))
  return token
}

const statuses = (token: string) =>
  Promise.all(
    apis.map(async (base) => (await createApiClient(base, token).call('/v1/clinical-api/body-sites?limit=1')).status),
  )
/** It takes less than a second on a quiet machine. */
const untilRefused = (token: string) =>
  expect.poll(() => statuses(token), { timeout: 60_000 }).toEqual(apis.map(() => 401))

test('a token revoked at one API process is refused by the other, and by one that starts later', async () => {
  const client = await registerClient()
  const [token, kept] = [await tokenInUse(client), await tokenInUse(client)]
  const form = new URLSearchParams({ ...client, token })
  expect((await fetch(`${apis[1]}/v1/auth/oauth/revoke`, { method: 'POST', body: form })).status).toBe(200)
  await untilRefused(token)
  expect(await statuses(kept)).toEqual([200, 200])

  const { port } = await platform.another('api')
  apis = [...apis, `http://127.0.0.1:${port}`]
  expect([await statuses(token), await statuses(kept)]).toEqual([
    [401, 401, 401],
    [200, 200, 200],
  ])
})

test('a disabled client, a lost scope and a deleted client end tokens in every API process', async () => {
  const client = await registerClient()
  const path = `${apis[0]}/v1/auth/clients/${client.client_id}`
  const headers = { ...admin(), 'content-type': 'application/json' }
  const change = async (body: object) =>
    expect((await fetch(path, { method: 'PATCH', headers, body: JSON.stringify(body) })).status).toBe(200)

  const first = await tokenInUse(client)
  await change({ status: 'disabled' })
  await untilRefused(first)
  await change({ status: 'active', scopes: ['patients:read', 'cases:read'] })
  const second = await tokenInUse(client)
  await change({ scopes: ['patients:read'] })
  await untilRefused(second)
  const third = await tokenInUse(client)
  expect((await fetch(path, { method: 'DELETE', headers: admin() })).status).toBe(204)
  await untilRefused(third)
  expect(await statuses(first)).toEqual(apis.map(() => 401))
})

test('the command keys end token ends every token of a key in every API process, and another key signs', async () => {
  const client = await registerClient()
  const token = await tokenInUse(client)
  const [header = ''] = token.split('.')
  const kid = textAt(JSON.parse(Buffer.from(header, 'base64url').toString()), 'kid')
  const env = { ...process.env, ...platform.environment, BASE_URL: '' }
  const { stdout } = await promisify(execFile)(process.execPath, [main, 'keys', 'end', 'token', '--kid', kid], { env })
  expect(JSON.parse(stdout)).toEqual({ kid, signs: expect.not.stringMatching(kid) })
  await untilRefused(token)
  await tokenInUse(client)
})

test('every answer is documented', async () => {
  expect(await watched.undocumented()).toEqual([])
})

const killed = new Set<RoleProcess>()
const living = () => platform.instances.filter((instance) => !killed.has(instance))

async function killProjectors(): Promise<void> {
  const victims = living().filter(({ role }) => role === 'projector')
  for (const victim of victims) killed.add(victim)
  await Promise.all(victims.map((victim) => victim.kill()))
}

test('after all projectors were killed, the API and the processor show each read model that no process runs', async () => {
  const watched = living().filter(({ role }) => role !== 'projector')
  expect(new Set(watched.map(({ role }) => role))).toEqual(new Set(['api', 'processor']))
  const stateOf = async ({ port }: RoleProcess) => {
    const health = await fetch(`http://127.0.0.1:${port}/health`)
    const checks = at(await health.json(), 'checks') as readonly unknown[]
    const check = checks.find((one) => at(one, 'name') === 'projections')
    const figures = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const unattended = figures.match(/(?<=^projector_has_process\{projector=")\w+(?="\} 0$)/gm) ?? []
    return { status: health.status, check, unattended }
  }
  for (const instance of watched)
    expect(await stateOf(instance)).toMatchObject({ check: { status: 'ok' }, unattended: [] })

  await killProjectors()
  expect(living()).toEqual(watched)
  const names = readModels.map(({ name }) => name).toSorted()
  for (const instance of watched) {
    const shown = await waitFor(`the ${instance.role} to show it`, async () => {
      const state = await stateOf(instance)
      return state.status === 503 && state.unattended.length === names.length ? state : undefined
    })
    const detail = `no process runs ${names.join(', ')}`
    expect(shown).toEqual({
      status: 503,
      check: { name: 'projections', status: 'failing', detail },
      unattended: names,
    })
  }
  await platform.another('projector')
  for (const instance of watched)
    await waitFor(`the ${instance.role} to see the new projector`, async () =>
      at((await stateOf(instance)).check, 'status') === 'ok' ? true : undefined,
    )
})

test('SIGTERM ends a process of each role cleanly', async () => {
  const ended = await Promise.all(platform.instances.map(async (instance) => [instance.role, await instance.stop()]))
  // Three APIs, both processors, and the projector that replaced the killed ones.
  expect(ended.filter(([, code]) => code === 0).length).toBe(6)
  expect(ended.filter(([, code]) => code !== null && code !== 0)).toEqual([])
})
