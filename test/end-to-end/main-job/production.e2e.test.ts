import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOperator, createOrdered } from '../../../app/administrators.ts'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { onConfiguredServers } from '../../../app/configured-servers.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { securedEventStoreUrl } from 'embedded-eventstore/testing'
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
  webhookAbout,
  withoutSignatures,
  type ConsentTerms,
} from '../../support/main-job.ts'
import { areRolesApart, clientOf, startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { standInSecret, startKeycloakStandIn, type KeycloakStandIn } from '../../support/keycloak-stand-in.ts'
import { openReceivers } from '../../support/receivers.ts'
import { startTlsFront, type TlsFront } from '../../support/tls-front.ts'
import { operationsStream } from '../../../streams/operations/aggregate.ts'
import type { OperationsEvent } from '../../../streams/operations/events.ts'
import { startUnmarkedProvider, type UnmarkedProvider } from '../../support/unmarked-provider.ts'

let receiver: WebhookReceiver
let front: TlsFront
let unmarked: UnmarkedProvider
let keycloak: KeycloakStandIn
let platform: TestPlatform
let watched: WatchedPlatform
let api: ApiClient
let orgId: string
let terms: ConsentTerms
/** What the first administrator sends. */
let administrator: { 'x-actor-context': string }

/** Ends what has been started. A start that fails half-way is the only error that the report then has. */
const closing: (() => Promise<void>)[] = []

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'production-'))
  closing.push(() => rm(folder, { recursive: true, force: true }))
  receiver = await startWebhookReceiver()
  closing.push(() => receiver.close())
  front = await startTlsFront(receiver.url)
  closing.push(() => front.close())
  const trusted = join(folder, 'receiver.pem')
  await writeFile(trusted, front.certificate)
  const { host } = new URL(front.url)
  unmarked = await startUnmarkedProvider()
  closing.push(() => unmarked.close())
  keycloak = await startKeycloakStandIn()
  closing.push(() => keycloak.close())
  const receivers = await openReceivers()
  closing.push(() => receivers.remove())
  platform = await startTestPlatform({
    env: {
      ...unmarked.env,
      // Production refuses a store without TLS and accounts. Empty: an embedded one, which has both.
      ESDB_URL: securedEventStoreUrl,
      PROVIDER_NAME: 'dermatology',
      APP_ENV: 'production',
      IDP_MODE: 'keycloak',
      KEYCLOAK_BASE_URL: keycloak.url,
      KEYCLOAK_REALM: 'clinic',
      KEYCLOAK_CLIENT_ID: 'platform',
      KEYCLOAK_CLIENT_SECRET: standInSecret,
      EGRESS_ALLOW: host,
      NODE_EXTRA_CA_CERTS: trusted,
      SMTP_URL: receivers.smtpUrl,
      SMTP_FROM: 'no-reply@clinic.test',
    },
  })
  closing.push(() => platform.stop())
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  orgId = platform.process.credentials.org_id
  administrator = await contextOf(await createAdministrator('first@example.org'))
})

afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

/** As `administrators create` does it. Resolves to the user's id. */
async function createAdministrator(email: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const configuration = loadConfiguration({ ...(await platform.operatorEnv()), ...env })
  const order = { orgId, email, name: undefined }
  return (await createOrdered(configuration, order, createLogger({ level: 'silent' }))).user_id
}

async function contextOf(userId: string): Promise<{ 'x-actor-context': string }> {
  const { body } = await expecting(200, api.call(`/v1/users/${userId}/context?org_id=${orgId}`))
  return { 'x-actor-context': textAt(body, 'token') }
}

function subscribe(url: string) {
  return api.call('/v1/clinical-api/webhook-subscriptions', {
    body: { url, event_types: ['assessment.completed', 'assessment.failed'] },
  })
}

test('/health shows its checks, without settings or the admin secret', async () => {
  const { body } = await watched.send('/health')
  const checks = at(body, 'checks') as readonly { readonly name: string }[]
  expect(checks.map(({ name }) => name).toSorted()).toEqual([
    'calls-held',
    'channels',
    'chat_provider',
    'database',
    'ended_tokens',
    'erasures',
    'event_store',
    'event_store_room',
    'event_store_subscriptions',
    'first_catch_up',
    'identity_provider',
    'mail_provider',
    'notification_events',
    'object_store',
    'projections',
    'provider',
    'sealed_log',
    'steps',
  ])
  expect(JSON.stringify(body)).not.toMatch(/admin|secret|configuration/i)
})

test('the main job works in production: admin routes as the first administrator, the webhook over TLS', async () => {
  expect(at((await watched.send('/health')).body, 'profile')).toBe('production')
  terms = await createConsentTerms(api, orgId, 'ai_analysis', administrator)
  const subscription = await expecting(201, subscribe(front.url))
  const id = await requestAssessment(
    api,
    assessmentBody(await consentedPatient(api, terms), [
      await photograph(),
      await photograph('macroscopic', 'lesion-3.png'),
    ]),
  )
  const completed = await endOf(api, id)
  expect([at(completed, 'status'), at(completed, 'result', 'ai_provider')]).toEqual(['completed', 'dermatology'])
  const webhook = await webhookAbout(receiver, id)
  const verified = new Webhook(textAt(subscription.body, 'secret')).verify(webhook.body, { ...webhook.headers })
  expect(withoutSignatures(verified)).toEqual(withoutSignatures(completed))
  expect(await unmarked.provider.story()).toEqual([
    'login 200',
    'case 200',
    'image 200',
    'image 200',
    'process 200',
    'result 200',
  ])
})

test('the whole administration works without ADMIN_API_SECRET', async () => {
  expect(platform.process.credentials.admin_api_secret).toBe(null)
  const create = async (path: string, body: unknown) => {
    const created = await expecting(201, api.call(path, { body, headers: administrator }))
    return textAt(created.body, 'id')
  }
  const permissions = ['consents:admin']
  const roleId = await create('/v1/admin/roles', {
    organisationId: orgId,
    name: 'Consents',
    permissions,
  })
  const person = { email: 'second@example.org', displayName: 'Ada Example', userType: 'clinician', roleId }
  const userId = await create('/v1/admin/users', person)
  expect(keycloak.accounts.size).toBe(2)
  const client = { name: 'portal', scopes: ['patients:read'], org_id: orgId }
  await expecting(201, api.call('/v1/auth/clients', { body: client, headers: administrator }))
  await expecting(200, api.call('/v1/admin/users', { headers: administrator }))

  const headers = await contextOf(userId)
  const type = { code: 'research', displayName: 'Research', legalBasis: 'consent', required: false }
  await expecting(201, api.call('/v1/admin/consent-types', { body: type, headers }))
  await expecting(403, api.call('/v1/admin/users', { headers }))
  const roles = `/v1/admin/roles/${roleId}`
  await expecting(200, api.call(roles, { method: 'PATCH', body: { permissions: [] }, headers: administrator }))
  // The header still names the permission; only our records count.
  await waitFor('the lost permission', async () => {
    const { status } = await api.call('/v1/admin/consent-types', { headers })
    return status === 403 ? true : undefined
  })
})

test('operators create makes an operator once, with a role that administrators do not have', async () => {
  const permissionsOf = async (userId: string) =>
    at((await expecting(200, api.call(`/v1/users/${userId}/context?org_id=${orgId}`))).body, 'permissions')
  const configuration = loadConfiguration(await platform.operatorEnv())
  const create = (email: string, isReadOnly: boolean) =>
    createOperator(configuration, { orgId, email, name: undefined, isReadOnly }, createLogger({ level: 'silent' }))
  const operator = await create('operator@example.org', false)
  expect(operator).toEqual({ org_id: orgId, user_id: expect.any(String), email: 'operator@example.org' })
  expect(await create('operator@example.org', false)).toEqual(operator)
  const reader = await create('reader@example.org', true)
  expect(await permissionsOf(operator.user_id)).toEqual(['operations:read', 'operations:write'])
  expect(await permissionsOf(reader.user_id)).toEqual(['operations:read'])
  await expect(create('first@example.org', false)).rejects.toThrow('another user has this address')
  // Before the user exists, once, and not for a refusal.
  const created = await onConfiguredServers(configuration, createLogger({ level: 'silent' }), async ({ store }) => {
    const actions: OperationsEvent['data'][] = []
    for await (const { data } of store.readStream<OperationsEvent>(operationsStream.stream)) actions.push(data)
    return actions.filter(({ action }) => action === 'operator.create')
  })
  expect(created).toMatchObject([
    { subject: { kind: 'user', id: operator.user_id }, actor: { kind: 'command' } },
    { subject: { kind: 'user', id: reader.user_id } },
  ])
})

test('a repeat of administrators create creates nothing, and each failure has a reason', async () => {
  const first = await createAdministrator('first@example.org')
  const accounts = keycloak.accounts.size
  expect(await createAdministrator('FIRST@example.org')).toBe(first)
  expect(keycloak.accounts.size).toBe(accounts)
  await expect(createAdministrator('second@example.org')).rejects.toThrow('another user has this address')
  const unreachable = { KEYCLOAK_BASE_URL: 'http://127.0.0.1:1' }
  await expect(createAdministrator('third@example.org', unreachable)).rejects.toThrow('does not answer')
})

test('an actor context of an unknown user gives no access', async () => {
  const { status, body } = await api.call('/v1/admin/consent-types', {
    headers: { 'x-actor-context': actorContext(orgId, ['consents:admin']) },
  })
  expect([status, at(body, 'code')]).toEqual([403, 'actor-context-invalid'])
})

test.each([
  'http://example.com/hook',
  'https://10.0.0.1/hook',
  'https://127.0.0.1:1/hook',
  'https://169.254.169.254/',
  'https://[::1]/hook',
  'https://localhost/hook',
])('a webhook to %s is refused', async (url) => {
  const { status, body } = await subscribe(url)
  expect([status, at(body, 'code'), at(body, 'errors', 0, 'pointer')]).toEqual([400, 'webhook-url-forbidden', '/url'])
})

test('an image without dimensions is refused', async () => {
  const data = Buffer.concat([Buffer.from([0xff, 0xd8, 0xff]), Buffer.alloc(64)]).toString('base64')
  const body = {
    ...assessmentBody(await registerPatient(api), []),
    images: [{ capture_type: 'other', mime_type: 'image/jpeg', data }],
  }
  const answer = await api.call('/v1/clinical-api/assessments', { body })
  expect([answer.status, at(answer.body, 'code'), at(answer.body, 'errors', 0, 'code')]).toEqual([
    400,
    'image-invalid',
    'image-dimensions',
  ])
})

test('a client with too many requests must wait until Retry-After, others need not', async () => {
  const hasty = watched.watch(await platform.connect(clientOf(platform.process, 1)))
  const answers = await Promise.all(Array.from({ length: 400 }, () => hasty.call('/v1/ai-reviews?limit=1')))
  const refused = answers.filter(({ status }) => status === 429)
  expect([refused.length > 0, answers.length - refused.length >= 100]).toEqual([true, true])
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]))
  for (const { body, headers } of refused) {
    expect([at(body, 'code'), at(body, 'retriable'), headers.get('retry-after')]).toEqual(['quota-exceeded', true, '1'])
    expect(headers.get('ratelimit')).toMatch(/^"client";r=0;t=\d+, "organisation";r=\d+;t=\d+$/)
  }
  await expecting(200, api.call('/v1/ai-reviews?limit=1'))
  await sleep(Number(refused[0]?.headers.get('retry-after')) * 1000)
  await expecting(200, hasty.call('/v1/ai-reviews?limit=1'))
})

test('a client has a limit of tokens per minute, and requests with a wrong secret do not count', async () => {
  const { client_id, client_secret } = clientOf(platform.process, 1)
  const ask = (secret: string) =>
    watched.send('/v1/auth/oauth/token', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret: secret }).toString(),
    })
  // More than two instances accept, which count separately.
  const guesses: ApiAnswer[] = []
  for (let time = 0; time < 60; time += 1) guesses.push(await ask('wrong'))
  expect(guesses.slice(0, 10).map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 401))
  const late = guesses.filter(({ status }) => status === 429)
  expect([
    late.length > 0,
    late.every(({ body, headers }) => at(body, 'code') === 'quota-exceeded' && Number(headers.get('retry-after')) >= 1),
  ]).toEqual([true, true])

  const answers: ApiAnswer[] = []
  for (let time = 0; time < 100; time += 1) answers.push(await ask(client_secret))
  expect(answers.slice(0, 20).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
  expect(answers[0]?.headers.get('ratelimit-policy')).toBe('"tokens";q=30;w=60')
  const refused = answers.find(({ status }) => status === 429)
  expect([at(refused?.body, 'code'), Number(refused?.headers.get('retry-after')) >= 1]).toEqual([
    'quota-exceeded',
    true,
  ])
  await platform.connect()
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toContain('subscribeWebhook 400')
  expect(await watched.undocumented()).toEqual([])
})

test('a finding and an image may only name a body site of the catalogue, which is read page by page', async () => {
  const whole = await expecting(200, api.call('/v1/clinical-api/body-sites?limit=100'))
  const sites = at(whole.body, 'data')
  if (!Array.isArray(sites)) throw new Error('the catalogue is no list')
  expect(sites.length).toBeGreaterThanOrEqual(30)
  const paged: unknown[] = []
  let cursor = ''
  do {
    const { body } = await expecting(200, api.call(`/v1/clinical-api/body-sites?limit=20${cursor}`))
    paged.push(...Object(at(body, 'data')))
    cursor = at(body, 'has_more') === true ? `&cursor=${textAt(body, 'next_cursor')}` : ''
  } while (cursor !== '')
  expect(paged).toEqual(sites)

  const { entry } = await photograph()
  const create = async (bodySiteId: string) =>
    api.call('/v1/clinical-api/assessments', {
      body: {
        patient_id: await registerPatient(api),
        finding: { finding_type: 'lesion', body_site_id: bodySiteId },
        images: [entry],
      },
    })
  expect((await create(textAt(sites[7], 'id'))).status).toBe(202)
  const { status, body } = await create('0190b0a0-0000-7000-8000-000000000001')
  expect([status, at(body, 'errors', 0, 'pointer'), at(body, 'errors', 0, 'code')]).toEqual([
    400,
    '/finding/body_site_id',
    'unknown-body-site',
  ])
  const declare = async (body_site_id: string) =>
    api.call('/v1/clinical-api/images', {
      body: { patient_id: await registerPatient(api), capture_type: 'other', mime_type: 'image/jpeg', body_site_id },
    })
  expect((await declare(textAt(sites[7], 'id'))).status).toBe(201)
  const refused = await declare('0190b0a0-0000-7000-8000-000000000001')
  expect([refused.status, at(refused.body, 'errors', 0, 'pointer'), at(refused.body, 'errors', 0, 'code')]).toEqual([
    400,
    '/body_site_id',
    'unknown-body-site',
  ])
})

test('the simulator as provider gives no result: the assessment fails, and /health shows the fault', async () => {
  unmarked.showMark()
  const id = await requestAssessment(api, assessmentBody(await consentedPatient(api, terms), [await photograph()]))
  expect(await endOf(api, id)).toMatchObject({
    status: 'failed',
    result: null,
    error: { code: 'PROVIDER_UNAVAILABLE' },
  })
  if (areRolesApart) return
  const health = await watched.send('/health')
  expect(health.status).toBe(503)
  expect(at(health.body, 'checks')).toContainEqual({
    name: 'provider',
    status: 'failing',
    detail: 'PROVIDER_BASE_URL is the simulator: its answers are refused',
  })
})
