import { Webhook } from 'standardwebhooks'
import type { Credentials } from '../credentials-file.ts'
import { actorContext, at, createApiClient, requestToken, textAt, type ApiClient } from './api-client.ts'
import { mailAbout, subscribePatient, type CompletionMail } from './completion-mail.ts'
import { runSlotMode } from './slot-mode.ts'
import { createSteps, expectStatus, pollToEnd, untilReceived, type DemoImage, type Report } from './steps.ts'
import type { WebhookReceiver } from './webhook-receiver.ts'

export interface DemoOptions {
  readonly credentials: Credentials
  readonly images: readonly DemoImage[]
  readonly receiver: WebhookReceiver
  readonly report: Report
}

export interface MainJobResult {
  /** The record of the completed assessment. */
  readonly assessment: unknown
  readonly mail: CompletionMail
}

/** The main job of the platform, over HTTP only, step by step. Throws at the first failed step. */
export async function runMainJob({ credentials, images, receiver, report }: DemoOptions): Promise<MainJobResult> {
  const { base_url: baseUrl, org_id: orgId, clients, mailbox_url: mailbox } = credentials
  const [own, other] = clients
  if (own === undefined || other === undefined) throw new Error('credentials.json lacks a client')
  if (mailbox === null) throw new Error('the demo needs the embedded mail box: unset SMTP_URL and MAIL_TRANSPORT')

  const step = createSteps(report)
  const api = await step('request an access token', async () => {
    const answer = await expectStatus(200, requestToken(baseUrl, own))
    const scopes = textAt(answer.body, 'scope').split(' ').length
    return [`200, ${scopes} scopes`, createApiClient(baseUrl, textAt(answer.body, 'access_token'))]
  })
  const admin = { 'x-actor-context': actorContext(orgId, ['consents:admin']) }

  const consentTypeId = await step('create the consent type ai_analysis', async () => {
    const body = { code: 'ai_analysis', displayName: 'Automated analysis', legalBasis: 'consent', required: true }
    const answer = await expectStatus(201, api.call('/v1/admin/consent-types', { body, headers: admin }))
    return ['201', textAt(answer.body, 'id')]
  })
  const textVersionId = await step('publish its text', async () => {
    const body = { locale: 'en-GB', text: 'I agree that my photographs are analysed automatically.' }
    const path = `/v1/admin/consent-types/${consentTypeId}/text-versions`
    const answer = await expectStatus(201, api.call(path, { body, headers: admin }))
    return [`201, SHA-256 ${textAt(answer.body, 'contentHash').slice(0, 12)}…`, textAt(answer.body, 'id')]
  })
  const patientId = await step('register a patient', () => registerPatient(api, 'Ada'))
  await step("record the patient's consent", async () => {
    const body = { consent_type_id: consentTypeId, text_version_id: textVersionId, decision: 'granted' }
    const answer = await expectStatus(201, api.call(`/v1/patients/${patientId}/consents`, { body }))
    return [`201, ${textAt(answer.body, 'decision')}`, undefined]
  })
  const secret = await step('subscribe a webhook', async () => {
    const body = { url: receiver.url, event_types: ['assessment.completed', 'assessment.failed'] }
    const answer = await expectStatus(201, api.call('/v1/clinical-api/webhook-subscriptions', { body }))
    return ['201', textAt(answer.body, 'secret')]
  })
  const email = await subscribePatient({ step, api, orgId, patientId })

  const key = { 'idempotency-key': `demo-${Date.now()}` }
  const request = assessmentOf(patientId, images)
  const id = await step('request an assessment, images in the body', async () => {
    const answer = await expectStatus(202, api.call('/v1/clinical-api/assessments', { body: request, headers: key }))
    return [`202, ${textAt(answer.body, 'status')}, case ${textAt(answer.body, 'case_id')}`, textAt(answer.body, 'id')]
  })
  await step('the same request with the same key', async () => {
    const answer = await expectStatus(202, api.call('/v1/clinical-api/assessments', { body: request, headers: key }))
    if (textAt(answer.body, 'id') !== id) throw new Error('a repeated key created a second assessment')
    return ['202, the same assessment', undefined]
  })
  await step('another request with the same key', async () => {
    const body = { ...request, external_reference: 'another' }
    const answer = await expectStatus(409, api.call('/v1/clinical-api/assessments', { body, headers: key }))
    return [`409, ${textAt(answer.body, 'code')}`, undefined]
  })
  const completed = await step('poll until it is completed', () => pollToEnd(api, id, 'completed'))
  await step('read the AI review', async () => {
    const list = await expectStatus(200, api.call(`/v1/ai-reviews?caseId=${textAt(completed, 'case_id')}`))
    const answer = await expectStatus(200, api.call(`/v1/ai-reviews/${textAt(list.body, 'data', 0, 'id')}`))
    const lesions = at(answer.body, 'lesions')
    return [
      `200, ${textAt(answer.body, 'status')}, ${Array.isArray(lesions) ? lesions.length : 0} lesion(s)`,
      undefined,
    ]
  })
  await step('receive and verify the webhook', async () => {
    const webhook = await untilReceived(receiver, id)
    new Webhook(secret).verify(webhook.body, { ...webhook.headers })
    return [`${webhook.headers['webhook-event-type']}, signature verified`, undefined]
  })
  await step('download the first image', async () => {
    const response = await fetch(textAt(completed, 'images', 0, 'download_url'))
    const bytes = Buffer.from(await response.arrayBuffer())
    if (response.status !== 200 || bytes.toString('base64') !== images[0]?.data)
      throw new Error('the image came back changed')
    return [`200, ${bytes.length} bytes as sent`, undefined]
  })
  await runSlotMode({ step, api, patientId, images, receiver, secret })
  await step('another organisation asks for it', async () => {
    const token = await expectStatus(200, requestToken(baseUrl, other))
    const stranger = createApiClient(baseUrl, textAt(token.body, 'access_token'))
    await expectStatus(404, stranger.call(`/v1/clinical-api/assessments/${id}`))
    return ['404, as for an unknown id', undefined]
  })
  await step('an assessment without consent', async () => {
    const [, stranger] = await registerPatient(api, 'Grace')
    const body = assessmentOf(stranger, images.slice(0, 1))
    const answer = await expectStatus(202, api.call('/v1/clinical-api/assessments', { body }))
    const [, failed] = await pollToEnd(api, textAt(answer.body, 'id'), 'failed')
    return [`failed, ${textAt(failed, 'error', 'code')}`, undefined]
  })
  const mail = await step('read the mail about the assessment', async () => {
    const found = await mailAbout(id, email, mailbox)
    return [`"${found.subject}" to ${found.to}`, found]
  })
  return { assessment: completed, mail }
}

async function registerPatient(api: ApiClient, givenName: string): Promise<readonly [string, string]> {
  const body = { given_name: givenName, family_name: 'Example', dob: '1980-02-29' }
  const answer = await expectStatus(201, api.call('/v1/clinical-api/patients', { body }))
  const id = textAt(answer.body, 'id')
  return [`201, ${id}`, id]
}

function assessmentOf(patientId: string, images: readonly DemoImage[]) {
  return {
    patient_id: patientId,
    finding: { finding_type: 'lesion' },
    images: images.map(({ mimeType, data }, index) => ({
      capture_type: index === 0 ? 'dermoscopic' : 'macroscopic',
      mime_type: mimeType,
      data,
    })),
    external_reference: 'demo-1',
  }
}
