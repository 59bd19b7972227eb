import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { watchPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
  type ConsentTerms,
} from '../../support/main-job.ts'
import { waitFor, type PlatformInUse } from '../../support/platform.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

let platform: PlatformInUse
let api: ApiClient
let operator: ApiClient
let eraser: ApiClient
let terms: ConsentTerms
let receiver: WebhookReceiver
let orgId: string
let status = 204

beforeAll(async () => {
  receiver = await startWebhookReceiver(() => status)
  platform = await joinSharedPlatform()
  const watched = watchPlatform(platform.baseUrl)
  orgId = platform.process.credentials.org_id
  api = watched.watch(await platform.connect())
  operator = watched.watch(await clientWith(['operations:read'], null))
  eraser = await clientWith(['patients:erase'], orgId)
  terms = await createConsentTerms(api, orgId)
  const body = { url: receiver.url, event_types: ['assessment.completed', 'assessment.failed'] }
  await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body }))
})
afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

async function clientWith(scopes: readonly string[], owner: string | null): Promise<ApiClient> {
  const headers = {
    'content-type': 'application/json',
    'x-admin-api-secret': platform.process.credentials.admin_api_secret ?? '',
  }
  const body = JSON.stringify({ name: 'Operators', scopes, ...(owner === null ? {} : { org_id: owner }) })
  const made = await fetch(`${platform.baseUrl}/v1/auth/clients`, { method: 'POST', headers, body })
  const client: unknown = await made.json()
  const secrets = { client_id: textAt(client, 'client_id'), client_secret: textAt(client, 'client_secret') }
  return platform.connect(secrets)
}

const subject = async (id: string) => (await expecting(200, operator.call(`/v1/operations/subjects/${id}`))).body

interface Stage {
  readonly name: string
  readonly status: string
  readonly started_at: string | null
  readonly ended_at: string | null
  readonly attempts: number
  readonly error: unknown
}
const stagesIn = (body: unknown) => at(body, 'stages') as readonly Stage[]
const statuses = (body: unknown) => Object.fromEntries(stagesIn(body).map((stage) => [stage.name, stage.status]))
const relatedTo = (body: unknown, kind: string) =>
  (at(body, 'related') as { kind: string; id: string }[]).filter((one) => one.kind === kind).map(({ id }) => id)

async function notifyOf(eventType: string): Promise<void> {
  const admin = '/v1/notifications/admin'
  const code = `note-${randomUUID()}`
  const template = { category: 'operational', phi: false, channel: 'slack', bodyTemplate: 'An assessment has ended' }
  await expecting(201, api.call(`${admin}/templates/${code}`, { method: 'PUT', body: template }))
  const rule = { eventType, templateCode: code, recipientRule: { type: 'slackChannel', channel: 'C0ENDS' } }
  await expecting(201, api.call(`${admin}/subscriptions`, { body: rule }))
}

test('an assessment has passed all stages, and leads to everything that belongs to it', async () => {
  const headers = { 'x-actor-context': actorContext(orgId, ['human-review:admin']) }
  await api.client.request('PUT', '/v1/human-review/policy', { body: { rules: [{ always: true }] }, headers })
  await notifyOf('assessment.completed')
  const patientId = await consentedPatient(api, terms)
  const body = { ...assessmentBody(patientId, [await photograph()]), external_reference: 'canary' }
  const id = await requestAssessment(api, body)
  await endOf(api, id, 60_000)
  const ended = await waitFor('all stages', async () => {
    const found = await subject(id)
    const { human_review: review, ...others } = statuses(found)
    return review === 'running' && Object.values(others).every((one) => one === 'done') ? found : undefined
  })
  expect(ended).toMatchObject({
    kind: 'assessment',
    id,
    org_id: orgId,
    status: 'completed',
    error_code: null,
    work: [],
  })
  expect(stagesIn(ended).map(({ name }) => name)).toEqual([
    'accepted',
    'images',
    'consent',
    'provider',
    'result',
    'findings',
    'human_review',
    'webhooks',
    'notifications',
  ])
  const [provider, webhooks] = [stagesIn(ended)[3], stagesIn(ended)[7]]
  // A case, an image and the request to process it.
  expect([provider?.attempts, webhooks?.attempts]).toEqual([3, 1])
  for (const { started_at: from, ended_at: to, error } of stagesIn(ended)) {
    expect(error).toBeNull()
    if (to !== null) expect(Date.parse(to)).toBeGreaterThanOrEqual(Date.parse(String(from)))
  }
  expect(JSON.stringify(ended)).not.toMatch(/canary|patient/)

  const related = Object.fromEntries(
    ['case', 'ai_review', 'task', 'delivery', 'notification'].map((kind) => [kind, relatedTo(ended, kind)]),
  )
  expect(Object.values(related).map(({ length }) => length)).toEqual([1, 1, 1, 1, 1])
  const statusesOf = {
    case: 'in_review',
    ai_review: 'completed',
    task: 'open',
    delivery: 'delivered',
    notification: 'sent',
  }
  for (const [kind, [one = '']] of Object.entries(related)) {
    const found = await subject(one)
    expect(found).toMatchObject({
      kind,
      id: one,
      org_id: orgId,
      status: Reflect.get(statusesOf, kind),
      error_code: null,
    })
  }
  expect(relatedTo(await subject(related['delivery']?.[0] ?? ''), 'assessment')).toEqual([id])

  const other = platform.process.credentials.clients[1]?.org_id ?? ''
  for (const path of [`${id}?org_id=${other}`, randomUUID()])
    expect((await operator.call(`/v1/operations/subjects/${path}`)).status).toBe(404)
  expect((await operator.call(`/v1/operations/subjects/${id}?org_id=${orgId}`)).status).toBe(200)

  await expecting(
    202,
    eraser.call(`/v1/clinical-api/patients/${patientId}/erase`, { body: { reason: 'person_request' } }),
  )
  for (const one of [id, ...['case', 'ai_review', 'task', 'delivery'].map((kind) => related[kind]?.[0] ?? '')]) {
    const refused = await operator.call(`/v1/operations/subjects/${one}`)
    expect([refused.status, at(refused.body, 'code')]).toEqual([410, 'subject-erased'])
  }
})

test('an assessment without consent has failed there, and its webhook waits for the receiver', async () => {
  status = 503
  const id = await requestAssessment(api, assessmentBody(await registerPatient(api), [await photograph()]))
  const failed = await waitFor('the failed webhook', async () => {
    const found = await subject(id)
    return statuses(found)['webhooks'] === 'failed' ? found : undefined
  })
  expect(failed).toMatchObject({ status: 'failed', error_code: 'CONSENT_MISSING' })
  expect(statuses(failed)).toEqual({
    accepted: 'done',
    images: 'done',
    consent: 'failed',
    provider: 'skipped',
    result: 'skipped',
    findings: 'skipped',
    human_review: 'skipped',
    webhooks: 'failed',
    notifications: 'skipped',
  })
  const webhooks = stagesIn(failed)[7]
  const host = new URL(receiver.url).host
  expect(webhooks).toMatchObject({ attempts: 2, error: { class: 'attempt_failed', code: '503', host } })
})

test('an assessment that waits for its images waits there', async () => {
  const { data } = await api.client.request('POST', '/v1/clinical-api/assessments', {
    body: {
      patient_id: await consentedPatient(api, terms),
      finding: { finding_type: 'lesion' },
      images: [{ capture_type: 'dermoscopic', mime_type: 'image/jpeg' }],
    },
  })
  const waiting = await subject(data.id)
  expect(waiting).toMatchObject({ status: 'awaiting_images', ended_at: null })
  expect(statuses(waiting)).toMatchObject({
    accepted: 'done',
    images: 'waiting',
    consent: 'waiting',
    webhooks: 'waiting',
  })
  expect(at(waiting, 'work', 0)).toMatchObject({ process: 'assessments', state: 'waiting', subject: { id: data.id } })
})
