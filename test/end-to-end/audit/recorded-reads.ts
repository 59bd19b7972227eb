import { randomUUID } from 'node:crypto'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient, ClientSecrets } from '../../support/raw-api.ts'
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
} from '../../support/main-job.ts'
import { waitFor } from '../../support/platform.ts'
import { lesionSteps } from '../../streams/workflow-facts.ts'

/** A request, and what a reader of its answer learns about whom. */
export interface Read {
  readonly operation: string
  readonly path: string
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH'
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly status: number
  /** Who reads it. `actor`: with a clinician. `platform`: a client without an organisation. */
  readonly by: 'client' | 'actor' | 'platform'
  /** Undefined: the answer is no access. */
  readonly shows?: {
    readonly patients: readonly string[]
    readonly user?: string
    readonly categories: readonly string[]
  }
}

export interface OrganisationOfReads {
  readonly orgId: string
  /** The clinician behind requests with `actor`. */
  readonly clinician: string
  readonly actor: string
  readonly clients: Readonly<Record<Read['by'], ApiClient>>
  readonly clientIds: readonly string[]
  /** Reads the access log. */
  readonly auditor: ApiClient
  readonly patients: readonly [string, string]
  readonly reads: readonly Read[]
}

interface Connecting {
  readonly baseUrl: string
  readonly adminSecret: string
  readonly productId: string
  connect(client: ClientSecrets): Promise<ApiClient>
}

const scopes = [
  ...['patients', 'cases', 'images', 'assessments', 'orchestrator', 'human-review'].map((name) => `${name}:write`),
  'ai-review:read',
  'ai-review:read-raw',
  'notifications:send',
  'notifications:read',
  'notifications:admin',
  'patients:erase',
]

/** An organisation with one record of each kind about a patient, a second patient with a case, and every personal read. */
export async function openOrganisationOfReads(platform: Connecting): Promise<OrganisationOfReads> {
  const orgId = randomUUID()
  const headers = { 'x-admin-api-secret': platform.adminSecret, 'content-type': 'application/json' }
  const register = async (org: string | null, given: readonly string[], isTrusted = false) => {
    const product = org === null ? {} : { product_id: platform.productId }
    const body = { name: 'Reader', org_id: org, ...product, scopes: given, trusted_actor_context: isTrusted }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    const made: unknown = await (await fetch(`${platform.baseUrl}/v1/auth/clients`, request)).json()
    const secrets = { client_id: textAt(made, 'client_id'), client_secret: textAt(made, 'client_secret') }
    return { id: secrets.client_id, api: await platform.connect(secrets) }
  }
  const reader = await register(orgId, scopes, true)
  const outside = await register(null, ['patients:read', 'users:contact'])
  const auditor = await register(orgId, ['audit:read'])
  const { api } = reader
  const clinician = randomUUID()
  const permissions = ['human-review:decide', 'human-review:admin', 'consents:admin', 'users:admin']
  const actor = actorContext(orgId, permissions, clinician, [platform.productId])
  const asActor = { 'x-actor-context': actor }

  const terms = await createConsentTerms(api, orgId)
  const mrn = `mrn|${randomUUID()}`
  const [scheme = '', value = ''] = mrn.split('|')
  const patient = await registerPatient(api, { identifiers: [{ scheme, value }] })
  const other = await registerPatient(api)
  const consentId = (await decideConsent(api, patient, terms, 'granted')).data.id
  const rules = { rules: [{ always: true }] }
  await expecting(200, api.call('/v1/human-review/policy', { method: 'PUT', body: rules, headers: asActor }))
  const request = { ...assessmentBody(patient, [await photograph()]), external_reference: 'ward 7' }
  const [requestKey, startKey] = [{ 'idempotency-key': randomUUID() }, { 'idempotency-key': randomUUID() }]
  const assessmentId = await requestAssessment(api, request, requestKey)
  const caseId = textAt(await endOf(api, assessmentId), 'case_id')
  const { id: reviewId, lesions } = await reviewOfCase(api, caseId)
  const task = await waitFor('a task', async () => at((await api.call('/v1/human-review/tasks')).body, 'data', 0))
  const taskId = textAt(task, 'id')
  const taskPath = `/v1/human-review/tasks/${taskId}`
  await expecting(200, api.call(`${taskPath}/claim`, { method: 'POST', headers: asActor }))
  const opinion = {
    lesions: lesions.map(({ lesionNumber }) => ({ lesion_number: lesionNumber, outcome: 'confirm' })),
    recommendation: 'refer',
    note: 'A note of the clinician',
  }
  await expecting(200, api.call(`${taskPath}/decide`, { body: opinion, headers: asActor }))
  const otherCase = textAt(
    (await expecting(201, api.call('/v1/clinical-api/cases', { body: { patient_id: other } }))).body,
    'id',
  )
  const declared = { case_id: caseId, capture_type: 'other', mime_type: 'image/png' }
  const imageId = textAt((await expecting(201, api.call('/v1/clinical-api/images', { body: declared }))).body, 'id')
  const workflow = { name: 'Changed lesion', start_step_id: 'intake', steps: lesionSteps }
  const definition = await expecting(201, api.call('/v1/orchestrator/workflow-definitions', { body: workflow }))
  const start = { workflow_definition_id: textAt(definition.body, 'id'), case_id: caseId }
  const instances = '/v1/orchestrator/workflow-instances'
  const begin = async (headers: Readonly<Record<string, string>> = {}) =>
    textAt((await expecting(201, api.call(instances, { body: start, headers }))).body, 'id')
  const [instance, bare] = [await begin(startKey), await begin()]
  const step = { step_id: 'intake', output: { answers: { age: 44, changed: true } } }
  await expecting(200, api.call(`${instances}/${instance}/advance`, { body: step }))
  const code = `about-${orgId}`
  const template = { category: 'operational', phi: true, bodyTemplate: 'About you.', subject: 'News' }
  await expecting(201, api.call(`/v1/notifications/admin/templates/${code}`, { method: 'PUT', body: template }))
  const notify = async (about: object) => {
    const body = { templateCode: code, recipient: { type: 'email', ref: 'ward@example.org' }, variables: {}, ...about }
    return textAt((await expecting(202, api.call('/v1/notifications', { body }))).body, 'id')
  }
  const [mail, mailAboutNobody] = [await notify({ patientId: patient }), await notify({})]
  const role = { organisationId: orgId, name: 'Patients', isDefault: true }
  await expecting(201, api.call('/v1/admin/roles', { body: role, headers: asActor }))
  const account = {
    email: `${randomUUID()}@example.org`,
    displayName: 'Ada Example',
    userType: 'patient',
    organisationId: orgId,
    patientAccount: { clinicalPatientId: patient },
  }
  const userId = textAt(
    (await expecting(201, api.call('/v1/admin/users', { body: account, headers: asActor }))).body,
    'id',
  )

  const org = `org_id=${orgId}`
  const consents = `/v1/patients/${patient}/consents`
  const shown = (operation: string, path: string, ...categories: readonly string[]): Read => ({
    operation,
    path,
    status: 200,
    by: 'client',
    shows: { patients: [patient], categories },
  })
  const nothing = (operation: string, path: string, more: Partial<Read> = {}): Read => ({
    operation,
    path,
    status: 200,
    by: 'client',
    ...more,
  })
  const etag = async (path: string) => String((await expecting(200, api.call(path))).headers.get('etag'))
  const patientPath = `/v1/clinical-api/patients/${patient}`
  const casePath = `/v1/clinical-api/cases/${caseId}`
  const holdPath = `${patientPath}/legal-hold`
  const hold = { method: 'PUT', body: { reason: 'A lawsuit' } } as const
  await expecting(200, api.call(holdPath, hold))
  const reads: Read[] = [
    shown('getPatient', patientPath, 'record'),
    { ...shown('getPatient', `${patientPath}?${org}`, 'record'), by: 'platform' },
    { ...shown('getPatient', patientPath, 'record'), by: 'actor' },
    shown('listPatients', `/v1/clinical-api/patients?identifier=${encodeURIComponent(mrn)}`, 'record'),
    { ...shown('correctPatient', patientPath, 'record'), method: 'PATCH', body: {} },
    shown('getLegalHold', holdPath, 'record'),
    { ...shown('placeLegalHold', holdPath, 'record'), ...hold },
    shown('getCase', casePath, 'record'),
    shown('listCases', `/v1/clinical-api/cases?patient_id=${patient}`, 'record'),
    {
      ...shown('listCases', '/v1/clinical-api/cases', 'record'),
      shows: { patients: [patient, other], categories: ['record'] },
    },
    {
      ...shown('closeCase', `/v1/clinical-api/cases/${otherCase}/close`),
      method: 'POST',
      shows: { patients: [other], categories: ['record'] },
    },
    shown('listFindings', `${casePath}/findings`, 'results'),
    shown('listDiagnoses', `${casePath}/diagnoses`, 'results'),
    shown('getImage', `/v1/clinical-api/images/${imageId}`, 'images'),
    shown('listImages', `/v1/clinical-api/images?case_id=${caseId}`, 'images'),
    shown('getAssessment', `/v1/clinical-api/assessments/${assessmentId}`, 'images', 'record', 'results'),
    {
      ...shown('createAssessment', '/v1/clinical-api/assessments', 'images', 'record', 'results'),
      method: 'POST',
      body: request,
      headers: requestKey,
      status: 202,
    },
    shown('getAiReview', `/v1/ai-reviews/${reviewId}`, 'images', 'results'),
    shown('listAiReviews', `/v1/ai-reviews?caseId=${caseId}`, 'results'),
    shown('getRawAiReview', `/v1/ai-reviews/${reviewId}/raw`, 'raw_response'),
    shown('getHumanReviewTask', taskPath, 'results'),
    { ...shown('getHumanReviewTask', taskPath, 'notes', 'results'), by: 'actor' },
    shown('listHumanReviewTasks', '/v1/human-review/tasks', 'results'),
    shown('getWorkflowInstance', `${instances}/${instance}`, 'answers'),
    { ...shown('advanceWorkflowInstance', `${instances}/${instance}/advance`, 'answers'), method: 'POST', body: step },
    {
      ...shown('startWorkflowInstance', instances, 'answers'),
      method: 'POST',
      body: start,
      headers: startKey,
      status: 201,
    },
    shown('getNotification', `/v1/notifications/${mail}`, 'notifications'),
    shown('listNotifications', '/v1/notifications', 'notifications'),
    shown('listConsents', `${consents}?${org}`, 'consent'),
    shown('listConsentHistory', `${consents}/history`, 'consent'),
    shown('getConsentStatus', `${consents}/ai_analysis/status`, 'consent'),
    shown('checkConsents', `${consents}/check?types=ai_analysis`, 'consent'),
    shown('getConsentDecision', `${consents}/${consentId}`, 'consent'),
    shown('getConsentReceipt', `${consents}/${consentId}/receipt`, 'consent'),
    shown('getConsentRecords', `/v1/consent-records?patientId=${patient}&consentTypeCode=ai_analysis`, 'consent'),
    {
      ...shown('getUserContact', `/v1/users/${userId}/contact?${org}`),
      by: 'platform',
      shows: { patients: [], user: userId, categories: ['contact'] },
    },
    {
      ...shown('getPatientContact', `/v1/users/by-clinical-patient/${patient}/contact?${org}`),
      by: 'platform',
      shows: { patients: [patient], user: userId, categories: ['contact'] },
    },

    nothing('getPatient', patientPath, { method: 'HEAD' }),
    nothing('getPatient', patientPath, { status: 304, headers: { 'if-none-match': await etag(patientPath) } }),
    nothing('getCase', casePath, { status: 304, headers: { 'if-none-match': await etag(casePath) } }),
    nothing('getPatient', `/v1/clinical-api/patients/${randomUUID()}`, { status: 404 }),
    nothing('getPatient', patientPath, { status: 400, headers: { 'x-purpose-of-use': 'CURIOSITY' } }),
    nothing('registerPatient', '/v1/clinical-api/patients', {
      method: 'POST',
      body: { given_name: 'New', family_name: 'Patient', dob: '1980-02-29' },
      status: 201,
    }),
    nothing('listImages', `/v1/clinical-api/images?patient_id=${other}`),
    nothing('listConsentHistory', `/v1/patients/${other}/consents/history`),
    nothing('getConsentStatus', `/v1/patients/${other}/consents/ai_analysis/status`),
    nothing('getConsentRecords', `/v1/consent-records?patientId=${other}&consentTypeCode=ai_analysis`),
    nothing('getWorkflowInstance', `${instances}/${bare}`),
    nothing('getNotification', `/v1/notifications/${mailAboutNobody}`),
    nothing('listWorkflowInstances', instances),
    nothing('listBodySites', '/v1/clinical-api/body-sites'),
    nothing('getUser', `/v1/admin/users/${userId}`, { by: 'actor' }),
  ]
  return {
    orgId,
    clinician,
    actor,
    clients: { client: api, actor: api, platform: outside.api },
    clientIds: [reader.id, outside.id],
    auditor: auditor.api,
    patients: [patient, other],
    reads,
  }
}
