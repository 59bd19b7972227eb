import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import type { ApiAnswer, ApiClient } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
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
import { lesionSteps } from '../../streams/workflow-facts.ts'
import { operationsOf, pathWith, type DocumentedOperation } from '../../support/operations.ts'
import { clientOf, waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

const unknownId = '0190b0a0-0000-7000-8000-000000000001'
const declaredImage = { capture_type: 'other', mime_type: 'image/png' }
const identifiers = [{ scheme: 'mrn', value: 'shared between organisations' }]

let platform: PlatformInUse
let watched: WatchedPlatform
let owner: ApiClient
let stranger: ApiClient
let orgId: string
let strangerOrgId: string
let operations: readonly DocumentedOperation[]
/** Ids of the owner, by operation and parameter. */
let owned: Readonly<Record<string, Readonly<Record<string, string>>>>
let consent: { readonly consent_type_id: string; readonly text_version_id: string }
let patientId: string
let roleId: string
/** An opinion that confirms every lesion of the owner's task. */
let confirmation: unknown

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  operations = await operationsOf(platform.baseUrl)
  orgId = clientOf(platform.process, 0).org_id ?? ''
  strangerOrgId = clientOf(platform.process, 1).org_id ?? ''
  owner = watched.watch(await platform.connect())
  stranger = watched.watch(await platform.connect(clientOf(platform.process, 1)))

  consent = await createConsentTerms(owner, orgId)
  patientId = await registerPatient(owner)
  const receipted = (await decideConsent(owner, patientId, consent, 'granted')).data.id
  await registerPatient(owner, { identifiers: [...identifiers, { scheme: 'mrn', value: 'of the owner' }] })
  const assessmentId = await requestAssessment(owner, assessmentBody(patientId, [await photograph()]))
  const caseId = textAt(await endOf(owner, assessmentId), 'case_id')
  const subscribe = { url: 'http://127.0.0.1:1/', event_types: ['assessment.failed'] }
  const subscription = await expecting(201, owner.call('/v1/clinical-api/webhook-subscriptions', { body: subscribe }))
  const doomed = await expecting(
    201,
    owner.call('/v1/clinical-api/webhook-subscriptions', { body: { ...subscribe, url: 'http://127.0.0.1:1/doomed' } }),
  )
  const subscriptionId = textAt(subscription.body, 'id')
  const tested = await expecting(
    202,
    owner.call(`/v1/clinical-api/webhook-subscriptions/${subscriptionId}/test`, { method: 'POST' }),
  )
  const delivery = { id: subscriptionId, deliveryId: textAt(tested.body, 'id') }
  const declared = { ...assessmentBody(patientId, []), images: [{ capture_type: 'other', mime_type: 'image/png' }] }
  const slot = await expecting(202, owner.call('/v1/clinical-api/assessments', { body: declared }))
  const slotId = textAt(slot.body, 'id')
  const image = await expecting(
    201,
    owner.call('/v1/clinical-api/images', { body: { case_id: caseId, ...declaredImage } }),
  )
  const imageId = textAt(image.body, 'id')
  const reviewId = textAt(await reviewOfCase(owner, caseId), 'id')
  const task = { id: await newTask() }
  const [client, rotated, doomedClient] = [await newClient(), await newClient(), await newClient()]
  const secrets = `/v1/auth/clients/${rotated}/secrets`
  const secret = await expecting(201, owner.call(secrets, { method: 'POST', headers: asAdmin(orgId) }))
  const template = { category: 'operational', phi: false, bodyTemplate: 'The owner’s.' }
  const code = 'of-the-owner'
  await expecting(201, owner.call(`/v1/notifications/admin/templates/${code}`, { method: 'PUT', body: template }))
  const notification = { templateCode: code, recipient: { type: 'email', ref: 'ward@example.org' }, variables: {} }
  const sent = {
    id: textAt((await expecting(202, owner.call('/v1/notifications', { body: notification }))).body, 'id'),
  }
  const definition = await expecting(201, owner.call('/v1/orchestrator/workflow-definitions', { body: workflow }))
  const definitionId = textAt(definition.body, 'id')
  const instance = { workflow_definition_id: definitionId, case_id: caseId }
  const [advanced, cancelled] = [await newInstance(instance), await newInstance(instance)]
  const doomedCase = await expecting(201, owner.call('/v1/clinical-api/cases', { body: { patient_id: patientId } }))
  owned = {
    getNotification: sent,
    retryFailedNotification: sent,
    ...(await ownedUsers()),
    ...(await ownedSettings()),
    getHumanReviewTask: task,
    claimHumanReviewTask: task,
    releaseHumanReviewTask: task,
    decideHumanReviewTask: task,
    getNotificationTemplate: { code },
    previewNotificationTemplate: { code },
    getWorkflowDefinition: { id: definitionId },
    getWorkflowInstance: { id: advanced },
    advanceWorkflowInstance: { id: advanced },
    cancelWorkflowInstance: { id: cancelled },
    closeCase: { id: textAt(doomedCase.body, 'id') },
    getOauthClient: { id: client },
    changeOauthClient: { id: client },
    addOauthClientSecret: { id: client },
    removeOauthClientSecret: { id: rotated, secretId: textAt(secret.body, 'id') },
    deleteOauthClient: { id: doomedClient },
    signUploadUrl: { id: slotId, imageId: textAt(slot.body, 'images', 0, 'id') },
    submitAssessment: { id: slotId },
    getImage: { id: imageId },
    signImageUploadUrl: { id: imageId },
    submitImage: { id: imageId },
    cancelAiReview: { id: reviewId },
    supersedeAiReview: { id: reviewId },
    getPatient: { id: patientId },
    correctPatient: { id: patientId },
    getCase: { id: caseId },
    listFindings: { id: caseId },
    listDiagnoses: { id: caseId },
    getAssessment: { id: assessmentId },
    getAiReview: { id: reviewId },
    getWebhookSubscription: { id: textAt(subscription.body, 'id') },
    testWebhookSubscription: { id: subscriptionId },
    recoverWebhooks: { id: subscriptionId },
    listWebhookDeliveries: { id: subscriptionId },
    getWebhookDelivery: delivery,
    redeliverWebhook: delivery,
    changeWebhookSubscription: { id: textAt(subscription.body, 'id') },
    rotateWebhookSecret: { id: textAt(subscription.body, 'id') },
    deleteWebhookSubscription: { id: textAt(doomed.body, 'id') },
    getConsentStatus: { patientId, typeCode: 'ai_analysis' },
    checkConsents: { patientId },
    recordConsentDecision: { patientId },
    listConsents: { patientId },
    listConsentHistory: { patientId },
    getConsentDecision: { patientId, id: receipted },
    getConsentReceipt: { patientId, id: receipted },
    getConsentType: { id: consent.consent_type_id },
    updateConsentType: { id: consent.consent_type_id },
    deleteConsentType: { id: consent.consent_type_id },
    listConsentTextVersions: { typeId: consent.consent_type_id },
    publishConsentTextVersion: { typeId: consent.consent_type_id },
  }
})

afterAll(() => platform.stop())

const asAdmin = (org: string) => ({
  'x-actor-context': actorContext(org, [
    'auth:admin',
    'consents:admin',
    'human-review:admin',
    'notifications:admin',
    'users:admin',
  ]),
})
/** A clinician who has the product of the task, in either organisation. */
const asClinician = (org: string) => ({
  'x-actor-context': actorContext(org, ['human-review:decide'], undefined, [platform.process.credentials.product_id]),
})
const byClinicians = ['claimHumanReviewTask', 'releaseHumanReviewTask', 'decideHumanReviewTask']

const workflow = { name: 'Changed lesion', start_step_id: 'intake', steps: lesionSteps }

async function newInstance(body: object): Promise<string> {
  return textAt((await expecting(201, owner.call('/v1/orchestrator/workflow-instances', { body }))).body, 'id')
}

async function newClient(): Promise<string> {
  const body = { name: 'Client', scopes: ['cases:read'] }
  const { body: record } = await expecting(201, owner.call('/v1/auth/clients', { body, headers: asAdmin(orgId) }))
  return textAt(record, 'client_id')
}

/** The task of a further completed review. */
async function newTask(): Promise<string> {
  const [policy, tasks] = ['/v1/human-review/policy', '/v1/human-review/tasks']
  const body = { rules: [{ always: true }] }
  await expecting(200, owner.call(policy, { method: 'PUT', body, headers: asAdmin(orgId) }))
  await endOf(owner, await requestAssessment(owner, assessmentBody(patientId, [await photograph()])))
  const task = await waitFor('a task', async () => at((await owner.call(tasks)).body, 'data', 0))
  const review = await expecting(200, owner.call(`/v1/ai-reviews/${textAt(task, 'ai_review_id')}`))
  const lesions = Array.from(Object(at(review.body, 'lesions')) as readonly unknown[], (lesion) => ({
    lesion_number: at(lesion, 'lesionNumber'),
    outcome: 'confirm',
  }))
  confirmation = { lesions, recommendation: 'refer' }
  return textAt(task, 'id')
}

/** Two rules and two suppressed addresses, of which one each is removed. */
async function ownedSettings() {
  const create = async (path: string, body: unknown) => ({
    id: textAt((await expecting(201, owner.call(`/v1/notifications/admin/${path}`, { body }))).body, 'id'),
  })
  const recipientRule = { type: 'user', path: 'userId' }
  const rule = { eventType: 'users.created', templateCode: 'users.created', recipientRule }
  const suppress = (address: string) => create('suppressions', { channel: 'email', address, reason: 'Asked by phone' })
  const subscription = await create('subscriptions', rule)
  return {
    getNotificationSubscription: subscription,
    changeNotificationSubscription: subscription,
    deleteNotificationSubscription: await create('subscriptions', rule),
    getSuppression: await suppress('one@example.org'),
    removeSuppression: await suppress('two@example.org'),
  }
}

/** A user for each operation that changes one for good. */
async function ownedUsers() {
  const headers = asAdmin(orgId)
  const send = async (status: number, path: string, body?: unknown, method = 'POST') => {
    const sent = body === undefined ? {} : { body }
    return (await expecting(status, owner.call(path, { method, headers, ...sent }))).body
  }
  const newRole = async (name: string) => ({
    id: textAt(await send(201, '/v1/admin/roles', { organisationId: orgId, name }), 'id'),
  })
  const newUser = async () => {
    const body = { email: `${randomUUID()}@example.org`, displayName: 'User', userType: 'admin', roleId: role.id }
    const user = await send(201, '/v1/admin/users', body)
    const [id, membershipId] = [textAt(user, 'id'), textAt(user, 'memberships', 0, 'id')]
    return { user: { id }, membership: { id, membershipId }, externalId: textAt(user, 'externalId') }
  }
  const [role, doomedRole] = [await newRole('Reader'), await newRole('Doomed')]
  const [shown, left, gone, erased] = [await newUser(), await newUser(), await newUser(), await newUser()]
  await send(200, `/v1/admin/users/${erased.user.id}`, undefined, 'DELETE')
  const products = `/v1/admin/users/${shown.user.id}/memberships/${shown.membership.membershipId}/products`
  await send(201, products, { productId: 'scanner' })
  roleId = role.id
  return {
    getRole: role,
    changeRole: role,
    deleteRole: doomedRole,
    getUser: shown.user,
    getNotificationPreferences: { userId: shown.user.id },
    setNotificationPreferences: { userId: shown.user.id },
    changeUser: shown.user,
    getUserByExternalId: { externalId: shown.externalId },
    getActorContext: shown.user,
    resetPassword: shown.user,
    addMembership: shown.user,
    changeMembership: shown.membership,
    grantProductAccess: shown.membership,
    revokeProductAccess: { ...shown.membership, productId: 'scanner' },
    removeMembership: left.membership,
    deactivateUser: gone.user,
    eraseUser: erased.user,
  }
}

/**
 * The consent service does not check that a patient exists. These operations give the same answer for all patients that
 * are not of the caller's organisation.
 */
const answersAnyPatient = ['checkConsents', 'recordConsentDecision', 'listConsents', 'listConsentHistory']

const textVersion = { locale: 'en-GB', text: 'Another text.' }

const freshImage = {
  imageId: unknownId,
  imageType: 'DERMOSCOPIC',
  presignedUrl: 'http://127.0.0.1:1/',
  presignedUrlExpiresAt: '2999-01-01T00:00:00Z',
}

interface Needed {
  readonly query?: string
  readonly body?: unknown
  /** The owner's status, if it is not 200. */
  readonly own?: number
}

/** Required queries and bodies of the operations. */
const needed = (): Readonly<Record<string, Needed>> => ({
  changeRole: { body: {} },
  deleteRole: { own: 204 },
  changeUser: { body: {} },
  resetPassword: { own: 202 },
  addMembership: { body: { organisationId: orgId }, own: 409 },
  changeMembership: { body: { roleId } },
  removeMembership: { own: 204 },
  grantProductAccess: { body: { productId: 'camera' }, own: 201 },
  revokeProductAccess: { own: 204 },
  checkConsents: { query: 'types=ai_analysis' },
  publishConsentTextVersion: { body: textVersion, own: 201 },
  updateConsentType: { body: {} },
  previewNotificationTemplate: { body: { variables: {} } },
  // It has not failed.
  retryFailedNotification: { own: 409 },
  changeNotificationSubscription: { body: {} },
  deleteNotificationSubscription: { own: 204 },
  removeSuppression: { own: 204 },
  // Nobody holds it any more.
  decideHumanReviewTask: { body: confirmation, own: 409 },
  setNotificationPreferences: { body: [] },
  correctPatient: { body: {} },
  deleteConsentType: { own: 409 },
  changeOauthClient: { body: {} },
  addOauthClientSecret: { own: 201 },
  removeOauthClientSecret: { own: 204 },
  deleteOauthClient: { own: 204 },
  testWebhookSubscription: { own: 202 },
  recoverWebhooks: { body: { since: '2026-01-01T00:00:00Z' }, own: 202 },
  redeliverWebhook: { own: 202 },
  changeWebhookSubscription: { body: { description: 'changed' } },
  deleteWebhookSubscription: { own: 204 },
  // The review has completed. Nothing was uploaded.
  cancelAiReview: { own: 409 },
  advanceWorkflowInstance: { body: { step_id: 'intake', output: { answers: { age: 1, changed: true } } } },
  submitAssessment: { own: 409 },
  submitImage: { own: 409 },
  supersedeAiReview: { body: { images: [freshImage] }, own: 202 },
})

function ask(
  client: ApiClient,
  org: string,
  operation: DocumentedOperation,
  values: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<ApiAnswer> {
  const { query, body: ownBody } = needed()[operation.operationId] ?? {}
  const headers = {
    'x-request-id': 'a-request',
    ...(operation.isAdmin ? asAdmin(org) : {}),
    ...(byClinicians.includes(operation.operationId) ? asClinician(org) : {}),
  }
  const sent = body ?? ownBody
  return client.call(`${pathWith(operation, values)}${query === undefined ? '' : `?${query}`}`, {
    method: operation.method,
    headers,
    ...(sent === undefined ? {} : { body: sent }),
  })
}

/**
 * The status, headers and body of an answer, without the id of the occurrence and the headers of time, trace and
 * remaining limits.
 */
function formOf({ status, headers, body }: ApiAnswer): string {
  const kept = [...headers].filter(([name]) => !['date', 'traceparent', 'ratelimit'].includes(name))
  return JSON.stringify([status, kept, body]).replace(/urn:uuid:[0-9a-f-]{36}/, 'urn:uuid:')
}

/** A client of an organisation lacks the scope, whatever the id. The auditors below have that of exports. */
const platformOnly = [
  'getAiReviewProvenance',
  'getExport',
  'getPatientContact',
  'getRawAiReview',
  'getUserContact',
  'readFailureGroup',
  'readOperationsSubject',
  'readWork',
  'rebuildProjection',
  'retryFailureGroup',
  'retryProjection',
  'retryWork',
  'rollBackProjection',
  'skipProjectionEvent',
  'verifyProjection',
]
/** The first clients lack their scope. `test/commands/clinical/erasure-routes.int.test.ts` tries foreign ids. */
const erasures = [
  'approveErasure',
  'cancelErasure',
  'erasePatient',
  'getErasure',
  'getLegalHold',
  'placeLegalHold',
  'releaseLegalHold',
]
/** It creates a template of the caller’s own organisation. */
const creating = ['putNotificationTemplate']
/** Each organisation reads its own events of the same channel (`test/read-api/events/`). All read the hashes of one log. */
const shared = ['readEvents', 'readLogTile']

test('the list of routes with ids is complete', () => {
  const withIds = operations.filter(
    ({ parameters, operationId }) =>
      parameters.length > 0 &&
      !['getProblem', ...platformOnly, ...erasures, ...creating, ...shared].includes(operationId),
  )
  expect(withIds.map(({ operationId }) => operationId).toSorted()).toEqual(Object.keys(owned).toSorted())
})

test('another organisation gets the same 404 for every id, byte for byte, as for an unknown id', async () => {
  for (const operation of operations.filter(({ operationId }) => !answersAnyPatient.includes(operationId))) {
    const values = owned[operation.operationId]
    if (values === undefined) continue
    const unknown = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, name === 'typeCode' ? value : unknownId]),
    )
    const foreign = await ask(stranger, strangerOrgId, operation, values)
    expect([operation.operationId, foreign.status, at(foreign.body, 'code')]).toEqual([
      operation.operationId,
      404,
      'not-found',
    ])
    expect(formOf(foreign)).toBe(formOf(await ask(stranger, strangerOrgId, operation, unknown)))
    expect(formOf(foreign)).toBe(
      formOf(
        await ask(owner, orgId, operation, { ...unknown, ...('typeCode' in values ? { typeCode: 'unknown' } : {}) }),
      ),
    )
    const mine = await ask(
      owner,
      orgId,
      operation,
      values,
      operation.operationId === 'publishConsentTextVersion' ? { locale: 'de', text: 'Ein Text.' } : undefined,
    )
    expect([operation.operationId, mine.status]).toEqual([
      operation.operationId,
      needed()[operation.operationId]?.own ?? 200,
    ])
  }
})

test('a malformed id gives the same answer as an unknown id', async () => {
  for (const operation of operations) {
    const values = owned[operation.operationId]
    if (values === undefined) continue
    // `test/platform/http/application.int.test.ts` has the other forms.
    const forms = operation.operationId === 'getCase' ? ['1', `${unknownId}0`, '%00', "'--"] : []
    for (const malformed of ['nonsense', ...forms]) {
      const ids = Object.fromEntries(
        Object.entries(values).map(([name, value]) => [name, name === 'typeCode' ? value : malformed]),
      )
      const body = operation.operationId === 'recordConsentDecision' ? { ...consent, decision: 'granted' } : undefined
      const { status, body: answered } = await ask(owner, orgId, operation, ids, body)
      expect([operation.operationId, malformed, status, at(answered, 'code')]).toEqual([
        operation.operationId,
        malformed,
        404,
        'not-found',
      ])
    }
  }
})

/** A client of an auditor. Only platform callers grant its scopes. */
async function auditorOf(org: string): Promise<ApiClient> {
  const { admin_api_secret: secret } = platform.process.credentials
  const answer = await fetch(`${platform.baseUrl}/v1/auth/clients?org_id=${org}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-admin-api-secret': secret ?? '' },
    body: JSON.stringify({ name: 'Auditor', org_id: org, scopes: ['audit:export', 'audit:read', 'audit:read-phi'] }),
  })
  const body: unknown = await answer.json()
  const secrets = { client_id: textAt(body, 'client_id'), client_secret: textAt(body, 'client_secret') }
  return watched.watch(await platform.connect(secrets))
}

test('auditors see timelines and the past of their own organisation only', async () => {
  const [ours, theirs] = [await auditorOf(orgId), await auditorOf(strangerOrgId)]
  const idOf = (operationId: string) => owned[operationId]?.['id'] ?? ''
  const subjects = {
    patient_id: patientId,
    case_id: idOf('getCase'),
    assessment_id: idOf('getAssessment'),
    ai_review_id: idOf('getAiReview'),
    task_id: idOf('getHumanReviewTask'),
    workflow_instance_id: idOf('getWorkflowInstance'),
    notification_id: idOf('getNotification'),
    user_id: idOf('getUser'),
    client_id: idOf('getOauthClient'),
    subscription_id: idOf('getWebhookSubscription'),
  }
  const headers = { 'x-request-id': 'a-request' }
  for (const [name, id] of Object.entries(subjects)) {
    const mine = await ours.call(`/v1/audit/timeline?${name}=${id}&with_phi=true`)
    expect([name, mine.status, at(mine.body, 'data', 0, 'actor', 'kind')]).toEqual([name, 200, expect.any(String)])
    const foreign = await theirs.call(`/v1/audit/timeline?${name}=${id}&with_phi=true`, { headers })
    expect([name, foreign.status]).toEqual([name, 404])
    if (name !== 'patient_id') continue
    const unknown = await theirs.call(`/v1/audit/timeline?${name}=${unknownId}&with_phi=true`, { headers })
    expect(formOf(foreign)).toBe(formOf(unknown))
    expect((await theirs.call(`/v1/audit/timeline?${name}=${id}&org_id=${orgId}`)).status).toBe(404)
  }
  const requested = (by: ApiClient, patient_id: string) =>
    by.call('/v1/audit/exports', { body: { patient_id }, headers })
  const exported = textAt((await expecting(202, requested(ours, patientId))).body, 'id')
  expect(formOf(await requested(theirs, patientId))).toBe(formOf(await requested(theirs, unknownId)))
  const foreignExport = await theirs.call(`/v1/audit/exports/${exported}`, { headers })
  expect(foreignExport.status).toBe(404)
  expect(formOf(foreignExport)).toBe(formOf(await theirs.call(`/v1/audit/exports/${unknownId}`, { headers })))
  await expecting(200, ours.call(`/v1/audit/exports/${exported}`))
  const provenance = (id: string) => `/v1/ai-reviews/${id}/provenance`
  const foreignReview = await theirs.call(provenance(idOf('getAiReview')), { headers })
  expect(foreignReview.status).toBe(404)
  expect(formOf(foreignReview)).toBe(formOf(await theirs.call(provenance(unknownId), { headers })))
  // Until the log is sealed, which it is once a minute, the answer is a 503.
  expect((await ours.call(provenance(idOf('getAiReview')))).status).not.toBe(404)
  const now = new Date(Date.now() - 1_000).toISOString()
  const paths = at((await ours.call('/v1/audit/as-of/paths')).body, 'paths')
  const past = operations.filter(
    ({ path, operationId }) => Array.from(Object(paths)).includes(path) && operationId in owned,
  )
  // `test/app/as-of/past-answers.int.test.ts` reads every path. Here is one of each service.
  const read = past.filter(({ operationId }) => !answersAnyPatient.includes(operationId))
  const byService = Map.groupBy(read, ({ path }) => path.split('/', 3)[2])
  expect(byService.size).toBeGreaterThan(3)
  for (const [service, group] of byService) {
    let shown: string | undefined
    for (const operation of group) {
      const path = pathWith(operation, owned[operation.operationId] ?? {})
      const asked = `/v1/audit/as-of?at=${now}&path=${encodeURIComponent(path)}`
      const mine = await ours.call(asked)
      // The tests above have removed some records.
      if (mine.status !== 200 || at(mine.body, 'status') !== 200) continue
      const foreign = await theirs.call(asked)
      expect([path, foreign.status, at(foreign.body, 'status')]).toEqual([path, 200, 404])
      shown = path
      break
    }
    expect([service, shown]).toEqual([service, expect.any(String)])
  }
})

test('ids of another organisation in bodies and queries are unknown', async () => {
  const own = await createConsentTerms(stranger, strangerOrgId)
  const theirs = await registerPatient(stranger)
  const photo = await photograph()
  const ownCase = owned['getCase']?.['id'] ?? ''
  const defined = await expecting(201, stranger.call('/v1/orchestrator/workflow-definitions', { body: workflow }))
  const definedByThem = textAt(defined.body, 'id')
  const posts = (
    patient: string,
    terms: typeof consent,
    definition: string,
    caseId: string,
  ): readonly (readonly [string, unknown])[] => [
    ['/v1/ai-reviews', { caseId, images: [freshImage] }],
    ['/v1/clinical-api/cases', { patient_id: patient }],
    ['/v1/clinical-api/cases', { patient_id: theirs, workflow_definition_id: definition }],
    ['/v1/orchestrator/workflow-instances', { workflow_definition_id: definition, case_id: unknownId }],
    ['/v1/orchestrator/workflow-instances', { workflow_definition_id: definedByThem, case_id: caseId }],
    ['/v1/clinical-api/images', { patient_id: patient, ...declaredImage }],
    ['/v1/clinical-api/assessments', assessmentBody(patient, [photo])],
    [`/v1/patients/${theirs}/consents`, { ...terms, decision: 'granted' }],
  ]
  const unknown = posts(unknownId, { consent_type_id: unknownId, text_version_id: unknownId }, unknownId, unknownId)
  const definition = owned['getWorkflowDefinition']?.['id'] ?? ''
  for (const [place, [path, body]] of posts(patientId, consent, definition, ownCase).entries()) {
    const headers = { 'x-request-id': 'a-request' }
    const foreign = await stranger.call(path, { body, headers })
    expect([path, foreign.status]).toEqual([path, 404])
    expect(formOf(foreign)).toBe(formOf(await stranger.call(path, { body: unknown[place]?.[1], headers })))
  }
  const mixed = await stranger.call(`/v1/patients/${theirs}/consents`, {
    body: { ...own, text_version_id: consent.text_version_id, decision: 'granted' },
  })
  expect([mixed.status, at(mixed.body, 'code')]).toEqual([400, 'consent-text-mismatch'])

  const status = await expecting(200, stranger.call(`/v1/patients/${patientId}/consents/ai_analysis/status`))
  expect(status.body).toEqual({
    granted: false,
    decision: null,
    recorded_at: null,
    text_version_id: null,
    text_version_current: null,
    reconsent_required: null,
  })
  expect((await stranger.call(`/v1/patients/${patientId}/consents/check?types=ai_analysis`)).body).toEqual({
    consents: { ai_analysis: false },
  })
  for (const path of [
    `/v1/patients/${patientId}/consents?org_id=${strangerOrgId}`,
    `/v1/patients/${patientId}/consents/history`,
  ]) {
    expect(at((await expecting(200, stranger.call(path))).body, 'data')).toEqual([])
  }
  const records = await stranger.call(`/v1/consent-records?patientId=${patientId}&consentTypeCode=ai_analysis`)
  expect([at(records.body, 'status'), at(records.body, 'data')]).toEqual(['none', []])
})

test('a decision of one organisation has no effect in another, even with the same patient id', async () => {
  const terms = await createConsentTerms(stranger, strangerOrgId, 'same_patient')
  await expecting(
    201,
    stranger.call(`/v1/patients/${patientId}/consents`, { body: { ...terms, decision: 'withdrawn' } }),
  )
  expect(at((await owner.call(`/v1/patients/${patientId}/consents/ai_analysis/status`)).body, 'decision')).toBe(
    'granted',
  )
  expect((await owner.call(`/v1/patients/${patientId}/consents/same_patient/status`)).status).toBe(404)
})

test('lists contain the own organisation only', async () => {
  const headers = { 'x-actor-context': actorContext(strangerOrgId, ['consents:admin']) }
  const types = Object(
    at((await expecting(200, stranger.call('/v1/admin/consent-types', { headers }))).body, 'data'),
  ) as readonly unknown[]
  expect(types.map((type) => at(type, 'organisationId'))).toEqual(types.map(() => strangerOrgId))
  const templates = at((await expecting(200, stranger.call('/v1/notifications/admin/templates'))).body, 'data')
  expect([...new Set(Array.from(Object(templates) as readonly unknown[], (one) => at(one, 'orgId')))]).toEqual([null])
  for (const path of [
    '/v1/ai-reviews',
    `/v1/ai-reviews?caseId=${owned['getCase']?.['id'] ?? ''}`,
    '/v1/clinical-api/cases',
    `/v1/clinical-api/cases?patient_id=${patientId}`,
    '/v1/clinical-api/images',
    `/v1/clinical-api/images?patient_id=${patientId}`,
    '/v1/clinical-api/webhook-subscriptions',
    '/v1/orchestrator/workflow-instances',
    `/v1/orchestrator/workflow-instances?case_id=${owned['getCase']?.['id'] ?? ''}`,
    '/v1/human-review/tasks',
    '/v1/human-review/agreement',
    '/v1/clinical-api/patients?identifier=mrn|of%20the%20owner',
    '/v1/notifications/admin/subscriptions',
    '/v1/notifications/admin/suppressions',
    '/v1/notifications',
    '/v1/notifications?recipientRef=ward@example.org',
    '/v1/notifications/admin/queue/failed',
    '/v1/notifications/admin/inbox',
  ]) {
    expect(at((await expecting(200, stranger.call(path))).body, 'data')).toEqual([])
  }
})

test('a request with another organisation is a 404, with the own one it is unchanged', async () => {
  const paths = [
    `/v1/clinical-api/patients/${patientId}?`,
    '/v1/ai-reviews?',
    `/v1/consent-records?patientId=${patientId}&consentTypeCode=ai_analysis&`,
  ]
  for (const path of paths) {
    for (const name of ['org_id', 'orgId']) {
      expect((await stranger.call(`${path}${name}=${orgId}`)).status).toBe(404)
      expect((await owner.call(`${path}${name}=${orgId.toUpperCase()}`)).status).toBe(200)
    }
  }
  const body = {
    code: 'elsewhere',
    displayName: 'Elsewhere',
    legalBasis: 'consent',
    required: false,
    organisationId: orgId,
  }
  expect(
    (
      await stranger.call('/v1/admin/consent-types', {
        body,
        headers: { 'x-actor-context': actorContext(strangerOrgId, ['consents:admin']) },
      })
    ).status,
  ).toBe(404)
  expect(
    (
      await stranger.call('/v1/admin/consent-types', {
        body,
        headers: { 'x-actor-context': actorContext(orgId, ['consents:admin']) },
      })
    ).status,
  ).toBe(403)
})

test('codes and patient identifiers are unique in an organisation only', async () => {
  const id = await registerPatient(stranger, { identifiers })
  const { body } = await expecting(200, stranger.call(`/v1/clinical-api/patients/${id}`))
  expect(at(body, 'identifiers')).toEqual(identifiers)
  const again = await stranger.call('/v1/clinical-api/patients', {
    body: { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29', identifiers },
  })
  expect([again.status, at(again.body, 'code')]).toEqual([409, 'patient-identifier-conflict'])
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toContain('getAssessment 404')
  expect(await watched.undocumented()).toEqual([])
})
