import { createClient, verifyWebhook, type Client, type Schemas } from 'clinical-assessment-client/source'
import type { Credentials } from '../credentials-file.ts'
import { actorContext, textAt } from './members.ts'
import { mailAbout, subscribePatient, type CompletionMail } from './completion-mail.ts'
import { runSlotMode } from './slot-mode.ts'
import { createSteps, expectProblem, pollToEnd, untilReceived, type DemoImage, type Report } from './steps.ts'
import type { WebhookReceiver } from './webhook-receiver.ts'

export interface DemoOptions {
  readonly credentials: Credentials
  readonly images: readonly DemoImage[]
  readonly receiver: WebhookReceiver
  readonly report: Report
}

export interface MainJobResult {
  /** The record of the completed assessment. */
  readonly assessment: Schemas['AssessmentRecord']
  readonly mail: CompletionMail
}

/** The main job of the platform, over HTTP only, step by step. Throws at the first failed step. */
export async function runMainJob({ credentials, images, receiver, report }: DemoOptions): Promise<MainJobResult> {
  const { base_url: baseUrl, org_id: orgId, clients, mailbox_url: mailbox } = credentials
  const [own, other] = clients
  if (own === undefined || other === undefined) throw new Error('credentials.json lacks a client')
  if (mailbox === null) throw new Error('the demo needs the embedded mail box: unset SMTP_URL and MAIL_TRANSPORT')

  const step = createSteps(report)
  const client = createClient({ baseUrl, clientId: own.client_id, clientSecret: own.client_secret })
  // Without repeats, for refusals that are expected.
  const impatient = await step('request an access token', async () => {
    const { client_id, client_secret } = own
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
    const answer = await fetch(`${baseUrl}/v1/auth/oauth/token`, { method: 'POST', body })
    const issued: unknown = await answer.json()
    if (!answer.ok) throw new Error(`no token: ${JSON.stringify(issued)}`)
    const scopes = textAt(issued, 'scope').split(' ').length
    const token = textAt(issued, 'access_token')
    return [`${answer.status}, ${scopes} scopes`, createClient({ baseUrl, token, retries: 0 })]
  })
  const headers = { 'x-actor-context': actorContext(orgId, ['consents:admin']) }

  const consentTypeId = await step('create the consent type ai_analysis', async () => {
    const body = { code: 'ai_analysis', displayName: 'Automated analysis', legalBasis: 'consent', required: true }
    const { status, data } = await client.request('POST', '/v1/admin/consent-types', { body, headers })
    return [String(status), data.id]
  })
  const textVersionId = await step('publish its text', async () => {
    const body = { locale: 'en-GB', text: 'I agree that my photographs are analysed automatically.' }
    const path = '/v1/admin/consent-types/{typeId}/text-versions'
    const { status, data } = await client.request('POST', path, { params: { typeId: consentTypeId }, body, headers })
    return [`${status}, SHA-256 ${data.contentHash.slice(0, 12)}…`, data.id]
  })
  const patientId = await step('register a patient', () => registerPatient(client, 'Ada'))
  await step("record the patient's consent", async () => {
    const { status, data } = await client.request('POST', '/v1/patients/{patientId}/consents', {
      params: { patientId },
      body: { consent_type_id: consentTypeId, text_version_id: textVersionId, decision: 'granted' },
    })
    return [`${status}, ${data.decision}`, undefined]
  })
  const secret = await step('subscribe a webhook', async () => {
    const { status, data } = await client.request('POST', '/v1/clinical-api/webhook-subscriptions', {
      body: { url: receiver.url, event_types: ['assessment.completed', 'assessment.failed'] },
    })
    return [String(status), textAt(data, 'secret')]
  })
  const email = await subscribePatient({ step, client, orgId, patientId })

  const assessments = '/v1/clinical-api/assessments'
  const idempotencyKey = `demo-${Date.now()}`
  const body = assessmentOf(patientId, images)
  const id = await step('request an assessment, images in the body', async () => {
    const { status, data } = await client.request('POST', assessments, { body, idempotencyKey })
    return [`${status}, ${data.status}, case ${data.case_id}`, data.id]
  })
  await step('the same request with the same key', async () => {
    const { status, data } = await client.request('POST', assessments, { body, idempotencyKey })
    if (data.id !== id) throw new Error('a repeated key created a second assessment')
    return [`${status}, the same assessment`, undefined]
  })
  await step('another request with the same key', async () => {
    const another = { ...body, external_reference: 'another' }
    const asked = impatient.request('POST', assessments, { body: another, idempotencyKey })
    const { status, code } = await expectProblem(409, asked)
    return [`${status}, ${code}`, undefined]
  })
  const completed = await step('poll until it is completed', () => pollToEnd(client, id, 'completed'))
  await step('read the AI review', async () => {
    const { value: review } = await client
      .list('/v1/ai-reviews', { params: { caseId: textAt(completed, 'case_id') } })
      .next()
    const { status, data } = await client.request('GET', '/v1/ai-reviews/{id}', {
      params: { id: textAt(review, 'id') },
    })
    return [`${status}, ${data.status}, ${data.lesions?.length ?? 0} lesion(s)`, undefined]
  })
  await step('receive and verify the webhook', async () => {
    const webhook = await untilReceived(receiver, id)
    await verifyWebhook(webhook.body, webhook.headers, secret)
    return [`${webhook.headers['webhook-event-type']}, signature verified`, undefined]
  })
  await step('download the first image', async () => {
    const response = await fetch(textAt(completed, 'images', 0, 'download_url'))
    const bytes = Buffer.from(await response.arrayBuffer())
    if (response.status !== 200 || bytes.toString('base64') !== images[0]?.data)
      throw new Error('the image came back changed')
    return [`200, ${bytes.length} bytes as sent`, undefined]
  })
  await runSlotMode({ step, client, impatient, patientId, images, receiver, secret })
  await step('another organisation asks for it', async () => {
    const stranger = createClient({ baseUrl, clientId: other.client_id, clientSecret: other.client_secret })
    const asked = stranger.request('GET', '/v1/clinical-api/assessments/{id}', { params: { id } })
    const { status } = await expectProblem(404, asked)
    return [`${status}, as for an unknown id`, undefined]
  })
  await step('an assessment without consent', async () => {
    const [, stranger] = await registerPatient(client, 'Grace')
    const { data } = await client.request('POST', assessments, { body: assessmentOf(stranger, images.slice(0, 1)) })
    const [, failed] = await pollToEnd(client, data.id, 'failed')
    return [`failed, ${failed.error?.code}`, undefined]
  })
  const mail = await step('read the mail about the assessment', async () => {
    const found = await mailAbout(id, email, mailbox)
    return [`"${found.subject}" to ${found.to}`, found]
  })
  return { assessment: completed, mail }
}

async function registerPatient(client: Client, givenName: string): Promise<readonly [string, string]> {
  const body = { given_name: givenName, family_name: 'Example', dob: '1980-02-29' }
  const { status, data } = await client.request('POST', '/v1/clinical-api/patients', { body })
  return [`${status}, ${data.id}`, data.id]
}

function assessmentOf(patientId: string, images: readonly DemoImage[]): Schemas['CreateAssessmentBody'] {
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
