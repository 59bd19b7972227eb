import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { createApiClient, requestToken, type ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
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
import { clientOf, waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { lesionSteps } from '../../streams/workflow-facts.ts'
import { startImageHost } from '../main-job/image-host.ts'
import { eventsOf } from '../bad-days/recorded-events.ts'
import {
  advance,
  base,
  begin,
  cases,
  definitions,
  images,
  instanceIn,
  instanceOf,
  instances,
  openCase,
  publish,
  receivedImage,
  refusal,
} from './workflow-world.ts'

// The rules of workflows in the order of a case: definitions, instances, outputs, effects, ends.
// `test/commands/workflows/workflow-rules.int.test.ts` has those of definitions and steps in one process.

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let stranger: ApiClient
let terms: ConsentTerms
let patientId: string
let definitionId: string
const unknownId = '0190b0a0-0000-7000-8000-000000000001'

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  stranger = watched.watch(await platform.connect(clientOf(platform.process, 1)))
  terms = await createConsentTerms(api, platform.process.credentials.org_id)
  patientId = await registerPatient(api)
  definitionId = await publish(api, 'Changed lesion', lesionSteps)
})
afterAll(() => platform.stop())

const started = async () => begin(api, definitionId, await openCase(api, patientId))
const unchanged = { answers: { age: 61, changed: false, note: 'canary-answer' } }
const changed = { answers: { age: 61, changed: true } }

test('a definition has versions under one id, and each version stays as it is', async () => {
  const name = `Versions ${randomUUID()}`
  const [question, decision, photos, assessed, output] = lesionSteps
  const first = await expecting(
    201,
    api.call(definitions, { body: { name, start_step_id: 'intake', steps: lesionSteps } }),
  )
  const id = textAt(first.body, 'id')
  expect(first.body).toMatchObject({ id, name, version: 1, start_step_id: 'intake', steps: lesionSteps })
  expect(first.headers.get('location')).toBe(`${base}/workflow-definitions/${id}?version=1`)

  const renamed = [question, decision, photos, { ...assessed, title: 'Second' }, output]
  const body = { name, start_step_id: 'intake', steps: renamed }
  expect((await expecting(201, api.call(definitions, { body }))).body).toMatchObject({ id, version: 2 })
  expect((await expecting(201, api.call(definitions, { body }))).body).toMatchObject({ id, version: 3 })

  expect((await expecting(200, api.call(`${definitions}/${id}`))).body).toMatchObject({ version: 3, steps: renamed })
  const old = await expecting(200, api.call(`${definitions}/${id}?version=1`))
  expect(old.body).toEqual(first.body)
  expect(
    (await api.call(`${definitions}/${id}?version=1`, { headers: { 'if-none-match': old.headers.get('etag') ?? '' } }))
      .status,
  ).toBe(304)
  expect(refusal(await api.call(`${definitions}/${id}?version=4`))).toBe('404 not-found')
  expect(refusal(await api.call(`${definitions}/${unknownId}`))).toBe('404 not-found')
  const listed = await expecting(200, api.call(definitions))
  expect(at(listed.body, 'data')).toContainEqual(expect.objectContaining({ id, name, version: 3 }))
})

test('a keyed publication publishes once, and its key takes no other body', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const body = { name: `Keyed ${randomUUID()}`, start_step_id: 'intake', steps: lesionSteps }
  const first = await expecting(201, api.call(definitions, { body, headers }))
  await expecting(201, api.call(definitions, { body }))
  const again = await expecting(201, api.call(definitions, { body, headers }))
  expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([first.body, 'true'])
  const other = { ...body, steps: lesionSteps.toReversed() }
  expect(refusal(await api.call(definitions, { body: other, headers }))).toBe('409 idempotency-key-reused')
  const renamed = { ...body, name: `Keyed ${randomUUID()}` }
  expect(refusal(await api.call(definitions, { body: renamed, headers }))).toBe('409 idempotency-key-reused')
})

test('a definition that cannot run is refused with a pointer to each fault', async () => {
  const [intake] = lesionSteps
  const steps = [
    { ...intake, next: [{ step_id: 'nowhere' }] },
    { step_id: 'end', kind: 'output', title: 'End', config: { values: { age: 'intake.answers.size' } }, next: [] },
  ]
  const body = { name: 'Broken', start_step_id: 'intake', steps }
  expect(refusal(await api.call(definitions, { body }))).toBe(
    '400 validation-failed /steps/0/next/0/step_id /steps/1/config/values/age',
  )
  const ofUnknownKind = { ...body, steps: [{ ...intake, kind: 'script' }] }
  expect(refusal(await api.call(definitions, { body: ofUnknownKind }))).toBe('400 validation-failed /steps/0/kind')
  const badCondition = [{ ...lesionSteps[1], next: [{ when: { op: 'eq', path: 'a.b' }, step_id: 'x' }] }]
  expect(refusal(await api.call(definitions, { body: { ...body, steps: badCondition } }))).toBe(
    '400 validation-failed /steps/0/next/0/when/value',
  )
})

test('an instance starts at once, keeps its version, and is read and listed by case and state', async () => {
  const caseId = await openCase(api, patientId)
  const id = await publish(api, `Pinned ${randomUUID()}`, lesionSteps)
  const body = { workflow_definition_id: id, case_id: caseId }
  const answer = await expecting(201, api.call(instances, { body }))
  const instanceId = textAt(answer.body, 'id')
  expect(answer.body).toEqual({
    id: instanceId,
    workflow_definition_id: id,
    definition_version: 1,
    case_id: caseId,
    state: 'parked',
    parked_step: {
      step_id: 'intake',
      kind: 'collect-questions',
      config: lesionSteps[0]?.config,
      parked_at: expect.any(String),
    },
    outputs: {},
    assessment_id: null,
    error: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  })
  expect(await instanceOf(api, instanceId)).toEqual(answer.body)
  const end = { step_id: 'intake', kind: 'output', title: 'End', config: { values: {} }, next: [] }
  await expecting(201, api.call(definitions, { body: { name: 'x', start_step_id: 'intake', steps: [end] } }))
  const second = await begin(api, id, caseId)
  expect((await expecting(200, advance(api, instanceId, 'intake', unchanged))).body).toMatchObject({
    state: 'completed',
    definition_version: 1,
  })
  const ofCase = await expecting(200, api.call(`${instances}?case_id=${caseId}`))
  expect([at(ofCase.body, 'data', 0, 'id'), at(ofCase.body, 'data', 1, 'id')]).toEqual([second, instanceId])
  expect(JSON.stringify(ofCase.body)).not.toContain('outputs')
  const parked = await expecting(200, api.call(`${instances}?case_id=${caseId}&state=parked`))
  expect(at(parked.body, 'data')).toEqual([expect.objectContaining({ id: second })])
  expect(refusal(await api.call(`${instances}?state=asleep`))).toBe('400 validation-failed /state')
})

test('an instance needs a definition and an open case of its own organisation', async () => {
  const caseId = await openCase(api, patientId)
  const call = (body: object, client = api) => client.call(instances, { body })
  const own = { workflow_definition_id: definitionId, case_id: caseId }
  expect(refusal(await call({ ...own, workflow_definition_id: unknownId }))).toBe(
    '404 workflow-definition-not-found /workflow_definition_id',
  )
  expect(refusal(await call({ ...own, case_id: unknownId }))).toBe('404 case-not-found /case_id')
  expect(refusal(await call(own, stranger))).toBe('404 workflow-definition-not-found /workflow_definition_id')
  const headers = { 'idempotency-key': randomUUID() }
  const first = await expecting(201, api.call(instances, { body: own, headers }))
  await expecting(200, api.call(`${cases}/${caseId}/close`, { method: 'POST' }))
  const again = await expecting(201, api.call(instances, { body: own, headers }))
  expect([textAt(again.body, 'id'), again.headers.get('idempotency-replayed')]).toEqual([
    textAt(first.body, 'id'),
    'true',
  ])
})

test('an advance takes a valid output only, and points at names of the definition', async () => {
  const id = await started()
  const output = (answers: unknown, more: object = {}) => advance(api, id, 'intake', { answers, ...more })
  const pointer = '/output/answers'
  expect(refusal(await output({ age: 'old', changed: true }))).toBe(`400 validation-failed ${pointer}/age`)
  expect(refusal(await output({ age: 61 }))).toBe(`400 validation-failed ${pointer}/changed`)
  expect(refusal(await output({ age: 61, changed: true, since: '2026-02-30', skin: 'IV' }))).toBe(
    `400 validation-failed ${pointer}/since ${pointer}/skin`,
  )
  const foreign = await output({ age: 61, changed: true, 'Jane Doe': 1 })
  expect(refusal(foreign)).toBe(`400 validation-failed ${pointer}`)
  expect(JSON.stringify(foreign.body)).not.toContain('Jane')
  expect(refusal(await output({ age: 61, changed: true }, { more: 1 }))).toBe('400 validation-failed /output')
  expect(refusal(await output({ age: 61, changed: true, note: 'x'.repeat(10_001) }))).toBe(
    `400 validation-failed ${pointer}/note`,
  )
  expect(refusal(await output({ age: 61, changed: true, note: 'x'.repeat(66_000) }))).toBe(
    '400 validation-failed /output',
  )
  expect(refusal(await advance(api, id, 'nowhere', {}))).toBe('400 validation-failed /step_id')
  expect(refusal(await advance(api, unknownId, 'intake', changed))).toBe('404 not-found')
  expect(at(await instanceOf(api, id), 'outputs')).toEqual({})
})

test('a step that is not parked takes only a repeat', async () => {
  const id = await started()
  const first = await expecting(200, advance(api, id, 'intake', changed))
  expect(at(first.body, 'parked_step', 'step_id')).toBe('photos')
  const repeat = await expecting(200, advance(api, id, 'intake', changed))
  expect([repeat.body, repeat.headers.get('etag')]).toEqual([first.body, first.headers.get('etag')])
  const other = await advance(api, id, 'intake', unchanged)
  expect([refusal(other), at(other.body, 'parked_step_id')]).toEqual(['409 step-not-parked', 'photos'])

  const ended = await started()
  await expecting(200, advance(api, ended, 'intake', unchanged))
  await expecting(200, advance(api, ended, 'intake', unchanged))
  expect(refusal(await advance(api, ended, 'intake', changed))).toBe('409 workflow-instance-not-parked')
})

test('an advance honours If-Match and the Idempotency-Key', async () => {
  const id = await started()
  expect(refusal(await advance(api, id, 'intake', unchanged, { 'if-match': '"9"' }))).toBe('412 precondition-failed')
  const headers = { 'if-match': '"1"', 'idempotency-key': randomUUID() }
  const first = await expecting(200, advance(api, id, 'intake', unchanged, headers))
  const again = await expecting(200, advance(api, id, 'intake', unchanged, headers))
  expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([first.body, 'true'])
  expect(refusal(await advance(api, id, 'intake', changed, headers))).toBe('409 idempotency-key-reused')
})

test('of simultaneous advances one counts', async () => {
  const id = await started()
  const outputs = [changed, unchanged, changed]
  const answers = await Promise.all(outputs.map((output) => advance(api, id, 'intake', output)))
  const counted = at(await instanceOf(api, id), 'outputs', 'intake')
  expect([changed, unchanged]).toContainEqual(counted)
  // An equal output is a repeat of the one that counts.
  const isChanged = at(counted, 'answers', 'changed')
  expect(answers.map(({ status }) => status)).toEqual(
    outputs.map(({ answers: given }) => (given.changed === isChanged ? 200 : 409)),
  )
})

test('images are received ones of the case, of an allowed kind, in an allowed number', async () => {
  const caseId = await openCase(api, patientId)
  const id = await begin(api, definitionId, caseId)
  await expecting(200, advance(api, id, 'intake', changed))
  const photos = (image_ids: unknown) => advance(api, id, 'photos', { image_ids })
  const declared = { case_id: caseId, capture_type: 'dermoscopic', mime_type: 'image/jpeg' }
  const awaited = textAt((await expecting(201, api.call(images, { body: declared }))).body, 'id')
  const foreign = await receivedImage(api, await openCase(api, patientId))
  const other = await receivedImage(api, caseId, 'other')
  expect(refusal(await photos([]))).toBe('400 validation-failed /output/image_ids')
  expect(refusal(await photos([awaited]))).toBe('400 validation-failed /output/image_ids/0')
  expect(refusal(await photos([foreign, unknownId]))).toBe(
    '400 validation-failed /output/image_ids/0 /output/image_ids/1',
  )
  expect(refusal(await photos([other]))).toBe('400 validation-failed /output/image_ids/0')
  expect(refusal(await photos('x'))).toBe('400 validation-failed /output/image_ids')
  // To read an image for each of these ids takes longer than a request may.
  const many = Array.from({ length: 20_000 }, () => randomUUID())
  expect(refusal(await photos(many))).toBe('400 validation-failed /output')
})

test('an output ends in an assessment of the collected images, with its webhook, and the instance ends with it', async () => {
  const receiver = await startWebhookReceiver()
  const body = { url: receiver.url, event_types: ['assessment.completed'] }
  await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body }))
  const patient = await consentedPatient(api, terms)
  const caseId = await openCase(api, patient, { external_reference: 'ward 7' })
  const id = await begin(api, definitionId, caseId)
  await expecting(200, advance(api, id, 'intake', changed))
  const imageId = await receivedImage(api, caseId)
  const running = await expecting(200, advance(api, id, 'photos', { image_ids: [imageId.toUpperCase()] }))
  expect(running.body).toMatchObject({ state: 'running', parked_step: null })
  expect(refusal(await advance(api, id, 'intake', unchanged))).toBe('409 workflow-instance-not-parked')

  const done = await instanceIn(api, id, 'completed')
  expect(done).toMatchObject({
    outputs: { intake: changed, photos: { image_ids: [imageId] }, assessed: { values: { age: 61 } } },
    error: null,
  })
  const assessmentId = textAt(done, 'assessment_id')
  const assessment = await endOf(api, assessmentId)
  expect(assessment).toMatchObject({
    status: 'completed',
    patient_id: patient,
    case_id: caseId,
    external_reference: 'ward 7',
    images: [{ id: imageId, status: 'processed', download_url: expect.any(String) }],
  })
  const { org_id: orgId, product_id: productId, eventstore_url: url } = platform.process.credentials
  const [requested] = await eventsOf(url ?? '', `assessment-${orgId}-${assessmentId}`)
  expect(requested?.data).toMatchObject({ productId, finding: { findingType: 'patch' } })
  const webhook = await waitFor('the webhook about the assessment', () =>
    receiver.received.find((one) => one.body.includes(assessmentId)),
  )
  expect(JSON.parse(webhook.body)).toMatchObject({ id: assessmentId, status: 'completed', case_id: caseId })
  await receiver.close()
  const ofAssessment = await expecting(200, api.call(`${images}?assessment_id=${assessmentId}`))
  expect(at(ofAssessment.body, 'data')).toEqual([expect.objectContaining({ id: imageId, status: 'processed' })])
  const ofCase = await expecting(200, api.call(`${images}?case_id=${caseId}`))
  expect(at(ofCase.body, 'data')).toEqual([expect.objectContaining({ id: imageId, assessment_id: null })])

  const second = await begin(api, definitionId, caseId)
  await expecting(200, advance(api, second, 'intake', changed))
  await expecting(200, advance(api, second, 'photos', { image_ids: [imageId] }))
  expect(at(await instanceIn(api, second, 'completed'), 'assessment_id')).toBe(assessmentId)
})

test('a review of the case that a client has had made before ends the assessment, for the product of the token', async () => {
  const patient = await consentedPatient(api, terms)
  const caseId = await openCase(api, patient)
  const imageId = await receivedImage(api, caseId)
  const host = await startImageHost((await photograph()).bytes)
  const address = { presignedUrl: host.address(), presignedUrlExpiresAt: '2999-01-01T00:00:00Z' }
  const image = { imageId, imageType: 'DERMOSCOPIC', ...address }
  const made = await expecting(202, api.call('/v1/ai-reviews', { body: { caseId, images: [image] } }))
  const reviewId = textAt(made.body, 'aiReviewId')
  await waitFor('the review of the client', async () =>
    at((await api.call(`/v1/ai-reviews/${reviewId}`)).body, 'status') === 'completed' ? true : undefined,
  )
  await host.close()
  const id = await begin(api, definitionId, caseId)
  await expecting(200, advance(api, id, 'intake', changed))
  await expecting(200, advance(api, id, 'photos', { image_ids: [imageId] }))
  const assessmentId = textAt(await instanceIn(api, id, 'completed'), 'assessment_id')
  expect(await endOf(api, assessmentId)).toMatchObject({ status: 'completed', case_id: caseId })
  const { credentials } = platform.process
  const { body } = await expecting(200, api.call(`/v1/ai-reviews?caseId=${caseId}`))
  expect(at(body, 'data')).toEqual([expect.objectContaining({ id: reviewId, productId: credentials.product_id })])
  const facts = await eventsOf(credentials.eventstore_url ?? '', `assessment-${credentials.org_id}-${assessmentId}`)
  expect(facts.at(-1)?.data).toMatchObject({ aiReviewId: reviewId })
})

test('an instance fails with its assessment, and takes that of the POST that opened the case', async () => {
  const unwilling = await registerPatient(api)
  const assessmentId = await requestAssessment(api, assessmentBody(unwilling, [await photograph()]))
  const assessment = await endOf(api, assessmentId)
  const id = await begin(api, definitionId, textAt(assessment, 'case_id'))
  await expecting(200, advance(api, id, 'intake', changed))
  const own = await receivedImage(api, textAt(assessment, 'case_id'))
  await expecting(200, advance(api, id, 'photos', { image_ids: [own] }))
  expect(await instanceIn(api, id, 'failed')).toMatchObject({
    assessment_id: assessmentId,
    error: { code: 'assessment-failed', message: expect.any(String) },
  })
})

test('an instance is cancelled once, and an ended one is not cancelled', async () => {
  const id = await started()
  const cancel = (one: string, headers = {}) => api.call(`${instances}/${one}/cancel`, { method: 'POST', headers })
  expect(refusal(await cancel(id, { 'if-match': '"7"' }))).toBe('412 precondition-failed')
  const headers = { 'idempotency-key': randomUUID() }
  const first = await expecting(200, cancel(id, headers))
  expect(first.body).toMatchObject({ state: 'cancelled', parked_step: null })
  expect((await expecting(200, cancel(id, headers))).body).toEqual(first.body)
  expect(refusal(await cancel(id))).toBe('409 workflow-instance-ended')
  expect(refusal(await advance(api, id, 'intake', changed))).toBe('409 workflow-instance-not-parked')
  expect(refusal(await cancel(unknownId))).toBe('404 not-found')
})

test('a closed case cancels its instances, and takes no image and no instance', async () => {
  const caseId = await openCase(api, patientId)
  const ids = [await begin(api, definitionId, caseId), await begin(api, definitionId, caseId)]
  const close = () => api.call(`${cases}/${caseId}/close`, { method: 'POST' })
  expect((await expecting(200, close())).body).toMatchObject({ id: caseId, status: 'closed' })
  expect((await expecting(200, close())).body).toMatchObject({ id: caseId, status: 'closed' })
  expect((await expecting(200, api.call(`${cases}/${caseId}`))).body).toMatchObject({ status: 'closed' })
  for (const id of ids) await instanceIn(api, id, 'cancelled')
  const image = { case_id: caseId, capture_type: 'dermoscopic', mime_type: 'image/jpeg' }
  expect(refusal(await api.call(images, { body: image }))).toBe('409 case-closed')
  const instance = { workflow_definition_id: definitionId, case_id: caseId }
  expect(refusal(await api.call(instances, { body: instance }))).toBe('409 case-closed')
  expect(refusal(await stranger.call(`${cases}/${caseId}/close`, { method: 'POST' }))).toBe('404 not-found')
})

test('a case starts the instance whose id is in its answer', async () => {
  const body = { patient_id: patientId, workflow_definition_id: definitionId }
  const headers = { 'idempotency-key': randomUUID() }
  const opened = await expecting(201, api.call(cases, { body, headers }))
  const id = textAt(opened.body, 'workflow_instance_id')
  expect(await instanceIn(api, id, 'parked')).toMatchObject({
    case_id: textAt(opened.body, 'id'),
    definition_version: 1,
  })
  const read = await expecting(200, api.call(`${cases}/${textAt(opened.body, 'id')}`))
  expect(read.body).toMatchObject({ workflow_instance_id: id })
  const again = await expecting(201, api.call(cases, { body, headers }))
  expect(at(again.body, 'workflow_instance_id')).toBe(id)
  const unknown = { ...body, workflow_definition_id: unknownId }
  expect(refusal(await api.call(cases, { body: unknown }))).toBe(
    '404 workflow-definition-not-found /workflow_definition_id',
  )
})

test('the channel has every start and end once, and no answer', async () => {
  const id = await started()
  await expecting(200, advance(api, id, 'intake', unchanged))
  const url = platform.process.credentials.eventstore_url ?? ''
  const own = await waitFor('the public events', async () => {
    const events = (await eventsOf(url, 'workflow.events')).filter(
      ({ data }) => at(data, 'workflow_instance_id') === id,
    )
    return events.length === 3 ? events : undefined
  })
  expect(own.map(({ type, data }) => [type, at(data, 'state'), at(data, 'step_id')])).toEqual([
    ['workflow.instance.started', 'running', undefined],
    ['workflow.instance.parked', 'parked', 'intake'],
    ['workflow.instance.completed', 'completed', 'no-photos'],
  ])
  const { org_id: orgId } = platform.process.credentials
  expect(own[0]?.data).toMatchObject({ org_id: orgId, workflow_definition_id: definitionId, definition_version: 1 })
  const stored = await eventsOf(url, `workflow_instance-${orgId}-${id}`)
  expect(JSON.stringify(stored)).toContain('no-photos')
  expect(JSON.stringify([stored, await eventsOf(url, 'workflow.events')])).not.toContain('canary')
})

test('another organisation sees nothing, and the narrower scopes are enough', async () => {
  const id = await started()
  for (const path of [`${instances}/${id}`, `${definitions}/${definitionId}`])
    expect(refusal(await stranger.call(path))).toBe('404 not-found')
  expect(refusal(await advance(stranger, id, 'intake', changed))).toBe('404 not-found')
  const { client_id, client_secret } = clientOf(platform.process, 0)
  const withScope = async (scope: string) => {
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
    const response = await fetch(`${platform.baseUrl}/v1/auth/oauth/token`, { method: 'POST', body: form })
    const body: unknown = await response.json()
    return watched.watch(createApiClient(platform.baseUrl, textAt(body, 'access_token')))
  }
  const reader = await withScope('orchestrator:read')
  await expecting(200, reader.call(`${instances}/${id}`))
  expect(refusal(await advance(reader, id, 'intake', changed))).toBe('403 insufficient-scope')
  const writer = await withScope('orchestrator:write')
  await expecting(200, writer.call(`${definitions}/${definitionId}`))
  await expecting(200, advance(await withScope('orchestrator:*'), id, 'intake', changed))
  expect((await requestToken(platform.baseUrl, clientOf(platform.process, 2))).status).toBe(200)
})

test('the service has three mounts', async () => {
  for (const mount of ['/v1/orchestrator', '/v1/orchestrator/v1', '/v1'])
    await expecting(200, api.call(`${mount}/workflow-definitions/${definitionId}`))
})

test('has only documented answers', async () => {
  expect(await watched.undocumented()).toEqual([])
})
