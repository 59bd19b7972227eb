import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { requestToken, type ApiAnswer, type ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { isRealEventStore } from 'embedded-eventstore/testing'
import {
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  subscribeToEnds,
  webhookAbout,
} from '../../support/main-job.ts'
import { areRolesApart, clientOf, startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { startTraceReceiver, type TraceReceiver } from '../../support/trace-receiver.ts'
import { lesionSteps } from '../../streams/workflow-facts.ts'
import { eventsOfAll } from './recorded-events.ts'

const canary = 'CanaryKz7QpW'
/** A text in the provider's answers. The simulator stores it, because the test gave it to the simulator. */
const providerCanary = 'CanaryXw4Lm'
/** A date of birth cannot contain a word, so this is a date that occurs nowhere else. */
const birth = '1871-03-19'

/** Throws an unexpected error with a secret value when the test sends a signal. */
const crash = `process.on('SIGUSR2', () => { throw Object.assign(new Error('${canary}-message'), { detail: '${canary}-row' }) })`

let platform: TestPlatform
let receiver: WebhookReceiver
let collector: TraceReceiver
let api: ApiClient
let userId: string
const refusals: ApiAnswer[] = []
const records: ApiAnswer[] = []

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  collector = await startTraceReceiver()
  platform = await startTestPlatform({
    // Its tables and its write-ahead log are files of the data folder.
    ownPostgres: true,
    env: {
      LOG_LEVEL: 'debug',
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    },
  })
  api = await platform.connect()
  await runFullOfCanaries()
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
  await collector.close()
})

/** Answers of a workflow instance: first refused ones, then those that complete it. */
async function answerWorkflow(caseId: string): Promise<void> {
  const base = '/v1/orchestrator'
  const workflow = { name: 'Changed lesion', start_step_id: 'intake', steps: lesionSteps }
  const definition = (await expecting(201, api.call(`${base}/workflow-definitions`, { body: workflow }))).body
  const start = { workflow_definition_id: textAt(definition, 'id'), case_id: caseId }
  const instance = (await expecting(201, api.call(`${base}/workflow-instances`, { body: start }))).body
  const advance = (status: number, answers: object) => {
    const body = { step_id: 'intake', output: { answers: { age: 61, changed: false, ...answers } } }
    return expecting(status, api.call(`${base}/workflow-instances/${textAt(instance, 'id')}/advance`, { body }))
  }
  refusals.push(await advance(400, { [`${canary}-question`]: 1 }), await advance(400, { since: `${canary}-date` }))
  records.push(await advance(200, { note: `${canary}-note` }))
  refusals.push(await advance(409, { note: `${canary}-other` }))
}

/** A mail that arrives, one that the server refuses, and requests that are refused. */
async function notify(): Promise<void> {
  const notifications = '/v1/notifications'
  const code = 'visit'
  const template = { category: 'clinical', phi: true, subject: 'Your visit', bodyTemplate: 'Dear {{name}}' }
  await expecting(201, api.call(`${notifications}/admin/templates/${code}`, { method: 'PUT', body: template }))
  const send = (status: number, ref: string, variables: object) =>
    expecting(
      status,
      api.call(notifications, { body: { templateCode: code, recipient: { type: 'email', ref }, variables } }),
    )
  const ended = async (ref: string, status: string) => {
    const id = textAt((await send(202, ref, { name: `${canary}-name` })).body, 'id')
    await waitFor(`a notification that is ${status}`, async () => {
      const answer = await expecting(200, api.call(`${notifications}/${id}`))
      return at(answer.body, 'status') === status ? refusals.push(answer) : undefined
    })
  }
  await ended(`${canary}.taken@example.org`, 'sent')
  const { mailbox_url, control_secret } = platform.process.credentials
  const headers = { 'x-control-secret': control_secret ?? '' }
  const faults = [{ stage: 'rcpt', reply: `550 5.1.1 <${canary}.refused@example.org> is unknown`, times: 1 }]
  const set = await fetch(`${mailbox_url}/control/faults`, { method: 'POST', headers, body: JSON.stringify(faults) })
  expect(set.status).toBe(200)
  await ended(`${canary}.refused@example.org`, 'failed')
  refusals.push(
    await send(400, `${canary}.missing@example.org`, { [`${canary}-other`]: canary }),
    await send(400, `${canary} is no address`, { name: canary }),
    await expecting(200, api.call(notifications)),
    await expecting(200, api.call(`${notifications}/admin/queue/failed`)),
  )
}

/** A decision with a note, after refused ones. */
async function decideTask(): Promise<void> {
  const base = '/v1/human-review/tasks'
  const { org_id: orgId, product_id: productId } = platform.process.credentials
  const headers = { 'x-actor-context': actorContext(orgId, ['human-review:decide'], undefined, [productId]) }
  const task = await waitFor('a task', async () => at((await expecting(200, api.call(base))).body, 'data', 0))
  const review = await expecting(200, api.call(`/v1/ai-reviews/${textAt(task, 'ai_review_id')}`))
  const lesions = Array.from(Object(at(review.body, 'lesions')) as readonly unknown[], (lesion) => ({
    lesion_number: at(lesion, 'lesionNumber'),
    outcome: 'correct',
    icd10: { code: 'C43.9', term: `${canary}-term` },
    snomed: { code: '372244006', term: `${canary}-concept` },
    category: `${canary}-category`,
  }))
  const decision = { lesions, recommendation: 'refer', note: `${canary}-note` }
  const call = (status: number, verb: string, body?: object) => {
    const request = body === undefined ? { headers } : { headers, body }
    return expecting(status, api.call(`${base}/${textAt(task, 'id')}/${verb}`, { method: 'POST', ...request }))
  }
  refusals.push(await call(409, 'decide', decision))
  await call(200, 'claim')
  const unknown = { lesion_number: 99, outcome: 'correct', category: canary, icd10: { code: canary, term: canary } }
  for (const wrong of [{ lesions: [unknown] }, { recommendation: canary }])
    refusals.push(await call(400, 'decide', { ...decision, ...wrong }))
  records.push(await call(200, 'decide', decision))
  const seen = await expecting(200, api.call(`${base}/${textAt(task, 'id')}`))
  expect(JSON.stringify(seen.body)).toContain(`${canary}-term`)
  // Not shown without the permission.
  expect(JSON.stringify(seen.body)).not.toContain(`${canary}-note`)
}

/** A clinician with a profile, who is changed once. */
async function createUser(): Promise<void> {
  const { org_id: organisationId, admin_api_secret: secret } = platform.process.credentials
  const headers = { 'x-admin-api-secret': secret ?? '' }
  const role = { organisationId, name: 'Doctor', permissions: [] }
  const roleId = textAt((await expecting(201, api.call('/v1/admin/roles', { body: role, headers }))).body, 'id')
  const person = {
    organisationId,
    email: `${canary}.user@example.org`,
    displayName: `${canary}-display`,
    userType: 'clinician',
    roleId,
    practitionerProfile: { professionalId: `${canary}-licence`, speciality: `${canary}-speciality` },
  }
  const created = await expecting(201, api.call('/v1/admin/users', { body: person, headers }))
  userId = textAt(created.body, 'id')
  const url = `/v1/admin/users/${userId}?org_id=${organisationId}`
  records.push(await expecting(200, api.call(url, { headers })))
}

async function runFullOfCanaries(): Promise<void> {
  const terms = await createConsentTerms(api, platform.process.credentials.org_id)
  await subscribeToEnds(api, receiver)
  const patient = {
    given_name: `${canary}-given`,
    family_name: `${canary}-family`,
    dob: birth,
    identifiers: [{ scheme: `${canary}-scheme`, value: `${canary}-value` }],
  }
  const registered = await expecting(201, api.call('/v1/clinical-api/patients', { body: patient }))
  records.push(registered)
  const patientId = textAt(registered.body, 'id')
  const identifier = encodeURIComponent(`${canary}-scheme|${canary}-value`)
  const listed = await expecting(200, api.call(`/v1/clinical-api/patients?identifier=${identifier}`))
  expect(at(listed.body, 'data', 0, 'id')).toBe(patientId)
  const corrected = {
    given_name: `${canary}-corrected`,
    identifiers: [...patient.identifiers, { scheme: `${canary}-more`, value: `${canary}-mrn` }],
  }
  records.push(
    await expecting(200, api.call(`/v1/clinical-api/patients/${patientId}`, { method: 'PATCH', body: corrected })),
  )
  const suppressed = { channel: 'email', address: `${canary}@example.org`, reason: `${canary}-reason` }
  const suppressions = '/v1/notifications/admin/suppressions'
  await expecting(201, api.call(suppressions, { body: suppressed }))
  for (const [status, changes] of [
    [409, {}],
    [400, { address: `${canary} and more` }],
    [400, { channel: canary }],
  ] as const) {
    refusals.push(await expecting(status, api.call(suppressions, { body: { ...suppressed, ...changes } })))
  }
  await notify()
  await createUser()
  const consent = { ...terms, decision: 'granted', recorded_by: `${canary}-recorder` }
  await expecting(201, api.call(`/v1/patients/${patientId}/consents`, { body: consent }))
  const freeForm = {
    external_reference: `${canary}-reference`,
    clinical_context: { [`${canary}-question`]: `${canary}-answer`, nested: [{ [`${canary}-inner`]: true }] },
    custom_fields: { [`${canary}-field`]: `${canary}-content` },
  }
  const opened = { patient_id: patientId, ...freeForm }
  await answerWorkflow(textAt((await expecting(201, api.call('/v1/clinical-api/cases', { body: opened }))).body, 'id'))
  const taken = await photograph()
  const image = {
    ...taken.entry,
    data: Buffer.concat([taken.bytes, Buffer.from(`${canary}-image`)]).toString('base64'),
  }
  const finding = { finding_type: 'lesion' }
  const body = { patient: { ...patient, given_name: `${canary}-inline` }, finding, images: [image], ...freeForm }
  const headers = { 'idempotency-key': `run-1` }
  const secret = { 'x-admin-api-secret': platform.process.credentials.admin_api_secret ?? '' }
  const policy = `/v1/human-review/policy?org_id=${platform.process.credentials.org_id}`
  await expecting(200, api.call(policy, { method: 'PUT', body: { rules: [{ always: true }] }, headers: secret }))
  const accepted = await expecting(202, api.call('/v1/clinical-api/assessments', { body, headers }))
  const id = textAt(accepted.body, 'id')
  expect(await endOf(api, id)).toMatchObject({ status: 'completed', external_reference: freeForm.external_reference })
  await webhookAbout(receiver, id)
  await decideTask()

  await platform.provider.fault({ call: 'case', status: 400, body: `${providerCanary}-refusal` })
  const rejected = await expecting(
    202,
    api.call('/v1/clinical-api/assessments', { body: { ...body, external_reference: `${canary}-2` } }),
  )
  const failed = await endOf(api, textAt(rejected.body, 'id'))
  expect(at(failed, 'error', 'code')).toBe('PROVIDER_REJECTED')
  refusals.push({ ...rejected, body: at(failed, 'error') })

  const other = { ...body, finding: { finding_type: 'rash' } }
  refusals.push(await expecting(409, api.call('/v1/clinical-api/assessments', { body: other, headers })))
  refusals.push(await expecting(409, api.call('/v1/clinical-api/patients', { body: patient })))
  for (const wrong of [
    { ...patient, dob: `${canary}-born` },
    { ...patient, dob: '1871-03-32' },
    { ...patient, given_name: `${canary}${'x'.repeat(300)}` },
    { ...patient, identifiers: [{ scheme: `${canary}-scheme`, value: 7 }] },
  ]) {
    refusals.push(await expecting(400, api.call('/v1/clinical-api/patients', { body: wrong })))
  }
  for (const wrong of [
    { ...body, finding: { finding_type: `${canary}-finding` } },
    { ...body, patient_id: `${canary}-patient` },
    { ...body, images: [{ ...image, capture_type: `${canary}-capture` }] },
    { ...body, images: [{ ...image, data: Buffer.from(`${canary}-no-image`).toString('base64') }] },
    { ...body, custom_fields: { [`${canary}-long`]: 'x'.repeat(2_000) } },
    { ...body, custom_fields: { [`${canary}${'x'.repeat(100)}`]: 'x' } },
    { ...body, custom_fields: { [`${canary}-number`]: 7 } },
    { ...body, clinical_context: nested(20) },
  ]) {
    refusals.push(await expecting(400, api.call('/v1/clinical-api/assessments', { body: wrong })))
  }
  for (const query of [`identifier=${canary}-scheme`, `identifier=${identifier}&cursor=${canary}`]) {
    refusals.push(await expecting(400, api.call(`/v1/clinical-api/patients?${query}`)))
  }
  refusals.push(
    await expecting(
      400,
      api.call(`/v1/clinical-api/patients/${patientId}`, { method: 'PATCH', body: { dob: `${canary}-born` } }),
    ),
  )
  refusals.push(
    await expecting(404, api.call(`/v1/clinical-api/patients/${canary}`, { method: 'PATCH', body: corrected })),
  )
  refusals.push(
    await expecting(400, api.call(`/v1/patients/${patientId}/consents`, { body: { ...consent, decision: canary } })),
  )
  refusals.push(await expecting(404, api.call(`/v1/clinical-api/patients/${canary}`)))
  const context = { 'x-actor-context': actorContext(canary, []) }
  refusals.push(await api.call('/v1/admin/consent-types', { headers: context }))
  refusals.push(await brokenJson(`{"given_name": "${canary}-broken`))
}

function nested(depth: number): Record<string, unknown> {
  return { [`${canary}-${depth}`]: depth === 0 ? canary : nested(depth - 1) }
}

async function brokenJson(text: string): Promise<ApiAnswer> {
  const { body: token } = await requestToken(platform.baseUrl, clientOf(platform.process, 0))
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${textAt(token, 'access_token')}` }
  const answer = await fetch(`${platform.baseUrl}/v1/clinical-api/patients`, { method: 'POST', body: text, headers })
  expect(answer.status).toBe(400)
  return { status: answer.status, headers: answer.headers, body: await answer.text() }
}

test('the canary is in the records that must contain it', () => {
  expect(whatLeaks(JSON.stringify(records[0]?.body))).not.toEqual([])
  expect(receiver.received.map(({ body }) => whatLeaks(body).length > 0)).toContain(true)
  for (const before of ['', '-', '--'])
    expect(whatLeaks(Buffer.from(`${before}${canary}`).toString('base64'))).toHaveLength(1)
  expect(whatLeaks(Buffer.from(canary).toString('hex'))).toHaveLength(1)
  expect(whatLeaks(Buffer.from(canary, 'utf16le'))).toHaveLength(1)
})

test('no error body contains a value of the request', () => {
  expect(refusals.length).toBeGreaterThan(10)
  const bodies = refusals.map(({ body }) => JSON.stringify(body))
  expect(bodies.filter((body) => whatLeaks(body).length > 0)).toEqual([])
})

test('no event contains it, in stream name, data or metadata', async () => {
  const { eventstore_url: url, org_id: orgId } = platform.process.credentials
  const facts = await eventsOfAll(url ?? '')
  const channels = facts.filter(({ stream }) => stream.endsWith('.events'))
  expect(new Set(channels.map(({ stream }) => stream))).toEqual(
    new Set([
      'ai_review.events',
      'assessment.events',
      'clinical.events',
      'consent.events',
      'human_review.events',
      'notification.events',
      'users.events',
      'workflow.events',
    ]),
  )
  const own = facts.filter(({ stream }) => stream.includes(orgId) || stream.endsWith('.events'))
  expect(own.filter(({ type }) => ['AssessmentSubmitted', 'PatientRegistered'].includes(type)).length).toBeGreaterThan(
    2,
  )
  for (const fact of own) expect(whatLeaks(JSON.stringify(fact))).toEqual([])
})

test('no span contains it', async () => {
  const refused = () => collector.spans.filter(({ attributes }) => attributes['http.response.status_code'] === 400)
  await waitFor('the spans of refused requests', () => (refused().length >= 10 ? true : undefined))
  expect(collector.bodies.filter((body) => whatLeaks(body).length > 0)).toEqual([])
})

test('raw responses of the provider are kept encrypted', async () => {
  const files = (await filesBelow(join(platform.dataDir, 'object-store'))).filter((file) =>
    file.includes('raw-responses'),
  )
  const texts = await Promise.all(files.map((file) => readFile(file, 'latin1')))
  expect(texts.some((text) => text.length > 500)).toBe(true)
  for (const text of texts) expect(text).not.toMatch(/analysisResult|SUCCESSFUL_PROCESSING|lesion|caseId/)
})

test('no health answer, metric, log line, crash output or file of the data folder contains it, except the image itself', async () => {
  const health = await (await fetch(`${platform.baseUrl}/health`)).text()
  expect(whatLeaks(health)).toEqual([])
  const metrics = await (await fetch(`${platform.baseUrl}/metrics`)).text()
  expect(metrics).toContain('http_requests_total{')
  expect(whatLeaks(metrics)).toEqual([])
  process.kill(platform.process.pid, 'SIGUSR2')
  expect(await platform.process.exited).toBe(1)
  const output = platform.process.output()
  expect(output).toContain('platform: an unexpected error')
  const lines = output.split('\n')
  expect(lines.filter((line) => line.includes('"status":400')).length).toBeGreaterThan(5)
  expect(lines.filter((line) => whatLeaks(line).length > 0)).toEqual([])

  const files = await filesBelow(platform.dataDir)
  expect(files.some((file) => file.includes('/eventstore/'))).toBe(!isRealEventStore)
  expect(files.some((file) => file.includes('/pg_wal/'))).toBe(platform.ownsPostgres)
  const leaking = await Promise.all(files.map(async (file) => (leaksIn(file, await readFile(file)) ? [file] : [])))
  const images = leaking.flat().map((file) => file.slice(platform.dataDir.length))
  // The mail box stands for a mail server outside, which gets the mails.
  expect(images.filter((file) => !/^\/(object-store\/.*\/images\b|receivers\/)/.test(file))).toEqual([])
  expect(images.length).toBeGreaterThan(0)
})

test('after the erasure of its persons no file and no memory contains it, photographs included', async () => {
  const heaps = await mkdtemp(join(tmpdir(), 'heaps-'))
  try {
    // Without the settings that contain the word. A signal writes the strings that the process has in memory.
    const options = `--heapsnapshot-signal=SIGUSR2 --diagnostic-dir=${heaps}`
    await platform.restart({ NODE_OPTIONS: options, ERASURE_VAULT_HOURS: '0', UPLOAD_URL_TTL_SECONDS: '1' })
    api = await platform.connect()
    const eraser = await connectEraser()
    const cases = await expecting(200, api.call('/v1/clinical-api/cases?limit=200'))
    const patients = new Set(itemsOf(cases.body).map((one) => textAt(one, 'patient_id')))
    expect(patients.size).toBeGreaterThan(0)
    // A write leaves the state of its stream in the cache.
    const changed = { method: 'PATCH', body: { given_name: `${canary}-again` } }
    for (const id of patients) await expecting(200, api.call(`/v1/clinical-api/patients/${id}`, changed))
    if (!areRolesApart) expect(whatLeaks(await heapOf(heaps))).toContain(canary)

    for (const id of patients)
      await expecting(202, eraser.call(`/v1/clinical-api/patients/${id}/erase`, { body: { reason: 'person_request' } }))
    await eraseUser()
    for (const id of patients)
      await waitFor(
        'the end of an erasure',
        async () => {
          const { body } = await eraser.call(`/v1/clinical-api/patients/${id}/erasure`)
          return at(body, 'status') === 'completed' ? true : undefined
        },
        120_000,
      )
    if (!areRolesApart) {
      expect(whatLeaks(await heapOf(heaps))).toEqual([])
    }
    expect(whatLeaks(await (await fetch(`${platform.baseUrl}/metrics`)).text())).toEqual([])
    await platform.process.stop()
    expect(whatLeaks(platform.process.output())).toEqual([])

    const files = await filesBelow(platform.dataDir)
    const leaking = await Promise.all(files.map(async (file) => (leaksIn(file, await readFile(file)) ? [file] : [])))
    const found = leaking.flat().map((file) => file.slice(platform.dataDir.length))
    // The mail box and the provider stand for systems outside, which got the messages and the photographs.
    expect(found.filter((file) => !/^\/(receivers|provider)\//.test(file))).toEqual([])
    expect(found.filter((file) => file.startsWith('/receivers/'))).not.toEqual([])
  } finally {
    await rm(heaps, { recursive: true, force: true })
  }
})

function itemsOf(body: unknown): readonly unknown[] {
  const items = at(body, 'data')
  return Array.isArray(items) ? items : []
}

async function connectEraser(): Promise<ApiClient> {
  const { org_id: orgId, admin_api_secret: secret } = platform.process.credentials
  const body = { name: 'Eraser', org_id: orgId, scopes: ['patients:erase'] }
  const headers = { 'x-admin-api-secret': secret ?? '' }
  const made = await expecting(201, api.call(`/v1/auth/clients?org_id=${orgId}`, { body, headers }))
  return platform.connect({
    client_id: textAt(made.body, 'client_id'),
    client_secret: textAt(made.body, 'client_secret'),
  })
}

async function eraseUser(): Promise<void> {
  const { eventstore_url: url, admin_api_secret: secret } = platform.process.credentials
  const headers = { 'x-admin-api-secret': secret ?? '' }
  await expecting(200, api.call(`/v1/admin/users/${userId}`, { method: 'DELETE', headers }))
  await expecting(200, api.call(`/v1/admin/users/${userId}/erase`, { method: 'POST', headers }))
  await waitFor('the end of the erasure of the user', async () =>
    (await eventsOfAll(url ?? '')).some(({ type, stream }) => type === 'UserErased' && stream.endsWith(userId))
      ? true
      : undefined,
  )
}

/** The strings in the memory of the process that are in use. */
async function heapOf(folder: string): Promise<Buffer> {
  const before = new Set(await readdir(folder))
  process.kill(platform.process.pid, 'SIGUSR2')
  const file = await waitFor('a heap snapshot', async () => (await readdir(folder)).find((name) => !before.has(name)))
  // The process answers when it has written the file.
  await fetch(`${platform.baseUrl}/health`)
  return readFile(join(folder, file))
}

/** The canaries in a text or in bytes: in the clear, in UTF-16, in hexadecimal digits, or in base64 at any offset. */
function whatLeaks(content: string | Buffer | undefined): string[] {
  const bytes = Buffer.from(content ?? '')
  return tellTales.filter(({ form }) => bytes.includes(form)).map(({ text }) => text)
}

function leaksIn(file: string, content: Buffer): boolean {
  const isProviders = file.startsWith(join(platform.dataDir, 'provider'))
  return whatLeaks(content).some((text) => !(isProviders && text === providerCanary))
}

const tellTales = [canary, canary.toLowerCase(), providerCanary, birth].flatMap((text) => {
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.from(`${' '.repeat(offset)}${text}`)
      .toString('base64')
      .slice(offset === 0 ? 0 : 4, 12),
  )
  const forms = [text, Buffer.from(text, 'utf16le'), Buffer.from(text).toString('hex'), ...base64]
  return forms.map((form) => ({ text, form }))
})

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}
