import { Problem, type Answer, type Schemas } from 'clinical-assessment-client/source'
import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { actorContext, at, textAt } from '../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from './raw-api.ts'
import type { ReceivedWebhook, WebhookReceiver } from '../../app/demo/webhook-receiver.ts'
import { waitFor } from './platform.ts'

type CaptureType = 'dermoscopic' | 'macroscopic' | 'other'

/** A photograph to send: the `images[]` entry and its bytes. */
export interface Photograph {
  readonly entry: {
    readonly capture_type: CaptureType
    readonly mime_type: 'image/jpeg' | 'image/png'
    readonly data: string
  }
  readonly bytes: Buffer
  readonly sha256: string
}

/** A real photograph with unique bytes: extra bytes follow the end of the image. */
export async function photograph(captureType: CaptureType = 'dermoscopic', name = 'lesion-1.jpg'): Promise<Photograph> {
  const file = await readFile(new URL(`../../embedded/photos/${name}`, import.meta.url))
  const bytes = Buffer.concat([file, randomBytes(16)])
  const mimeType = name.endsWith('.png') ? 'image/png' : 'image/jpeg'
  return {
    entry: { capture_type: captureType, mime_type: mimeType, data: bytes.toString('base64') },
    bytes,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  }
}

/** The answer, if it has that status; else an error that contains the answer. */
export async function expecting(status: number, asked: Promise<ApiAnswer>): Promise<ApiAnswer> {
  const answer = await asked
  if (answer.status === status) return answer
  throw new Error(`expected ${status}, got ${answer.status}: ${JSON.stringify(answer.body)}`)
}

/** The consent type of the analysis with one text in effect. */
export interface ConsentTerms {
  readonly consent_type_id: string
  readonly text_version_id: string
}

export async function createConsentTerms(
  api: ApiClient,
  orgId: string,
  code = 'ai_analysis',
  headers: Readonly<Record<string, string>> = { 'x-actor-context': actorContext(orgId, ['consents:admin']) },
): Promise<ConsentTerms> {
  const type = { code, displayName: 'Automated analysis', legalBasis: 'consent', required: true }
  const { data: created } = await api.client.request('POST', '/v1/admin/consent-types', { body: type, headers })
  const body = { locale: 'en-GB', text: 'I agree that my photographs are analysed automatically.' }
  const path = '/v1/admin/consent-types/{typeId}/text-versions'
  const params = { typeId: created.id }
  const { data: published } = await api.client.request('POST', path, { params, body, headers })
  return { consent_type_id: created.id, text_version_id: published.id }
}

/** A new patient's id. */
export async function registerPatient(
  api: ApiClient,
  members: Partial<Schemas['RegisterPatientBody']> = {},
): Promise<string> {
  const body = { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29', ...members }
  return (await api.client.request('POST', '/v1/clinical-api/patients', { body })).data.id
}

export async function decideConsent(
  api: ApiClient,
  patientId: string,
  terms: ConsentTerms,
  decision: Schemas['RecordConsentBody']['decision'],
): Promise<Answer<Schemas['ConsentDecisionRecord']>> {
  const options = { params: { patientId }, body: { ...terms, decision } }
  return api.client.request('POST', '/v1/patients/{patientId}/consents', options)
}

/** A new patient who has granted consent to the analysis. */
export async function consentedPatient(api: ApiClient, terms: ConsentTerms): Promise<string> {
  const patientId = await registerPatient(api)
  await decideConsent(api, patientId, terms, 'granted')
  return patientId
}

export function assessmentBody(
  patientId: string,
  photographs: readonly Photograph[],
): Schemas['CreateAssessmentBody'] & { readonly patient_id: string } {
  return { patient_id: patientId, finding: { finding_type: 'lesion' }, images: photographs.map(({ entry }) => entry) }
}

/** The id of a new assessment. */
export async function requestAssessment(
  api: ApiClient,
  body: Schemas['CreateAssessmentBody'],
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  return (await api.client.request('POST', '/v1/clinical-api/assessments', { body, headers })).data.id
}

/** The record once it is completed or failed. The platform holds the answer, which takes less work than many answers. */
export async function endOf(
  api: ApiClient,
  assessmentId: string,
  limitMs?: number,
): Promise<Schemas['AssessmentRecord']> {
  const options = { params: { id: assessmentId }, wait: 25 }
  const look = async () => {
    const answer = await api.client.request('GET', '/v1/clinical-api/assessments/{id}', options).catch(unlessBehind)
    return answer?.data.status === 'processing' ? undefined : answer?.data
  }
  return waitFor(`the end of assessment ${assessmentId}`, look, limitMs)
}

/** On a busy machine a read model may need longer than a request waits for it. */
function unlessBehind(error: unknown): undefined {
  if (!(error instanceof Problem) || error.code !== 'read-model-behind') throw error
}

/** The AI review of a case, once there is one. */
export async function reviewOfCase(api: ApiClient, caseId: string): Promise<Schemas['AiReviewDetails']> {
  const id = await waitFor(`the AI review of case ${caseId}`, async () => {
    const { data: page } = await api.client.request('GET', '/v1/ai-reviews', { params: { caseId } })
    return page.data[0]?.id
  })
  return (await api.client.request('GET', '/v1/ai-reviews/{id}', { params: { id } })).data
}

/** Subscribes a receiver to the end of every assessment of the organisation. Returns the secret of its signatures. */
export async function subscribeToEnds(api: ApiClient, { url }: Pick<WebhookReceiver, 'url'>): Promise<string> {
  const { data } = await api.client.request('POST', '/v1/clinical-api/webhook-subscriptions', {
    body: { url, event_types: ['assessment.completed', 'assessment.failed'] },
  })
  return textAt(data, 'secret')
}

/** The first webhook about an assessment. */
export async function webhookAbout(receiver: WebhookReceiver, assessmentId: string): Promise<ReceivedWebhook> {
  return waitFor(`the webhook about assessment ${assessmentId}`, () => webhooksAbout(receiver, assessmentId)[0])
}

export function webhooksAbout(receiver: WebhookReceiver, assessmentId: string): readonly ReceivedWebhook[] {
  return receiver.received.filter(({ body }) => at(JSON.parse(body), 'id') === assessmentId)
}

/** A record without the parts that each answer signs again. */
export function withoutSignatures(record: unknown): unknown {
  return JSON.parse(JSON.stringify(record), (name, value: unknown) =>
    name === 'download_url' && typeof value === 'string' ? value.slice(0, value.indexOf('?')) : value,
  )
}
