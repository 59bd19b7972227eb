import { afterAll, beforeAll, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { createApiClient, requestToken, type ApiAnswer, type ApiClient } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import { createConsentTerms, decideConsent, expecting, registerPatient } from '../../support/main-job.ts'
import { operationsOf, pathWith, type DocumentedOperation } from '../../support/operations.ts'
import { clientOf, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

const tokenPath = '/v1/auth/oauth/token'
const formType = { 'content-type': 'application/x-www-form-urlencoded' }

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let operations: readonly DocumentedOperation[]
let orgId: string
let client: { readonly client_id: string; readonly client_secret: string }

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  operations = await operationsOf(platform.baseUrl)
  orgId = platform.process.credentials.org_id
  client = clientOf(platform.process, 0)
})

afterAll(() => platform.stop())

function form(
  members: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiAnswer> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...members }).toString()
  return watched.send(tokenPath, { method: 'POST', headers: { ...formType, ...headers }, body })
}

function basic(id: string, secret: string): Record<string, string> {
  return {
    authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
  }
}

function call(
  { method }: DocumentedOperation,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiAnswer> {
  const body =
    method === 'POST' ? { headers: { 'content-type': 'application/json', ...headers }, body: '{}' } : { headers }
  return watched.send(path, { method, ...body })
}

const unknownId = '0190b0a0-0000-7000-8000-000000000001'
const anyValues = {
  id: unknownId,
  deliveryId: unknownId,
  imageId: unknownId,
  secretId: unknownId,
  typeId: unknownId,
  patientId: unknownId,
  membershipId: unknownId,
  userId: unknownId,
  productId: 'scanner',
  externalId: 'subject',
  typeCode: 'ai_analysis',
  name: 'patients',
  code: 'conflict',
  channel: 'assessment',
  level: '0',
  index: '000',
}

test('a token is issued by form and by HTTP Basic, with the requested scopes', async () => {
  const { client_id, client_secret } = client
  const scope = 'patients:write assessments:read'
  const answers = [
    await form({ client_id, client_secret, scope }),
    await form({ scope }, basic(client_id, client_secret)),
    await form({ scope, client_id }, basic(client_id, client_secret)),
  ]
  for (const { status, body, headers } of answers) {
    expect([status, at(body, 'scope'), at(body, 'token_type'), at(body, 'expires_in')]).toEqual([
      200,
      'assessments:read patients:write',
      'Bearer',
      3600,
    ])
    expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache'])
  }
})

test('all kinds of wrong credentials are invalid_client', async () => {
  const { client_id, client_secret } = client
  const answers = [
    await form({ client_id, client_secret: 'wrong' }),
    await form({ client_id: unknownId, client_secret }),
    await form({ client_id: 'nobody', client_secret }),
    await form({}, basic(client_id, 'wrong')),
    await form({}, basic(unknownId, client_secret)),
    await form({}, { authorization: 'Basic !' }),
    await form({}),
    await form({ client_id }),
  ]
  expect(answers[0]?.body).toMatchObject({
    error: 'invalid_client',
    error_description: expect.any(String),
    status: 401,
    title: expect.any(String),
    detail: expect.any(String),
    type: expect.stringMatching(/\/problems\/client-invalid$/),
  })
  for (const { status, body, headers } of answers) {
    expect([status, headers.get('content-type'), headers.get('www-authenticate')]).toEqual([
      401,
      'application/json; charset=utf-8',
      'Basic realm="clinical-assessment-platform"',
    ])
    expect(body).toEqual(answers[0]?.body)
  }
})

test.each([
  { what: 'another grant', members: { grant_type: 'password' }, error: 'unsupported_grant_type' },
  { what: 'an unknown scope', members: { scope: 'patients:write patients:burn' }, error: 'invalid_scope' },
  { what: 'a repeated scope', members: { scope: 'patients:write patients:write' }, error: 'invalid_scope' },
  { what: 'a scope that the client lacks', members: { scope: 'ai-review:read-raw' }, error: 'invalid_scope' },
])('$what is $error', async ({ members, error }) => {
  const { status, body } = await form({ client_id: client.client_id, client_secret: client.client_secret, ...members })
  expect([status, at(body, 'error'), at(body, 'status')]).toEqual([400, error, 400])
})

test('an invalid token request is refused', async () => {
  const { client_id, client_secret } = client
  const noGrant = await watched.send(tokenPath, { method: 'POST', headers: formType, body: `client_id=${client_id}` })
  const twice = await form({ client_id, client_secret }, basic(client_id, client_secret))
  const repeated = await watched.send(tokenPath, {
    method: 'POST',
    headers: formType,
    body: 'grant_type=client_credentials&grant_type=client_credentials',
  })
  for (const { status, body } of [noGrant, twice, repeated])
    expect([status, at(body, 'error')]).toEqual([400, 'invalid_request'])
  const json = await watched.send(tokenPath, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  expect([json.status, at(json.body, 'error')]).toEqual([415, 'invalid_request'])
  expect(textAt(json.body, 'error_description')).toContain('application/x-www-form-urlencoded')
})

test('no route that needs a token answers without a valid one', async () => {
  const guarded = operations.filter(({ scopes }) => scopes !== undefined)
  expect(guarded.length).toBeGreaterThanOrEqual(15)
  const [one, another] = [await tokenFor('patients:read'), await tokenFor('cases:read')]
  const tampered = one.replace(/[^.]+$/, another.slice(another.lastIndexOf('.') + 1))
  for (const operation of guarded) {
    const path = pathWith(operation, anyValues)
    const missing = await call(operation, path)
    expect([operation.operationId, missing.status, at(missing.body, 'code')]).toEqual([
      operation.operationId,
      401,
      'token-missing',
    ])
    expect(missing.headers.get('www-authenticate')).toBe('Bearer realm="clinical-assessment-platform"')
  }
  const [first] = guarded
  if (first === undefined) throw new Error('no route needs a token')
  for (const authorization of ['Bearer nonsense', `Bearer ${tampered}`, 'Basic abc']) {
    const wrong = await call(first, pathWith(first, anyValues), { authorization })
    expect([authorization, wrong.status, at(wrong.body, 'code')]).toEqual([authorization, 401, 'token-invalid'])
  }
})

// `test/app/documentation.int.test.ts` asks every route without its scope.
test('a token lacks what is not in its scope, and a write scope includes its read', async () => {
  const writer = watched.watch(createApiClient(platform.baseUrl, await tokenFor('patients:write')))
  const id = await registerPatient(writer)
  expect((await writer.call(`/v1/clinical-api/patients/${id}`)).status).toBe(200)
  const lacking = await writer.call(`/v1/clinical-api/cases/${id}`)
  expect([lacking.status, lacking.body]).toEqual([
    403,
    expect.objectContaining({
      code: 'insufficient-scope',
      required_scopes: operations.find(({ operationId }) => operationId === 'getCase')?.scopes,
    }),
  ])
})

async function tokenFor(scope: string): Promise<string> {
  return textAt(
    (await expecting(200, form({ client_id: client.client_id, client_secret: client.client_secret, scope }))).body,
    'access_token',
  )
}

const typeBody = (code: string) => ({ code, displayName: 'Test', legalBasis: 'consent', required: false })

test('an admin route needs an actor context with the permission', async () => {
  const path = '/v1/admin/consent-types'
  const platformClient = watched.watch(await platform.connect(clientOf(platform.process, 2)))
  const admits = actorContext(orgId, ['consents:admin'])
  const cases: readonly (readonly [ApiClient, string | undefined, number, string])[] = [
    [api, undefined, 403, 'actor-context-missing'],
    [api, actorContext(orgId, ['users:admin']), 403, 'permission-missing'],
    [api, actorContext(unknownId, ['consents:admin']), 403, 'org-mismatch'],
    [api, 'nonsense', 403, 'actor-context-invalid'],
    [api, 'a.b.c', 403, 'actor-context-invalid'],
    [
      api,
      actorContext(
        orgId,
        Array.from({ length: 400 }, (_, place) => `permission:${place}`),
      ),
      403,
      'actor-context-invalid',
    ],
    [platformClient, admits, 403, 'actor-context-not-accepted'],
  ]
  for (const [caller, context, status, code] of cases) {
    const answer = await caller.call(path, context === undefined ? {} : { headers: { 'x-actor-context': context } })
    expect([answer.status, at(answer.body, 'code')]).toEqual([status, code])
  }
  const lacking = await api.call(path, { headers: { 'x-actor-context': actorContext(orgId, []) } })
  expect(at(lacking.body, 'required_permission')).toBe('consents:admin')
  await expecting(
    200,
    api.call(path, { headers: { 'x-actor-context': actorContext(orgId.toUpperCase(), ['consents:admin']) } }),
  )
})

test('the actor of a decision is the user of the actor context', async () => {
  const terms = await createConsentTerms(api, orgId, 'actor_test')
  const path = `/v1/patients/${await registerPatient(api)}/consents`
  const body = { ...terms, decision: 'granted' }
  const headers = { 'x-actor-context': actorContext(orgId, []) }
  expect(at((await expecting(201, api.call(path, { body, headers }))).body, 'recorded_by')).toBe(
    '0190b0a0-0000-7000-8000-000000000001',
  )
  expect(
    at(
      (await expecting(201, api.call(path, { body: { ...body, recorded_by: 'ward B' }, headers }))).body,
      'recorded_by',
    ),
  ).toBe('ward B')
  const invalid = await api.call(path, { body, headers: { 'x-actor-context': 'nonsense' } })
  expect([invalid.status, at(invalid.body, 'code')]).toEqual([403, 'actor-context-invalid'])
})

test('the administrator secret gives access to admin routes only', async () => {
  const path = '/v1/admin/consent-types'
  const secret = { 'x-admin-api-secret': platform.process.credentials.admin_api_secret ?? '' }
  const post = (body: unknown, headers: Readonly<Record<string, string>>) =>
    watched.send(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })

  const unnamed = await post(typeBody('bootstrap'), secret)
  expect([unnamed.status, at(unnamed.body, 'code')]).toEqual([400, 'org-required'])
  const made = await post({ ...typeBody('bootstrap'), organisationId: orgId }, secret)
  expect([made.status, at(made.body, 'organisationId')]).toEqual([201, orgId])
  const listed = await watched.send(`${path}/${textAt(made.body, 'id')}?org_id=${orgId}`, { headers: secret })
  expect([listed.status, at(listed.body, 'code')]).toEqual([200, 'bootstrap'])
  const token = textAt((await requestToken(platform.baseUrl, client)).body, 'access_token')
  expect((await watched.send(path, { headers: { ...secret, authorization: `Bearer ${token}` } })).status).toBe(200)

  const wrong = await post({ ...typeBody('wrong'), organisationId: orgId }, { 'x-admin-api-secret': 'x'.repeat(43) })
  expect([wrong.status, at(wrong.body, 'code')]).toEqual([401, 'admin-secret-invalid'])
  const elsewhere = await watched.send(`/v1/clinical-api/patients/${unknownId}?org_id=${orgId}`, { headers: secret })
  expect([elsewhere.status, at(elsewhere.body, 'code')]).toEqual([401, 'token-missing'])
})

test('a platform client must name the organisation', async () => {
  const service = watched.watch(await platform.connect(clientOf(platform.process, 2)))
  const terms = await createConsentTerms(api, orgId, 'service_test')
  const patientId = await registerPatient(api)
  await decideConsent(api, patientId, terms, 'granted')
  const opened = await expecting(201, api.call('/v1/clinical-api/cases', { body: { patient_id: patientId } }))
  const ofCase = `/v1/clinical-api/cases/${textAt(opened.body, 'id')}?`
  const decided = `/v1/consent-records?patientId=${patientId}&consentTypeCode=service_test`
  for (const path of [ofCase, decided]) {
    const unnamed = await service.call(path)
    expect([unnamed.status, at(unnamed.body, 'code')]).toEqual([400, 'org-required'])
    for (const name of ['org_id', 'orgId']) expect((await service.call(`${path}&${name}=${orgId}`)).status).toBe(200)
    expect((await service.call(`${path}&org_id=nonsense`)).status).toBe(400)
  }
  expect((await service.call(`${ofCase}&org_id=${unknownId}`)).status).toBe(404)
  expect(at((await service.call(`${decided}&org_id=${unknownId}`)).body, 'status')).toBe('none')
  expect((await service.call('/v1/clinical-api/patients', { body: {} })).status).toBe(403)
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toContain('issueToken 401')
  expect(await watched.undocumented()).toEqual([])
})
