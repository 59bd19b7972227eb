import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { commandHere } from '../../support/command-here.ts'
import { watchPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  createConsentTerms,
  decideConsent,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
  reviewOfCase,
  subscribeToEnds,
  webhookAbout,
  type ConsentTerms,
} from '../../support/main-job.ts'
import { startPlatformHere, waitFor, type PlatformHere } from '../../support/platform.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'

const identifiers = [{ scheme: 'nhs', value: '9434765919' }]
const settings = { UPLOAD_URL_TTL_SECONDS: '1', SEAL_INTERVAL_SECONDS: '1', ERASURE_VAULT_HOURS: '0' }

let platform: PlatformHere
let receiver: WebhookReceiver
let orgId: string
let api: ApiClient
let eraser: ApiClient
let terms: ConsentTerms
let erased: Story
let living: Story
let exportId: string

interface Story {
  readonly patientId: string
  readonly consentId: string
  readonly assessmentId: string
  readonly caseId: string
  readonly aiReviewId: string
  readonly imageUrl: string
}

/** A patient with a consent, and an assessment that has completed. */
async function story(members: Parameters<typeof registerPatient>[1]): Promise<Story> {
  const patientId = await registerPatient(api, members)
  const { data: consent } = await decideConsent(api, patientId, terms, 'granted')
  const assessmentId = await requestAssessment(api, assessmentBody(patientId, [await photograph()]))
  const record = await endOf(api, assessmentId, 60_000)
  const caseId = record.case_id ?? ''
  const review = await reviewOfCase(api, caseId)
  return {
    patientId,
    consentId: consent.id,
    assessmentId,
    caseId,
    aiReviewId: review.id,
    imageUrl: record.images[0]?.download_url ?? '',
  }
}

const get = (path: string, client = api) => client.call(path)
const codeOf = ({ status, body }: ApiAnswer) => {
  const code = at(body, 'code')
  return `${status} ${typeof code === 'string' ? code : ''}`.trim()
}
const clinical = '/v1/clinical-api'
const idsIn = ({ body }: ApiAnswer) =>
  (Object(at(body, 'data')) as readonly unknown[]).map((item) => textAt(item, 'id'))

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  platform = await startPlatformHere({ env: settings })
  const watched = watchPlatform(platform.baseUrl)
  const { org_id, admin_api_secret: secret } = platform.process.credentials
  orgId = org_id
  api = watched.watch(await platform.connect())
  terms = await createConsentTerms(api, orgId)
  const headers = { 'x-admin-api-secret': secret ?? '', 'content-type': 'application/json' }
  const body = JSON.stringify({
    name: 'Eraser',
    org_id: orgId,
    scopes: ['patients:erase', 'audit:export', 'audit:read', 'audit:read-phi', 'events:read'],
  })
  const made: unknown = await (
    await fetch(`${platform.baseUrl}/v1/auth/clients?org_id=${orgId}`, { method: 'POST', headers, body })
  ).json()
  const secrets = { client_id: textAt(made, 'client_id'), client_secret: textAt(made, 'client_secret') }
  eraser = watched.watch(await platform.connect(secrets))
  await subscribeToEnds(api, receiver)
  erased = await story({ identifiers })
  await webhookAbout(receiver, erased.assessmentId)
  living = await story({ given_name: 'Grace' })
  const asked = await expecting(202, eraser.call('/v1/audit/exports', { body: { patient_id: erased.patientId } }))
  exportId = textAt(asked.body, 'id')
  await waitFor('the export', async () => {
    const { body: record } = await eraser.call(`/v1/audit/exports/${exportId}`)
    return at(record, 'status') === 'finished' ? record : undefined
  })
})
afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

// `erasure-steps.int` has a crash before and after each step, and the torture has killed processes.
describe('an erasure', () => {
  it('is shown as running, and refuses what is new at once', async () => {
    const before = await fetch(erased.imageUrl)
    expect(before.status).toBe(200)
    const path = `${clinical}/patients/${erased.patientId}`
    const { body } = await expecting(202, eraser.call(`${path}/erase`, { body: { reason: 'person_request' } }))
    expect(body).toMatchObject({ patient_id: erased.patientId, status: 'running' })
    const opened = await api.call(`${clinical}/cases`, { body: { patient_id: erased.patientId } })
    expect(codeOf(opened)).toBe('410 subject-erased')
  })

  it('is complete once each step is done without an error', async () => {
    const state = await waitFor(
      'the end of the erasure',
      async () => {
        const { body } = await get(`${clinical}/patients/${erased.patientId}/erasure`, eraser)
        return at(body, 'status') === 'completed' ? body : undefined
      },
      90_000,
    )
    const steps = Object(at(state, 'steps')) as readonly unknown[]
    expect(steps.map((step) => [at(step, 'error_code'), typeof at(step, 'done_at')])).toEqual(
      steps.map(() => [null, 'string']),
    )
    const keys = steps.find((step) => at(step, 'name') === 'keys_destroyed')
    expect(Date.parse(textAt(state, 'backups_until')) - Date.parse(textAt(keys, 'done_at'))).toBe(35 * 86_400_000)
  })
})

describe('after the erasure', () => {
  it('every route about the patient is 410', async () => {
    const { patientId, consentId, assessmentId, caseId, aiReviewId } = erased
    const own = [
      `${clinical}/patients/${patientId}`,
      `${clinical}/cases/${caseId}`,
      `${clinical}/assessments/${assessmentId}`,
      `/v1/ai-reviews/${aiReviewId}`,
      `/v1/patients/${patientId}/consents?org_id=${orgId}`,
      `/v1/patients/${patientId}/consents/history`,
      `/v1/patients/${patientId}/consents/${consentId}`,
      `/v1/patients/${patientId}/consents/${consentId}/receipt`,
      `/v1/patients/${patientId}/consents/ai_analysis/status`,
    ]
    const answers = await Promise.all(own.map(async (path) => [path, codeOf(await get(path))]))
    expect(answers).toEqual(own.map((path) => [path, '410 subject-erased']))
    const asOf = new URLSearchParams({ at: new Date().toISOString(), path: `${clinical}/patients/${patientId}` })
    for (const path of [
      `/v1/audit/exports/${exportId}`,
      `${clinical}/patients/${patientId}/legal-hold`,
      `/v1/audit/as-of?${asOf.toString()}`,
    ])
      expect(`${path} ${codeOf(await get(path, eraser))}`).toBe(`${path} 410 subject-erased`)
  })

  it('nothing new about the patient is recorded', async () => {
    const { patientId, assessmentId } = erased
    const consent = { ...terms, decision: 'granted' }
    const photographs = [await photograph()]
    expect(codeOf(await api.call(`${clinical}/cases`, { body: { patient_id: patientId } }))).toBe('410 subject-erased')
    expect(codeOf(await api.call(`/v1/patients/${patientId}/consents`, { body: consent }))).toBe('410 subject-erased')
    expect(codeOf(await api.call(`${clinical}/assessments`, { body: assessmentBody(patientId, photographs) }))).toBe(
      '410 subject-erased',
    )
    expect(
      codeOf(await api.call(`${clinical}/patients/${patientId}`, { method: 'PATCH', body: { given_name: 'Ida' } })),
    ).toBe('410 subject-erased')
    expect(codeOf(await api.call(`${clinical}/assessments/${assessmentId}/submit`, { method: 'POST' }))).toBe(
      '410 subject-erased',
    )
  })

  it('lists leave it out, and others stay', async () => {
    const cases = await expecting(200, get(`${clinical}/cases`))
    expect(idsIn(cases)).toContain(living.caseId)
    expect(idsIn(cases)).not.toContain(erased.caseId)
    expect(idsIn(await expecting(200, get('/v1/ai-reviews')))).toEqual([living.aiReviewId])
    expect((await get(`${clinical}/patients/${living.patientId}`)).status).toBe(200)
  })

  it('the photograph is gone, and that of another patient is not', async () => {
    const { data } = await api.client.request('GET', '/v1/clinical-api/assessments/{id}', {
      params: { id: living.assessmentId },
    })
    expect((await fetch(data.images[0]?.download_url ?? '')).status).toBe(200)
    expect((await fetch(erased.imageUrl)).status).toBe(404)
  })

  it('timeline, access log and provenance stay, without personal content', async () => {
    const { patientId, aiReviewId } = erased
    const timeline = await expecting(
      200,
      get(`/v1/audit/timeline?patient_id=${patientId}&with_phi=true&limit=200`, eraser),
    )
    const items = Object(at(timeline.body, 'data')) as readonly unknown[]
    const registered = items.find((item) => at(item, 'type') === 'PatientRegistered')
    expect(at(registered, 'data', 'person')).toBeNull()
    expect(items.map((item) => at(item, 'type'))).toContain('SubjectErased')
    expect(JSON.stringify(items)).not.toContain('Example')
    await expecting(200, get(`/v1/audit/access-log?patient_id=${patientId}`, eraser))
    await waitFor('the document', async () => {
      const { status } = await get(`/v1/ai-reviews/${aiReviewId}/provenance`, eraser)
      return status === 200 ? status : undefined
    })
  })

  it('its identifiers are free', async () => {
    expect(await registerPatient(api, { identifiers })).not.toBe(erased.patientId)
  })

  it('is published', async () => {
    const { body } = await expecting(200, get('/v1/events/clinical?types=clinical.patient.erased', eraser))
    expect(at(body, 'data')).toMatchObject([{ patient_id: erased.patientId }])
  })

  it('a delivery that is sent again has id and status only', async () => {
    const full = receiver.received.find(({ body }) => at(JSON.parse(body), 'id') === erased.assessmentId)
    expect(at(JSON.parse(full?.body ?? '{}'), 'patient_id')).toBe(erased.patientId)
    const subscribed = await expecting(200, get(`${clinical}/webhook-subscriptions`))
    const subscription = `${clinical}/webhook-subscriptions/${textAt(subscribed.body, 'data', 0, 'id')}`
    const listed = await expecting(200, get(`${subscription}/deliveries?limit=200`))
    const items = Object(at(listed.body, 'data')) as readonly unknown[]
    const delivery = items.find((item) => at(item, 'assessment_id') === erased.assessmentId)
    const before = receiver.received.length
    const path = `${subscription}/deliveries/${textAt(delivery, 'id')}/redeliver`
    await expecting(202, api.call(path, { method: 'POST' }))
    const again = await waitFor('the delivery', () => receiver.received[before])
    expect(JSON.parse(again.body)).toEqual({ id: erased.assessmentId, status: 'completed' })
  })

  it('a rebuild of every read model gives the same tables', async () => {
    const env = { PLATFORM_DATA_DIR: platform.dataDir, ...(await platform.operatorEnv()) }
    const verified = await commandHere(['projections', 'verify', '--all'], env)
    expect(verified).toMatchObject({ code: 0 })
  })
})
