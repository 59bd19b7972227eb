import { afterAll, beforeAll, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import {
  assessmentBody,
  createConsentTerms,
  decideConsent,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
  webhooksAbout,
  type ConsentTerms,
} from '../../support/main-job.ts'
import { clientOf, startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { lesionSteps } from '../../streams/workflow-facts.ts'
import { answersTo, recordRoutes, type Asking, type Questions } from './every-get.ts'
import { Client } from 'pg'

let platform: TestPlatform
let receiver: WebhookReceiver
let api: ApiClient
let terms: ConsentTerms
let asking: Asking

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  platform = await startTestPlatform()
  const { org_id: orgId, product_id: productId } = platform.process.credentials
  const administrator = platform.process.credentials.administrators?.find(({ org_id }) => org_id === orgId)
  const userId = administrator?.user_id ?? ''
  asking = { baseUrl: platform.baseUrl, orgId, client: clientOf(platform.process, 0), userId, productId }
  api = await platform.connect()
  terms = await createConsentTerms(api, orgId)
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

test('the read models are rebuilt from the streams after their database was dropped, at rest or under load', async () => {
  const questions = await aRunOfEverything()
  expect(Object.keys(questions).toSorted()).toEqual(await recordRoutes(platform.baseUrl))
  const before = await answersTo(questions, asking)
  expect(Object.values(before).filter((answer) => !answer.startsWith('200'))).toEqual([])
  const calls = await platform.provider.caseCalls()
  const webhooks = receiver.received.length
  const databaseUrl = platform.process.credentials.database_url ?? ''

  expect(await platform.process.stop()).toBe(0)
  await dropDatabase(databaseUrl)
  await platform.restart()
  expect(await answersTo(questions, asking)).toEqual(before)

  await dropDatabase(databaseUrl)
  expect(await platform.process.exited).toBe(1)
  expect(platform.process.output()).toContain('the database of the read models does not exist any more')
  await platform.restart()
  expect(await answersTo(questions, asking)).toEqual(before)

  // The processes work again, and repeat nothing.
  expect(await platform.provider.caseCalls()).toEqual(calls)
  expect(receiver.received).toHaveLength(webhooks)
  const patientId = await registerPatient(api)
  await decideConsent(api, patientId, terms, 'granted')
  const added = await ended(patientId)
  expect(at(added, 'status')).toBe('completed')
  const since = (await platform.provider.caseCalls()).slice(calls.length)
  expect(since.map(({ call }) => call)).toEqual(['case', 'image', 'process', 'result'])
  expect(receiver.received).toHaveLength(webhooks + 2)
})

/** Creates records of every kind and final status. Resolves to the addresses that return them all. */
async function aRunOfEverything(): Promise<Questions> {
  const notifications = await sentNotifications()
  const selecting = { rules: [{ always: true }] }
  await expecting(200, api.call('/v1/human-review/policy', { method: 'PUT', body: selecting, headers: clinician() }))
  for (const event_types of [['assessment.completed', 'assessment.failed'], ['assessment.completed']]) {
    await expecting(
      201,
      api.call('/v1/clinical-api/webhook-subscriptions', { body: { url: receiver.url, event_types } }),
    )
  }
  const [granted, denied, withdrawn, undecided, unsuitable] = await Promise.all(
    ['Granted', 'Denied', 'Withdrawn', 'Undecided', 'Unsuitable'].map((given_name) =>
      registerPatient(api, { given_name, identifiers: [{ scheme: 'mrn', value: given_name }] }),
    ),
  )
  for (const [patientId, decision] of [
    [granted, 'granted'],
    [denied, 'granted'],
    [denied, 'denied'],
    [withdrawn, 'granted'],
    [unsuitable, 'granted'],
  ] as const) {
    await decideConsent(api, patientId ?? '', terms, decision)
  }
  const first = await Promise.all([granted, denied, withdrawn, undecided].map((patientId) => ended(patientId ?? '')))
  expect(first.map((record) => at(record, 'error', 'code') ?? at(record, 'status'))).toEqual([
    'completed',
    'CONSENT_MISSING',
    'completed',
    'CONSENT_MISSING',
  ])
  await decideConsent(api, withdrawn ?? '', terms, 'withdrawn')
  await platform.provider.result({ sha256: '*', image_quality: 'IMAGE_QUALITY_UNSUITABLE' })
  const poor = await ended(unsuitable ?? '')
  expect(at(poor, 'error', 'code')).toBe('IMAGE_QUALITY_INSUFFICIENT')
  const tasks = await tasksOfEveryStatus(granted ?? '')
  await platform.provider.result({ sha256: '*', image_quality: 'IMAGE_QUALITY_SUITABLE' })
  const corrected = { given_name: 'Wanted', identifiers: [{ scheme: 'mrn', value: 'Wanted' }] }
  await expecting(200, api.call(`/v1/clinical-api/patients/${granted}`, { method: 'PATCH', body: corrected }))
  const opened = await expecting(201, api.call('/v1/clinical-api/cases', { body: { patient_id: granted } }))

  const declared = { patient_id: granted, capture_type: 'other', mime_type: 'image/png' }
  const image = await expecting(201, api.call('/v1/clinical-api/images', { body: declared }))

  const template = { category: 'operational', phi: false, bodyTemplate: 'Ready' }
  for (const bodyTemplate of ['Ready', 'Ready now']) {
    const body = { ...template, bodyTemplate }
    await api.call('/v1/notifications/admin/templates/result.ready', { method: 'PUT', body })
  }
  const { rules, suppressed, preferences } = await notificationSettings()
  const assessments = [...first, poor]
  const patients = [granted, denied, withdrawn, undecided, unsuitable]
  const caseIds = [...assessments.map((record) => textAt(record, 'case_id')), textAt(opened.body, 'id')]
  const reviews = idsOf((await expecting(200, api.call('/v1/ai-reviews'))).body)
  const subscriptions = idsOf((await expecting(200, api.call('/v1/clinical-api/webhook-subscriptions'))).body)
  const deliveries = await deliveriesOf(subscriptions)
  const decided = idsOf((await expecting(200, api.call(`/v1/patients/${granted}/consents/history`))).body)
  return {
    '/v1/admin/consent-types': ['/v1/admin/consent-types', '/v1/admin/consent-types?limit=1'],
    '/v1/admin/consent-types/{id}': [`/v1/admin/consent-types/${terms.consent_type_id}`],
    '/v1/admin/consent-types/{typeId}/text-versions': [
      `/v1/admin/consent-types/${terms.consent_type_id}/text-versions`,
    ],
    ...(await questionsAboutUsers()),
    ...(await questionsAboutWorkflows(textAt(opened.body, 'id'))),
    '/v1/auth/clients': ['/v1/auth/clients', '/v1/auth/clients?limit=1'],
    '/v1/auth/clients/{id}': [`/v1/auth/clients/${asking.client.client_id}`],
    '/v1/auth/scopes': ['/v1/auth/scopes', '/v1/auth/scopes?limit=3'],
    '/v1/ai-reviews': [
      '/v1/ai-reviews',
      '/v1/ai-reviews?limit=2',
      '/v1/ai-reviews?status=failed',
      `/v1/ai-reviews?caseId=${caseIds[0]}`,
    ],
    '/v1/ai-reviews/{id}': reviews.map((id) => `/v1/ai-reviews/${id}`),
    '/v1/clinical-api/assessments/{id}': assessments.map(
      (record) => `/v1/clinical-api/assessments/${textAt(record, 'id')}`,
    ),
    '/v1/clinical-api/body-sites': ['/v1/clinical-api/body-sites', '/v1/clinical-api/body-sites?limit=1'],
    '/v1/clinical-api/cases': [
      '/v1/clinical-api/cases',
      '/v1/clinical-api/cases?limit=2',
      `/v1/clinical-api/cases?patient_id=${granted}`,
    ],
    '/v1/clinical-api/cases/{id}': caseIds.map((id) => `/v1/clinical-api/cases/${id}`),
    '/v1/clinical-api/cases/{id}/diagnoses': caseIds.map((id) => `/v1/clinical-api/cases/${id}/diagnoses`),
    '/v1/clinical-api/cases/{id}/findings': caseIds.map((id) => `/v1/clinical-api/cases/${id}/findings?limit=1`),
    '/v1/clinical-api/images': [
      '/v1/clinical-api/images',
      '/v1/clinical-api/images?limit=2',
      `/v1/clinical-api/images?case_id=${caseIds[0]}`,
    ],
    '/v1/clinical-api/images/{id}': [
      textAt(image.body, 'id'),
      ...assessments.map((record) => textAt(record, 'images', 0, 'id')),
    ].map((id) => `/v1/clinical-api/images/${id}`),
    '/v1/clinical-api/patients': ['Granted', 'Wanted', 'Denied', 'Nobody'].map(
      (value) => `/v1/clinical-api/patients?identifier=mrn|${value}`,
    ),
    '/v1/clinical-api/patients/{id}': patients.map((id) => `/v1/clinical-api/patients/${id}`),
    '/v1/clinical-api/webhook-subscriptions': [
      '/v1/clinical-api/webhook-subscriptions',
      '/v1/clinical-api/webhook-subscriptions?limit=1',
    ],
    '/v1/clinical-api/webhook-subscriptions/{id}': subscriptions.map(
      (id) => `/v1/clinical-api/webhook-subscriptions/${id}`,
    ),
    '/v1/clinical-api/webhook-subscriptions/{id}/deliveries': subscriptions.map(
      (id) => `/v1/clinical-api/webhook-subscriptions/${id}/deliveries`,
    ),
    '/v1/clinical-api/webhook-subscriptions/{id}/deliveries/{deliveryId}': deliveries,
    '/v1/consent-records': patients.map((id) => `/v1/consent-records?patientId=${id}&consentTypeCode=ai_analysis`),
    '/v1/events/{channel}': ['assessment', 'clinical', 'consent'].map((channel) => `/v1/events/${channel}`),
    '/v1/human-review/agreement': [agreement()],
    '/v1/human-review/policy': ['/v1/human-review/policy'],
    '/v1/human-review/tasks': ['', '?limit=1', '?status=decided'].map((query) => `/v1/human-review/tasks${query}`),
    '/v1/human-review/tasks/{id}': tasks,
    '/v1/notifications': ['', '?limit=1', '?recipientRef=WARD@example.org'].map((query) => `/v1/notifications${query}`),
    '/v1/notifications/{id}': notifications,
    '/v1/notifications/admin/inbox': ['/v1/notifications/admin/inbox'],
    '/v1/notifications/admin/queue/failed': ['/v1/notifications/admin/queue/failed'],
    '/v1/notifications/admin/subscriptions': ['', '?limit=1'].map((query) => `${rules}${query}`),
    '/v1/notifications/admin/subscriptions/{id}': idsOf((await expecting(200, api.call(rules))).body).map(
      (id) => `${rules}/${id}`,
    ),
    '/v1/notifications/admin/suppressions': [suppressed],
    '/v1/notifications/admin/suppressions/{id}': idsOf((await expecting(200, api.call(suppressed))).body).map(
      (id) => `${suppressed}/${id}`,
    ),
    '/v1/notifications/preferences/{userId}': [preferences],
    '/v1/notifications/admin/templates': [
      '/v1/notifications/admin/templates',
      '/v1/notifications/admin/templates?channel=slack&limit=1',
    ],
    '/v1/notifications/admin/templates/{code}': ['users.created', 'result.ready'].map(
      (code) => `/v1/notifications/admin/templates/${code}`,
    ),
    '/v1/patients/{patientId}/consents': patients.map(
      (id) => `/v1/patients/${id}/consents?org_id=${platform.process.credentials.org_id}`,
    ),
    '/v1/patients/{patientId}/consents/check': patients.map(
      (id) => `/v1/patients/${id}/consents/check?types=ai_analysis,other`,
    ),
    '/v1/patients/{patientId}/consents/history': patients.map((id) => `/v1/patients/${id}/consents/history?limit=1`),
    '/v1/patients/{patientId}/consents/{id}': decided.map((id) => `/v1/patients/${granted}/consents/${id}`),
    '/v1/patients/{patientId}/consents/{id}/receipt': decided.map(
      (id) => `/v1/patients/${granted}/consents/${id}/receipt`,
    ),
    '/v1/patients/{patientId}/consents/{typeCode}/status': patients.map(
      (id) => `/v1/patients/${id}/consents/ai_analysis/status`,
    ),
  }
}

const clinician = () => ({
  'x-actor-context': actorContext(asking.orgId, ['human-review:admin', 'human-review:decide'], asking.userId, [
    asking.productId,
  ]),
})

/** A day before and after now, so that every decision of the test is in it. */
function agreement(): string {
  const [from, to] = [-1, 1].map((days) => new Date(Date.now() + days * 86_400_000).toISOString())
  return `/v1/human-review/agreement?from=${from}&to=${to}`
}

/** The task of this patient is decided, that of the patient who withdrew the consent is cancelled, and one is open. */
async function tasksOfEveryStatus(patientId: string): Promise<readonly string[]> {
  const base = '/v1/human-review/tasks'
  const call = (path: string, request: object = {}) => api.call(path, { ...request, headers: clinician() })
  const tasks = await waitFor('three tasks, of which one is cancelled', async () => {
    const data = at((await expecting(200, call(base))).body, 'data')
    const found: readonly unknown[] = Array.isArray(data) ? data : []
    return found.length === 3 && found.some((task) => at(task, 'status') === 'cancelled') ? found : undefined
  })
  const task = tasks.find((one) => at(one, 'patient_id') === patientId)
  const review = await expecting(200, api.call(`/v1/ai-reviews/${textAt(task, 'ai_review_id')}`))
  const lesions = Array.from(Object(at(review.body, 'lesions')) as readonly unknown[], (lesion) => ({
    lesion_number: at(lesion, 'lesionNumber'),
    outcome: 'reject',
  }))
  const path = `${base}/${textAt(task, 'id')}`
  await expecting(200, call(`${path}/claim`, { method: 'POST' }))
  const body = { lesions, recommendation: 'no_action', note: 'Nothing to see' }
  await expecting(200, call(`${path}/decide`, { body }))
  for (const one of tasks) {
    const assessment = `/v1/clinical-api/assessments/${textAt(one, 'assessment_id')}`
    const status = one === task ? 'decided' : textAt(one, 'status')
    await waitFor(`the ${status} review of the assessment`, async () =>
      at((await expecting(200, api.call(assessment))).body, 'review', 'status') === status ? true : undefined,
    )
  }
  return tasks.map((one) => `${base}/${textAt(one, 'id')}`)
}

/** Two notifications to an address. Their delivery ends while the other records are made. */
async function sentNotifications(): Promise<readonly string[]> {
  const template = { category: 'operational', phi: false, bodyTemplate: 'News' }
  await expecting(201, api.call('/v1/notifications/admin/templates/ward.news', { method: 'PUT', body: template }))
  const body = { templateCode: 'ward.news', recipient: { type: 'email', ref: 'ward@example.org' }, variables: {} }
  const sent = [1, 2].map(() => expecting(202, api.call('/v1/notifications', { body })))
  return (await Promise.all(sent)).map(({ headers }) => headers.get('location') ?? '')
}

/** Two rules, of which one has changed; two suppressions, of which one is removed; and an opt-out. */
async function notificationSettings() {
  const [rules, suppressed] = ['/v1/notifications/admin/subscriptions', '/v1/notifications/admin/suppressions'] as const
  const preferences = `/v1/notifications/preferences/${asking.userId}`
  const recipientRule = { type: 'user', path: 'userId' }
  const rule = { eventType: 'test.event', templateCode: 'users.created', recipientRule }
  const [id] = [await expecting(201, api.call(rules, { body: rule })), await api.call(rules, { body: rule })].map(
    ({ body }) => textAt(body, 'id'),
  )
  await expecting(200, api.call(`${rules}/${id}`, { method: 'PATCH', body: { enabled: false } }))
  for (const address of ['one@example.org', 'two@example.org']) {
    const body = { channel: 'email', address, reason: 'Asked by phone' }
    const added = await expecting(201, api.call(suppressed, { body }))
    if (address.startsWith('two')) await api.call(`${suppressed}/${textAt(added.body, 'id')}`, { method: 'DELETE' })
  }
  const optOut = [{ category: 'marketing', channel: 'email', optedOut: true }]
  await expecting(200, api.call(preferences, { method: 'PUT', body: optOut }))
  return { rules, suppressed, preferences }
}

/** About the administrator that the start creates. */
async function questionsAboutUsers(): Promise<Questions> {
  const { orgId, userId } = asking
  const headers = { 'x-actor-context': actorContext(orgId, ['users:admin'], userId) }
  const roles = idsOf((await expecting(200, api.call('/v1/admin/roles', { headers }))).body)
  const { body: user } = await expecting(200, api.call(`/v1/admin/users/${userId}`, { headers }))
  return {
    '/v1/admin/roles': ['/v1/admin/roles', '/v1/admin/roles?limit=1'],
    '/v1/admin/roles/{id}': roles.map((id) => `/v1/admin/roles/${id}`),
    '/v1/admin/users': ['/v1/admin/users', '/v1/admin/users?type=admin&status=active'],
    '/v1/admin/users/{id}': [`/v1/admin/users/${userId}`],
    '/v1/permissions': ['/v1/permissions', '/v1/permissions?service_id=platform'],
    '/v1/users/by-external-id/{externalId}': [`/v1/users/by-external-id/${textAt(user, 'externalId')}`],
    '/v1/users/me': ['/v1/users/me'],
    '/v1/users/{id}/context': [`/v1/users/${userId}/context`],
  }
}

/** A definition in two versions, and instances that wait, have completed or were cancelled. */
async function questionsAboutWorkflows(caseId: string): Promise<Questions> {
  const base = '/v1/orchestrator'
  const [definitions, instances] = [`${base}/workflow-definitions`, `${base}/workflow-instances`]
  const workflow = { name: 'Changed lesion', start_step_id: 'intake', steps: lesionSteps }
  await expecting(201, api.call(definitions, { body: workflow }))
  const { body } = await expecting(201, api.call(definitions, { body: workflow }))
  const definition = textAt(body, 'id')
  const start = { workflow_definition_id: definition, case_id: caseId }
  const begin = async () => textAt((await expecting(201, api.call(instances, { body: start }))).body, 'id')
  const [waiting, completed, cancelled] = [await begin(), await begin(), await begin()]
  const output = { answers: { age: 61, changed: false, note: 'Nothing else' } }
  await expecting(200, api.call(`${instances}/${completed}/advance`, { body: { step_id: 'intake', output } }))
  await expecting(200, api.call(`${instances}/${cancelled}/cancel`, { method: 'POST' }))
  return {
    [definitions]: [definitions, `${definitions}?limit=1`],
    [`${definitions}/{id}`]: [`${definitions}/${definition}`, `${definitions}/${definition}?version=1`],
    [instances]: [`${instances}?case_id=${caseId}`, `${instances}?state=completed`],
    [`${instances}/{id}`]: [waiting, completed, cancelled].map((id) => `${instances}/${id}`),
  }
}

/** The addresses of the received deliveries, after the log shows each as delivered. */
async function deliveriesOf(subscriptions: readonly string[]): Promise<string[]> {
  const lists = subscriptions.map((id) => `/v1/clinical-api/webhook-subscriptions/${id}/deliveries`)
  return waitFor('every delivery', async () => {
    const pages = await Promise.all(lists.map((list) => expecting(200, api.call(`${list}?status=delivered`))))
    const paths = pages.flatMap(({ body }, place) => idsOf(body).map((id) => `${lists[place]}/${id}`))
    return paths.length === receiver.received.length ? paths : undefined
  })
}

/** The record of a new assessment at its end, after its webhooks arrived and its case has the findings. */
async function ended(patientId: string): Promise<unknown> {
  const id = await requestAssessment(api, assessmentBody(patientId, [await photograph()]))
  const record = await endOf(api, id)
  const expected = at(record, 'status') === 'completed' ? 2 : 1
  await waitFor(`${expected} webhook(s)`, () => (webhooksAbout(receiver, id).length === expected ? true : undefined))
  const lesions = Number(at(record, 'result', 'outcome', 'lesions', 'length') ?? 0)
  await waitFor(`${lesions} diagnoses`, async () => {
    const { body } = await expecting(200, api.call(`/v1/clinical-api/cases/${textAt(record, 'case_id')}/diagnoses`))
    return at(body, 'data', 'length') === lesions ? true : undefined
  })
  return record
}

function idsOf(page: unknown): string[] {
  const data = at(page, 'data')
  return Array.isArray(data) ? data.map((record) => textAt(record, 'id')) : []
}

/** As an operator would, through the `postgres` database of the same server. */
async function dropDatabase(url: string): Promise<void> {
  const maintenance = new URL(url)
  const name = maintenance.pathname.slice(1)
  maintenance.pathname = '/postgres'
  const client = new Client({ connectionString: maintenance.href })
  await client.connect()
  try {
    await client.query(`drop database ${client.escapeIdentifier(name)} with (force)`)
  } finally {
    await client.end()
  }
}
