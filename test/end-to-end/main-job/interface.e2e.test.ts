import { afterAll, beforeAll, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import {
  createApiClient,
  requestToken,
  type ApiAnswer,
  type ApiClient,
  type ApiRequest,
} from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  decideConsent,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
  type ConsentTerms,
} from '../../support/main-job.ts'
import { lesionSteps } from '../../streams/workflow-facts.ts'
import { isForOperators, operationsOf, pathWith, type DocumentedOperation } from '../../support/operations.ts'
import { clientOf, waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

const anyId = '0190b0a0-0000-7000-8000-000000000001'
const anyValues = {
  id: anyId,
  deliveryId: anyId,
  imageId: anyId,
  secretId: anyId,
  typeId: anyId,
  patientId: anyId,
  membershipId: anyId,
  userId: anyId,
  productId: 'scanner',
  externalId: 'subject',
  typeCode: 'ai_analysis',
  name: 'patients',
  code: 'conflict',
  channel: 'assessment',
  level: '0',
  index: '000',
}

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let operations: readonly DocumentedOperation[]
let admin: Readonly<Record<string, string>>
let terms: ConsentTerms
let productId: string
let patientId: string
let document: unknown
let receiver: WebhookReceiver
let deliveriesPath: string
let notificationPath: string

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  const token = textAt((await requestToken(platform.baseUrl, clientOf(platform.process, 0))).body, 'access_token')
  admin = {
    'x-actor-context': actorContext(
      platform.process.credentials.org_id,
      ['auth:admin', 'consents:admin', 'human-review:admin', 'notifications:admin', 'users:admin'],
      undefined,
      [platform.process.credentials.product_id],
    ),
  }
  productId = platform.process.credentials.product_id
  const plain = watched.watch(createApiClient(platform.baseUrl, token))
  const asAdministrator = (request: ApiRequest = {}) => ({ ...request, headers: { ...admin, ...request.headers } })
  api = { ...plain, call: (path, request) => plain.call(path, asAdministrator(request)) }
  operations = await operationsOf(platform.baseUrl)
  document = await (await fetch(`${platform.baseUrl}/openapi.json`)).json()

  terms = await createConsentTerms(api, platform.process.credentials.org_id)
  for (const code of ['b_type', 'c_type']) await createConsentTerms(api, platform.process.credentials.org_id, code)
  for (const locale of ['de', 'fr']) {
    await expecting(
      201,
      api.call(`/v1/admin/consent-types/${terms.consent_type_id}/text-versions`, { body: { locale, text: locale } }),
    )
  }
  for (const port of [1, 2]) {
    const body = { url: `http://127.0.0.1:${port}/`, event_types: ['assessment.completed'] }
    await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body }))
  }
  const template = { category: 'operational', phi: false, bodyTemplate: 'News' }
  await expecting(201, api.call('/v1/notifications/admin/templates/news', { method: 'PUT', body: template }))
  const news = { templateCode: 'news', recipient: { type: 'email', ref: 'ward@example.org' }, variables: {} }
  for (let sent = 0; sent < 3; sent++)
    notificationPath =
      (await expecting(202, api.call('/v1/notifications', { body: news }))).headers.get('location') ?? ''
  receiver = await startWebhookReceiver()
  const subscribing = { url: receiver.url, event_types: ['assessment.failed'] }
  const subscription = await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body: subscribing }))
  deliveriesPath = `/v1/clinical-api/webhook-subscriptions/${textAt(subscription.body, 'id')}/deliveries`
  patientId = await registerPatient(api)
  const photo = await photograph()
  const ids = await Promise.all([1, 2, 3].map(() => requestAssessment(api, assessmentBody(patientId, [photo]))))
  await Promise.all(ids.map((id) => endOf(api, id)))
  await waitFor('three deliveries', async () => {
    const { body } = await expecting(200, api.call(`${deliveriesPath}?status=delivered`))
    return pageOf(body).data.length === 3 ? true : undefined
  })
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

function refusalOf({ status, body }: ApiAnswer): readonly unknown[] {
  return [status, at(body, 'code')]
}

function listPaths() {
  return {
    types: '/v1/admin/consent-types',
    versions: `/v1/admin/consent-types/${terms.consent_type_id}/text-versions`,
    subscriptions: '/v1/clinical-api/webhook-subscriptions',
    reviews: `/v1/ai-reviews?status=failed&productId=${productId}`,
    deliveries: deliveriesPath,
    notifications: '/v1/notifications?recipientRef=ward@example.org',
    cases: `/v1/clinical-api/cases?patient_id=${patientId}`,
    images: `/v1/clinical-api/images?patient_id=${patientId}`,
  }
}

function withQuery(path: string, query: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}

function pageOf(body: unknown): {
  readonly data: readonly unknown[]
  readonly next: unknown
  readonly hasMore: unknown
} {
  const data: unknown = at(body, 'data')
  return {
    data: Array.isArray(data) ? data : [],
    next: at(body, 'nextCursor') ?? at(body, 'next_cursor'),
    hasMore: at(body, 'hasMore') ?? at(body, 'has_more'),
  }
}

// `test/app/list-bytes.int.test.ts` reads every list. These two have the two casings of members.
test.each(['types', 'cases'] as const)('the list of %s contains every item once, page by page', async (name) => {
  const path = listPaths()[name]
  const all = pageOf((await expecting(200, api.call(path))).body)
  expect([all.data.length, all.next ?? null, all.hasMore]).toEqual([3, null, false])

  const found: unknown[] = []
  let next: string | undefined = withQuery(path, 'limit=1')
  while (next !== undefined) {
    const answer = await expecting(200, api.call(next))
    const page = pageOf(answer.body)
    expect(page.data).toHaveLength(1)
    found.push(...page.data)
    const link = answer.headers.get('link')
    expect([page.hasMore, link === null, page.next === undefined || page.next === null]).toEqual(
      found.length < 3 ? [true, false, false] : [false, true, true],
    )
    const target = link === null ? undefined : /^<([^>]+)>; rel="next"$/.exec(link)?.[1]
    if (target !== undefined) expect(new URL(target, platform.baseUrl).searchParams.get('cursor')).toBe(page.next)
    next = target
  }
  expect(found).toEqual(all.data)
  expect(pageOf((await api.call(withQuery(path, 'limit=2'))).body).data).toEqual(all.data.slice(0, 2))
})

test('reviews come newest first, types by code, the others oldest first', async () => {
  const [reviews, types, versions] = await Promise.all(
    ['reviews', 'types', 'versions'].map(async (name) => {
      const path =
        { reviews: listPaths().reviews, types: listPaths().types, versions: listPaths().versions }[name] ?? ''
      return pageOf((await api.call(path)).body).data
    }),
  )
  const times = (reviews ?? []).map((review) => textAt(review, 'createdAt'))
  expect(times).toEqual(times.toSorted().toReversed())
  expect((types ?? []).map((type) => at(type, 'code'))).toEqual(['ai_analysis', 'b_type', 'c_type'])
  expect((versions ?? []).map((version) => at(version, 'locale'))).toEqual(['en-GB', 'de', 'fr'])
})

test('a cursor continues only its own list with its own filters', async () => {
  const { reviews, types, versions } = listPaths()
  const cursorOf = async (path: string) => String(pageOf((await api.call(withQuery(path, 'limit=1'))).body).next)
  const ofReviews = await cursorOf(reviews)
  const wrong = [
    withQuery(types, `cursor=${ofReviews}`),
    withQuery(versions, `cursor=${await cursorOf(types)}`),
    `/v1/ai-reviews?cursor=${ofReviews}`,
    `/v1/ai-reviews?status=completed&productId=${productId}&cursor=${ofReviews}`,
    withQuery(reviews, 'cursor=nonsense'),
    withQuery(reviews, `cursor=${ofReviews.slice(0, -2)}AA`),
  ]
  for (const path of wrong) expect(refusalOf(await api.call(path))).toEqual([400, 'invalid-cursor'])
  const second = clientOf(platform.process, 1)
  const stranger = watched.watch(await platform.connect(second))
  expect(refusalOf(await stranger.call(withQuery(reviews, `cursor=${ofReviews}`)))).toEqual([400, 'invalid-cursor'])
  await expecting(200, api.call(withQuery(reviews, `limit=2&cursor=${ofReviews}`)))
})

test('another size of a page, an empty cursor and an unknown parameter are refused', async () => {
  for (const query of ['limit=-1', 'limit=x', 'limit=1.5', 'limit=', 'cursor=', 'page=2', 'limit=1&limit=2'])
    expect([query, ...refusalOf(await api.call(withQuery(listPaths().reviews, query)))]).toEqual([
      query,
      400,
      'validation-failed',
    ])
  for (const path of Object.values(listPaths()))
    expect([path, ...refusalOf(await api.call(withQuery(path, 'limit=0')))]).toEqual([path, 400, 'validation-failed'])
})

test.each(['status=done', 'caseId=nonsense', 'productId=1', 'unknown=1'])('the filter %s is refused', async (query) => {
  expect(refusalOf(await api.call(`/v1/ai-reviews?${query}`))).toEqual([400, 'validation-failed'])
})

test('a filter without matches gives an empty page, and a limit above 200 counts as 200', async () => {
  expect((await api.call('/v1/ai-reviews?status=completed')).body).toEqual({
    data: [],
    nextCursor: null,
    hasMore: false,
  })
  const { body } = await expecting(200, api.call(withQuery(listPaths().reviews, 'limit=100000')))
  expect(pageOf(body).data).toHaveLength(3)
})

// `test/app/documentation.int.test.ts` asks every path.
test('an unsupported method is a 405 in each service', async () => {
  const byService = Map.groupBy(operations, ({ path }) => path.split('/', 3)[2])
  expect(byService.size).toBeGreaterThan(8)
  for (const [first] of byService.values()) {
    if (first === undefined) continue
    const methods = operations.filter(({ path }) => path === first.path).map(({ method }) => method)
    const method = ['PUT', 'PATCH', 'DELETE', 'GET'].find((one) => !methods.includes(one)) ?? ''
    const answer = await watched.send(pathWith(first, anyValues), { method })
    expect([first.path, ...refusalOf(answer)]).toEqual([first.path, 405, 'method-not-allowed'])
    expect(answer.headers.get('allow')?.split(', ')).toContain(first.method)
  }
})

test('an address that does not exist is a 404', async () => {
  for (const path of [
    '/',
    '/v1',
    '/v1/nothing',
    '/v2/ai-reviews',
    '/v1/human-resources/cases',
    '/v1/notifications/admin/cases',
  ]) {
    expect([path, ...refusalOf(await watched.send(path))]).toEqual([path, 404, 'not-found'])
  }
  const undecodable = await fetch(`${platform.baseUrl}/%zz`, { headers: { 'x-request-id': 'mine' } })
  expect(await undecodable.json()).toMatchObject({ status: 404, code: 'not-found', request_id: 'mine' })
  expect([undecodable.headers.get('x-request-id'), undecodable.headers.get('cache-control')]).toEqual([
    'mine',
    'no-store',
  ])
})

test('the document is OpenAPI 3.1, each operation once, every schema under its own name', async () => {
  expect(at(document, 'openapi')).toMatch(/^3\.1\./)
  const ids = operations.map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(ids.length)
  const names = Object.keys(Object(at(document, 'components', 'schemas')) as object)
  expect(names).toEqual(
    expect.arrayContaining([
      'AssessmentRecord',
      'AiReviewDetails',
      'CreateAssessmentBody',
      'PatientRecord',
      'Problem',
      'TokenReply',
    ]),
  )
  for (const name of names) expect(name).toMatch(/^[A-Z][A-Za-z]+$/)
  const paths = new Set(operations.map(({ method, path }) => `${method} ${path}`))
  for (const expected of [
    'POST /v1/auth/oauth/token',
    'GET /v1/auth/.well-known/jwks.json',
    'POST /v1/clinical-api/assessments',
    'GET /v1/clinical-api/assessments/{id}',
    'POST /v1/clinical-api/patients',
    'POST /v1/notifications',
    'GET /v1/notifications',
    'GET /v1/notifications/{id}',
    'GET /v1/notifications/admin/queue/failed',
    'POST /v1/notifications/admin/queue/failed/{id}/retry',
    'POST /v1/notifications/admin/queue/re-enqueue-stuck',
    'GET /v1/clinical-api/patients',
    'GET /v1/clinical-api/patients/{id}',
    'PATCH /v1/clinical-api/patients/{id}',
    'POST /v1/clinical-api/cases',
    'GET /v1/clinical-api/cases/{id}',
    'POST /v1/clinical-api/images',
    'GET /v1/clinical-api/images',
    'GET /v1/clinical-api/images/{id}',
    'POST /v1/clinical-api/images/{id}/upload-url',
    'POST /v1/clinical-api/images/{id}/submit',
    'POST /v1/clinical-api/webhook-subscriptions',
    'GET /v1/clinical-api/webhook-subscriptions',
    'GET /v1/clinical-api/webhook-subscriptions/{id}',
    'GET /v1/clinical-api/webhook-subscriptions/{id}/deliveries',
    'GET /v1/clinical-api/webhook-subscriptions/{id}/deliveries/{deliveryId}',
    'POST /v1/clinical-api/webhook-subscriptions/{id}/test',
    'POST /v1/clinical-api/webhook-subscriptions/{id}/deliveries/{deliveryId}/redeliver',
    'POST /v1/clinical-api/webhook-subscriptions/{id}/recover',
    'PATCH /v1/clinical-api/webhook-subscriptions/{id}',
    'DELETE /v1/clinical-api/webhook-subscriptions/{id}',
    'POST /v1/clinical-api/webhook-subscriptions/{id}/rotate-secret',
    'GET /v1/clinical-api/.well-known/webhook-keys',
    'POST /v1/patients/{patientId}/consents',
    'GET /v1/patients/{patientId}/consents/{typeCode}/status',
    'GET /v1/patients/{patientId}/consents/check',
    'GET /v1/consent-records',
    'POST /v1/auth/clients',
    'GET /v1/auth/clients',
    'GET /v1/auth/clients/{id}',
    'PATCH /v1/auth/clients/{id}',
    'DELETE /v1/auth/clients/{id}',
    'POST /v1/auth/clients/{id}/secrets',
    'DELETE /v1/auth/clients/{id}/secrets/{secretId}',
    'POST /v1/auth/scopes',
    'GET /v1/auth/scopes',
    'POST /v1/admin/consent-types',
    'GET /v1/admin/consent-types',
    'GET /v1/admin/consent-types/{id}',
    'POST /v1/admin/consent-types/{typeId}/text-versions',
    'GET /v1/admin/consent-types/{typeId}/text-versions',
    'POST /v1/ai-reviews',
    'GET /v1/ai-reviews',
    'GET /v1/ai-reviews/{id}/raw',
    'GET /v1/ai-reviews/{id}/provenance',
    'GET /v1/ai-reviews/{id}',
    'GET /v1/human-review/policy',
    'PUT /v1/human-review/policy',
    'GET /v1/human-review/tasks',
    'GET /v1/human-review/tasks/{id}',
    'POST /v1/human-review/tasks/{id}/claim',
    'POST /v1/human-review/tasks/{id}/release',
    'POST /v1/human-review/tasks/{id}/decide',
    'GET /v1/human-review/agreement',
    'GET /health',
    'GET /health/live',
    'GET /health/ready',
    'GET /metrics',
  ])
    expect(paths).toContain(expected)
})

test('every POST with a token takes an Idempotency-Key, and nothing else does', () => {
  const parametersOf = (path: string, method: string) =>
    Object.values(Object(at(document, 'paths', path, method, 'parameters') ?? []) as object)
  const keyed = operations.filter(({ path, method }) =>
    parametersOf(path, method.toLowerCase()).some(
      (parameter) => at(parameter, 'in') === 'header' && at(parameter, 'name') === 'idempotency-key',
    ),
  )
  const posts = operations.filter(({ method, scopes }) => method === 'POST' && scopes !== undefined)
  expect(posts.length).toBeGreaterThan(5)
  expect(keyed).toEqual(posts)
})

test('the documentation page is served with its scripts', async () => {
  const page = await fetch(`${platform.baseUrl}/docs`)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^text\/html/)])
  const html = await page.text()
  const scripts = [...html.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(
    ([, path = '']) => new URL(path, page.url),
  )
  expect(scripts.length).toBeGreaterThan(1)
  for (const script of scripts) expect([script.pathname, (await fetch(script)).status]).toEqual([script.pathname, 200])
})

// `test/platform/http/application.int.test.ts` reads the page of every problem.
test('a problem that the document names is explained under its code', async () => {
  const codes = new Set(
    operations.flatMap(({ answers }) =>
      Object.entries(answers)
        .filter(([status]) => Number(status) >= 400)
        .flatMap(([, codes]) => codes.split(', ')),
    ),
  )
  const slugs = [...codes].filter((code) => /^[a-z]+(-[a-z]+)+$|^conflict$/.test(code))
  expect(slugs.length).toBeGreaterThan(30)
  const [code = ''] = slugs
  const { status, body } = await watched.send(`/problems/${code}`)
  expect([status, body]).toEqual([
    200,
    {
      code,
      type: expect.stringMatching(new RegExp(`^https://.*/problems/${code}$`)),
      status: expect.any(Number),
      title: expect.any(String),
      retriable: expect.any(Boolean),
      doc: expect.any(String),
    },
  ])
  const page = await fetch(`${platform.baseUrl}/problems/conflict`, { headers: { accept: 'text/html' } })
  expect([page.headers.get('content-type'), (await page.text()).startsWith('<!doctype html>')]).toEqual([
    'text/html; charset=utf-8',
    true,
  ])
  expect(refusalOf(await watched.send('/problems/nothing'))).toEqual([404, 'not-found'])
})

test('the host and every service show their health and metrics without a token', async () => {
  const paths = Object.keys(Object(at(document, 'paths')) as object)
  const ofServices = paths.filter((path) => isForOperators(path) && path.endsWith('/health'))
  expect(ofServices.length).toBeGreaterThan(8)
  for (const base of ['', ...ofServices.map((path) => path.replace(/\/health$/, ''))]) {
    // Other files use this platform, and may have left a warning. On a busy machine a check may fail for a moment.
    const healthOf = async () => {
      const { status: health, body: report } = await watched.send(`${base}/health`)
      const checks: readonly unknown[] = Object.values(Object(at(report, 'checks')))
      return { base, health, checks, failing: checks.filter((check) => at(check, 'status') === 'failing') }
    }
    const checks = expect.arrayContaining([{ name: 'database', status: 'ok' }])
    await expect.poll(healthOf, { timeout: 30_000 }).toEqual({ base, health: 200, checks, failing: [] })
    const { status, headers, body } = await watched.send(`${base}/metrics`)
    const contentType = 'text/plain; version=0.0.4; charset=utf-8'
    expect([base, status, headers.get('content-type')]).toEqual([base, 200, contentType])
    expect(body).toMatch(/^health_check_status\{check="database",state="ok"\} 1$/m)
  }
  for (const path of ['/health/live', '/health/ready', '/v1/auth/v1/health/live', '/v1/auth/v1/health/ready'])
    expect([path, at((await watched.send(path)).body, 'status')]).toEqual([path, 'ok'])
})

test('a read can wait for a write that did not wait for its read model', async () => {
  const body = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' }
  const written = await expecting(
    201,
    api.call('/v1/clinical-api/patients', { body, headers: { prefer: 'respond-async' } }),
  )
  expect(written.headers.get('preference-applied')).toBe('respond-async')
  const path = `/v1/clinical-api/patients/${textAt(written.body, 'id')}`
  const position = written.headers.get('x-commit-position') ?? ''
  const read = await expecting(200, api.call(path, { headers: { 'x-min-commit-position': position } }))
  expect([read.body, read.headers.get('etag')]).toEqual([written.body, written.headers.get('etag')])
  expect(refusalOf(await api.call(path, { headers: { 'x-min-commit-position': 'nonsense' } }))).toEqual([
    400,
    'malformed-request',
  ])
})

test('a read whose read model is too far behind is still answered, and indicates this', async () => {
  const ahead = `${2n ** 62n}/${2n ** 62n}`
  for (const path of [
    '/v1/ai-reviews?limit=1',
    '/v1/admin/consent-types',
    `/v1/admin/consent-types/${terms.consent_type_id}`,
  ]) {
    const answer = await expecting(200, api.call(path, { headers: { 'x-min-commit-position': ahead } }))
    expect(answer.headers.get('x-projection-lag-ms')).toMatch(/^\d+$/)
    expect((await expecting(200, api.call(path))).headers.get('x-projection-lag-ms')).toBeNull()
  }
})

async function workflowIds(caseId: string) {
  const base = '/v1/orchestrator'
  const workflow = { name: 'Changed lesion', start_step_id: 'intake', steps: lesionSteps }
  const definition = (await expecting(201, api.call(`${base}/workflow-definitions`, { body: workflow }))).body
  const start = { workflow_definition_id: textAt(definition, 'id'), case_id: caseId }
  const instance = (await expecting(201, api.call(`${base}/workflow-instances`, { body: start }))).body
  return {
    [`${base}/workflow-definitions/{id}`]: start.workflow_definition_id,
    [`${base}/workflow-instances/{id}`]: textAt(instance, 'id'),
  }
}

/** A policy, and the task that it makes for a completed review. */
async function taskPath(): Promise<string> {
  const base = '/v1/human-review'
  await expecting(200, api.call(`${base}/policy`, { method: 'PUT', body: { rules: [{ always: true }] } }))
  const patient = await consentedPatient(api, terms)
  await endOf(api, await requestAssessment(api, assessmentBody(patient, [await photograph()])))
  const id = await waitFor('a task', async () =>
    at((await expecting(200, api.call(`${base}/tasks`))).body, 'data', 0, 'id'),
  )
  return `${base}/tasks/${String(id)}`
}

/** An address of each kind of record, by its path in the document. */
async function recordPaths(): Promise<ReadonlyMap<string, string>> {
  const assessmentId = await requestAssessment(api, assessmentBody(await registerPatient(api), [await photograph()]), {
    prefer: 'wait=25',
  })
  const { body } = await expecting(200, api.call(`/v1/clinical-api/assessments/${assessmentId}`))
  const subscription = (await expecting(200, api.call('/v1/clinical-api/webhook-subscriptions?limit=1'))).body
  const review = (await expecting(200, api.call(`/v1/ai-reviews?caseId=${textAt(body, 'case_id')}`))).body
  const organisationId = platform.process.credentials.org_id
  const role = (await expecting(201, api.call('/v1/admin/roles', { body: { organisationId, name: 'Reader' } }))).body
  const someone = { email: 'reader@example.org', displayName: 'Reader', userType: 'admin', roleId: textAt(role, 'id') }
  const user = (await expecting(201, api.call('/v1/admin/users', { body: someone }))).body
  const ids = {
    '/v1/clinical-api/assessments/{id}': assessmentId,
    '/v1/clinical-api/patients/{id}': textAt(body, 'patient_id'),
    '/v1/clinical-api/cases/{id}': textAt(body, 'case_id'),
    '/v1/clinical-api/images/{id}': textAt(body, 'images', 0, 'id'),
    '/v1/clinical-api/webhook-subscriptions/{id}': String(at(subscription, 'data', 0, 'id')),
    '/v1/admin/consent-types/{id}': terms.consent_type_id,
    '/v1/auth/clients/{id}': clientOf(platform.process, 0).client_id,
    '/v1/ai-reviews/{id}': String(at(review, 'data', 0, 'id')),
    '/v1/admin/roles/{id}': textAt(role, 'id'),
    '/v1/admin/users/{id}': textAt(user, 'id'),
    ...(await workflowIds(textAt(body, 'case_id'))),
  }
  const delivered = (await expecting(200, api.call(`${deliveriesPath}?status=delivered&limit=1`))).body
  const paths = new Map(Object.entries(ids).map(([path, id]) => [path, path.replace('{id}', id)]))
  const settings = '/v1/notifications'
  const recipientRule = { type: 'user', path: 'userId' }
  const rule = { eventType: 'users.created', templateCode: 'users.created', recipientRule }
  const suppressed = { channel: 'email', address: 'nobody@example.org', reason: 'Asked by phone' }
  for (const [path, body] of [
    [`${settings}/admin/subscriptions`, rule],
    [`${settings}/admin/suppressions`, suppressed],
  ] as const) {
    paths.set(`${path}/{id}`, (await expecting(201, api.call(path, { body }))).headers.get('location') ?? '')
  }
  paths.set(`${settings}/{id}`, notificationPath)
  paths.set('/v1/human-review/tasks/{id}', await taskPath())
  const preferences = `${settings}/preferences/${textAt(user, 'id')}`
  const optOut = [{ category: 'marketing', channel: 'email', optedOut: true }]
  await expecting(200, api.call(preferences, { method: 'PUT', body: optOut }))
  paths.set(`${settings}/preferences/{userId}`, preferences)
  paths.set('/v1/notifications/admin/templates/{code}', '/v1/notifications/admin/templates/users.created')
  paths.set('/v1/users/by-external-id/{externalId}', `/v1/users/by-external-id/${textAt(user, 'externalId')}`)
  const decided = await decideConsent(api, ids['/v1/clinical-api/patients/{id}'], terms, 'denied')
  paths.set('/v1/patients/{patientId}/consents/{id}', decided.headers.get('location') ?? '')
  return paths.set(
    '/v1/clinical-api/webhook-subscriptions/{id}/deliveries/{deliveryId}',
    `${deliveriesPath}/${String(at(delivered, 'data', 0, 'id'))}`,
  )
}

test('every record has an ETag, and is not sent again to a caller with that version', async () => {
  const paths = await recordPaths()
  // A channel is a list, and a tile never changes. Each answer with an export signs another address. What operators see has no version.
  const single = operations.filter(
    ({ method, path, operationId }) =>
      method === 'GET' &&
      /\/\{[a-zA-Z]+\}$/.test(path) &&
      path.startsWith('/v1/') &&
      !['getExport', 'readEvents', 'readFailureGroup', 'readLogTile', 'readOperationsSubject', 'readWork'].includes(
        operationId,
      ),
  )
  expect([...paths.keys()].toSorted()).toEqual(single.map(({ path }) => path).toSorted())
  for (const path of paths.values()) {
    const first = await expecting(200, api.call(path))
    const etag = first.headers.get('etag') ?? ''
    expect([path, etag]).toEqual([path, expect.stringMatching(/^"\d+(\.[\da-f.-]+)?"$/)])
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const answer = await api.call(path, { headers: { 'if-none-match': known } })
      expect([path, known, answer.status, answer.headers.get('etag'), answer.body ?? '']).toEqual([
        path,
        known,
        304,
        etag,
        '',
      ])
    }
    for (const other of ['"99999"', '"x"', etag.replaceAll('"', '')]) {
      expect([path, other, (await api.call(path, { headers: { 'if-none-match': other } })).status]).toEqual([
        path,
        other,
        200,
      ])
    }
  }
})

test('the document has If-None-Match for a 304, If-Match for a 412, and Prefer for a held answer', () => {
  const taking = (name: string) =>
    operations.filter(({ path, method }) => {
      const parameters = Object.values(
        Object(at(document, 'paths', path, method.toLowerCase(), 'parameters') ?? []) as object,
      )
      return parameters.some((parameter) => at(parameter, 'in') === 'header' && at(parameter, 'name') === name)
    })
  expect(taking('if-none-match')).toEqual(operations.filter(({ answers }) => '304' in answers))
  expect(taking('if-match')).toEqual(operations.filter(({ answers }) => '412' in answers))
  expect(
    taking('if-match')
      .map(({ operationId }) => operationId)
      .toSorted(),
  ).toEqual([
    'advanceWorkflowInstance',
    'cancelAiReview',
    'cancelWorkflowInstance',
    'changeMe',
    'changeNotificationSubscription',
    'changeOauthClient',
    'changeRole',
    'changeUser',
    'changeWebhookSubscription',
    'claimHumanReviewTask',
    'closeCase',
    'correctPatient',
    'deactivateUser',
    'decideHumanReviewTask',
    'deleteConsentType',
    'deleteNotificationSubscription',
    'deleteOauthClient',
    'deleteRole',
    'deleteWebhookSubscription',
    'putNotificationTemplate',
    'releaseHumanReviewTask',
    'removeOauthClientSecret',
    'removeSuppression',
    'setHumanReviewPolicy',
    'setNotificationPreferences',
    'submitAssessment',
    'submitImage',
    'supersedeAiReview',
    'updateConsentType',
  ])
  expect(
    taking('prefer')
      .map(({ operationId }) => operationId)
      .toSorted(),
  ).toEqual([
    'createAiReview',
    'createAssessment',
    'getAiReview',
    'getAssessment',
    'readEvents',
    'submitAssessment',
    'supersedeAiReview',
  ])
  const limitedForms = ['introspectToken', 'issueToken', 'revokeToken']
  const answering429 = operations.filter(({ answers }) => '429' in answers)
  expect(answering429).toEqual(
    operations.filter(({ scopes, operationId }) => scopes !== undefined || limitedForms.includes(operationId)),
  )
})

test('a create with `Prefer: wait` returns the final record, which every read then contains', async () => {
  const body = assessmentBody(await registerPatient(api), [await photograph()])
  const ended = await expecting(202, api.call('/v1/clinical-api/assessments', { body, headers: { prefer: 'wait=25' } }))
  expect([at(ended.body, 'status'), at(ended.body, 'next_poll_after_ms')]).toEqual(['failed', undefined])
  expect([ended.headers.get('preference-applied'), ended.headers.get('retry-after')]).toEqual(['wait=25', null])
  const path = `/v1/clinical-api/assessments/${textAt(ended.body, 'id')}`
  const read = await expecting(200, api.call(path, { headers: { prefer: 'wait=25' } }))
  expect([read.body, read.headers.get('preference-applied')]).toEqual([ended.body, 'wait=25'])
})

test('a read with `Prefer: wait` returns at the end, or after its time', async () => {
  const id = await requestAssessment(api, assessmentBody(await registerPatient(api), [await photograph()]), {
    prefer: 'wait=soon',
  })
  const held = await expecting(
    200,
    api.call(`/v1/clinical-api/assessments/${id}`, { headers: { prefer: 'respond-async, wait=60' } }),
  )
  expect([at(held.body, 'status'), held.headers.get('preference-applied')]).toEqual(['failed', 'wait=25'])
  const reviews = (await expecting(200, api.call(`/v1/ai-reviews?caseId=${textAt(held.body, 'case_id')}`))).body
  const review = await expecting(
    200,
    api.call(`/v1/ai-reviews/${String(at(reviews, 'data', 0, 'id'))}`, { headers: { prefer: 'wait=25' } }),
  )
  expect([at(review.body, 'status'), review.headers.get('preference-applied')]).toEqual(['failed', 'wait=25'])
  const unknown = await api.call(`/v1/clinical-api/assessments/${anyId}`, { headers: { prefer: 'wait=25' } })
  expect([...refusalOf(unknown), unknown.headers.get('preference-applied')]).toEqual([404, 'not-found', null])
})

test('while images are awaited a read is held for the requested time; a submit and a supersede return the final record', async () => {
  const { bytes } = await photograph()
  const images = [{ capture_type: 'dermoscopic', mime_type: 'image/jpeg' }]
  const slot = { ...assessmentBody(await registerPatient(api), []), images }
  const created = await expecting(
    202,
    api.call('/v1/clinical-api/assessments', { body: slot, headers: { prefer: 'wait=25' } }),
  )
  expect([at(created.body, 'status'), created.headers.get('preference-applied')]).toEqual([
    'awaiting_images',
    'wait=25',
  ])
  const path = `/v1/clinical-api/assessments/${textAt(created.body, 'id')}`
  const held = await expecting(200, api.call(path, { headers: { prefer: 'wait=1' } }))
  expect([at(held.body, 'status'), held.headers.get('preference-applied')]).toEqual(['awaiting_images', 'wait=1'])
  const same = await api.call(path, { headers: { prefer: 'wait=1', 'if-none-match': held.headers.get('etag') ?? '' } })
  expect([same.status, same.headers.get('preference-applied')]).toEqual([304, 'wait=1'])

  const put = await fetch(textAt(created.body, 'images', 0, 'upload_url'), {
    method: 'PUT',
    headers: { 'content-type': 'image/jpeg' },
    body: new Uint8Array(bytes),
  })
  expect(put.status).toBe(200)
  const submitted = await expecting(200, api.call(`${path}/submit`, { method: 'POST', headers: { prefer: 'wait=25' } }))
  expect([at(submitted.body, 'status'), submitted.headers.get('preference-applied')]).toEqual(['failed', 'wait=25'])
  expect((await expecting(200, api.call(path))).body).toEqual(submitted.body)

  const reviews = (await expecting(200, api.call(`/v1/ai-reviews?caseId=${textAt(submitted.body, 'case_id')}`))).body
  const presignedUrlExpiresAt = new Date(Date.now() + 60_000).toISOString()
  const others = [
    { imageId: anyId, imageType: 'DERMOSCOPIC', presignedUrl: 'http://127.0.0.1:1/', presignedUrlExpiresAt },
  ]
  const supersede = (headers: Readonly<Record<string, string>>) =>
    api.call(`/v1/ai-reviews/${String(at(reviews, 'data', 0, 'id'))}/supersede`, {
      body: { images: others },
      headers: { 'idempotency-key': 'supersede-and-wait', ...headers },
    })
  const superseding = await expecting(202, supersede({ prefer: 'wait=25' }))
  expect([
    at(superseding.body, 'status'),
    superseding.headers.get('preference-applied'),
    superseding.headers.get('retry-after'),
  ]).toEqual(['failed', 'wait=25', null])
  const again = await expecting(202, supersede({}))
  expect([at(again.body, 'status'), again.headers.get('preference-applied'), at(again.body, 'aiReviewId')]).toEqual([
    'pending',
    null,
    at(superseding.body, 'aiReviewId'),
  ])
})

test('development returns the remaining limits to a client', async () => {
  const answers = await Promise.all(Array.from({ length: 2 }, () => api.call('/v1/admin/consent-types?limit=1')))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  for (const { headers } of answers) {
    expect(headers.get('ratelimit-policy')).toBe('"client";q=100;w=10, "organisation";q=6000;w=60')
    expect(headers.get('ratelimit')).toMatch(/^"client";r=\d+;t=\d+, "organisation";r=\d+;t=\d+$/)
  }
})

test('a valid X-Request-Id is returned, another is replaced', async () => {
  const sent = async (id: string) =>
    (await watched.send('/v1/ai-reviews', { headers: { 'x-request-id': id } })).headers.get('x-request-id')
  expect(await sent('a.b-c_1')).toBe('a.b-c_1')
  for (const id of ['x'.repeat(129), 'a b', '<script>']) expect(await sent(id)).toMatch(/^[0-9a-f-]{36}$/)
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toContain('listAiReviews 400')
  expect(await watched.undocumented()).toEqual([])
})
