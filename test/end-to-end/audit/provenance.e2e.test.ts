import { hash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { checkFile } from '../../../app/audit/check-command.ts'
import { startWitness, type RunningWitness } from '../../../app/witness/start-witness.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { commandHere } from '../../support/command-here.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  requestAssessment,
  reviewOfCase,
  type Photograph,
} from '../../support/main-job.ts'
import { startPlatformHere, waitFor, type PlatformHere } from '../../support/platform.ts'
import { createApiClient, requestToken, type ApiAnswer, type ApiClient } from '../../support/raw-api.ts'
import { runProgram } from '../bad-days/operator-program.ts'

let platform: PlatformHere
let watched: WatchedPlatform
let witness: RunningWitness
let folder: string
let api: ApiClient
let auditor: ApiClient
let auditorToken: string
let images: readonly Photograph[]
let patientId: string
let reviewId: string
let logKey: string
let answer: ApiAnswer

async function newAuditor(): Promise<ApiClient> {
  const { admin_api_secret: secret, org_id: org } = platform.process.credentials
  const body = { name: 'Auditor', org_id: org, scopes: ['audit:read', 'ai-review:read-raw'] }
  const created = await fetch(`${platform.baseUrl}/v1/auth/clients?org_id=${org}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-admin-api-secret': secret ?? '' },
    body: JSON.stringify(body),
  })
  const client: unknown = await created.json()
  const secrets = { client_id: textAt(client, 'client_id'), client_secret: textAt(client, 'client_secret') }
  auditorToken = textAt((await requestToken(platform.baseUrl, secrets)).body, 'access_token')
  return watched.watch(createApiClient(platform.baseUrl, auditorToken))
}

const pathOf = (id: string) => `/v1/ai-reviews/${id}/provenance`
/** Answers that are no JSON of a record. */
const textOf = (path: string) =>
  fetch(`${platform.baseUrl}${path}`, { headers: { authorization: `Bearer ${auditorToken}` } })
const keyOfLog = async () => {
  const found = await textOf('/v1/audit/log/key')
  return found.ok ? (await found.text()).split('\n')[0] : undefined
}

const openWitness = (logs: readonly string[], port: number) =>
  startWitness(
    { dataDir: join(folder, 'witness'), logs, port, name: 'w.example' },
    { host: '127.0.0.1', logger: createLogger({ level: 'silent' }), now: () => new Date() },
  )

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provenance-'))
  // Its first start makes its key, which the platform needs. Its second one needs the key of the platform's log.
  const { address, vkey, ...first } = await openWitness([], 0)
  await first.stop()
  platform = await startPlatformHere({
    env: { SEAL_INTERVAL_SECONDS: '1', SEAL_ORIGIN: 'log.example/provenance', WITNESSES: `${address} ${vkey}` },
  })
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  auditor = await newAuditor()
  logKey = await waitFor('the key of the log', keyOfLog)
  witness = await openWitness([logKey], Number(new URL(address).port))
  images = [await photograph('dermoscopic'), await photograph('macroscopic', 'lesion-3.png')]
  patientId = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
  const ended = await endOf(api, await requestAssessment(api, assessmentBody(patientId, images)))
  reviewId = (await reviewOfCase(api, textAt(ended, 'case_id'))).id
  answer = await waitFor('the provenance', async () => {
    const asked = await auditor.call(pathOf(reviewId))
    if (asked.status === 503)
      expect([at(asked.body, 'code'), asked.headers.get('retry-after')]).toEqual(['provenance-not-sealed', '1'])
    return asked.status === 200 ? asked : undefined
  })
})
afterAll(async () => {
  await platform.stop()
  await witness.stop()
  await rm(folder, { recursive: true, force: true })
})

test('the document has the photographs, the consent, the calls and the response', async () => {
  const raw = await textOf(`/v1/ai-reviews/${reviewId}/raw`)
  const text = 'I agree that my photographs are analysed automatically.'
  const check = {
    decision: { decision: 'granted', text_version: { locale: 'en-GB', text_sha256: hash('sha256', text) } },
  }
  const call = (name: string) => ({
    call: name,
    outcome: expect.objectContaining({ status: 200, duration_ms: expect.any(Number) }),
  })
  expect(at(answer.body, 'document')).toMatchObject({
    review: { id: reviewId },
    patient: { id: patientId },
    consent_checks: [
      { call: 'case', ...check },
      { call: 'process', ...check },
    ],
    images: images.map(({ sha256, bytes, entry }) => ({
      capture_type: entry.capture_type,
      received: { sha256, bytes: bytes.length },
      sent: [{ sha256, bytes: bytes.length }],
    })),
    provider: { name: 'simulator', version: '5.4.1-simulator' },
    calls: expect.arrayContaining(
      ['case', 'image', 'process', 'result'].map((name) => expect.objectContaining(call(name))),
    ),
    ends: [{ status: 'completed' }],
    result: { response_sha256: hash('sha256', Buffer.from(await raw.arrayBuffer())) },
  })
})

const argumentsOf = (file: string, ...more: readonly string[]) =>
  ['audit', 'check', join(folder, file), '--key', logKey, '--witness', witness.vkey, ...more] as const
// Another data folder: the command knows no server.
const check = (file: string, ...more: readonly string[]) =>
  commandHere(argumentsOf(file, ...more), { PLATFORM_DATA_DIR: folder })

test('it is checked offline with the published keys, the key of the log and the witness', async () => {
  const jwks = await (await fetch(`${platform.baseUrl}/v1/auth/.well-known/jwks.json`)).text()
  await writeFile(join(folder, 'jwks.json'), jwks)
  const jwksFile = join(folder, 'jwks.json')
  const keys = ['--jwks', jwksFile]
  const file = join(folder, 'provenance.json')
  const witnessed = await waitFor('the witness', async () => {
    const text = JSON.stringify((await auditor.call(pathOf(reviewId))).body)
    await writeFile(file, text)
    const { code } = await checkFile({ file, key: logKey, witnesses: [witness.vkey], jwks: jwksFile })
    return code === 0 ? text : undefined
  })
  const program = runProgram([process.execPath, 'app/main.ts', ...argumentsOf('provenance.json', ...keys)], {
    PLATFORM_DATA_DIR: folder,
  })
  expect(await program.exited).toBe(0)
  expect(JSON.parse(program.output())).toMatchObject({
    document: { review: { id: reviewId } },
    log: { origin: 'log.example/provenance', witnesses: [{ name: 'w.example' }] },
  })

  await writeFile(join(folder, 'changed.json'), witnessed.replace('"decision":"granted"', '"decision":"denied"'))
  const changed = await check('changed.json', ...keys)
  expect(changed.code).toBe(1)
  expect(changed.err).toContain('FAULT signature-of-another-document: the signature of the document\n')
  expect(changed.err).toMatch(/FAULT changed-fact of event [0-9a-f-]{36}: \/consent_decisions\/0\/decision is "denied"/)
  expect(await check('provenance.json')).toMatchObject({
    code: 2,
    err: expect.stringContaining('needs --jwks FILE'),
  })
})

test("the operator's command gives the same, and the access log has both", async () => {
  const run = (review: string, ...more: readonly string[]) =>
    commandHere(['audit', 'provenance', '--review', review, ...more], { PLATFORM_DATA_DIR: platform.dataDir })
  const [json, text] = [await run(reviewId, '--json'), await run(reviewId)]
  expect([json.code, text.code]).toEqual([0, 0])
  expect(at(JSON.parse(json.out), 'document')).toEqual(at(answer.body, 'document'))
  expect(text.out).toMatch(/^review {10}.*\n(?:.*\n)*consent {9}before case {2}.*granted {2}en-GB/m)
  expect(await run('0190b0a0-0000-7000-8000-000000000001')).toMatchObject({
    code: 2,
    err: expect.stringContaining('nothing is known of AI review'),
  })
  const records = await waitFor('both records', async () => {
    const { body } = await expecting(200, auditor.call(`/v1/audit/access-log?patient_id=${patientId}`))
    const all = Array.from(Object(at(body, 'data'))).filter(
      (record) => at(record, 'operation') === 'getAiReviewProvenance',
    )
    return new Set(all.map((record) => at(record, 'client_id'))).size === 2 ? all : undefined
  })
  for (const record of records)
    expect(record).toMatchObject({ patient_ids: [patientId], categories: ['consent', 'results'] })
})

test('a review that has not ended, an unknown one, and a caller without the scope', async () => {
  await platform.provider.fault({ call: 'case', delay_ms: 4_000 })
  const assessment = await requestAssessment(api, assessmentBody(patientId, [await photograph()]))
  const caseId = await waitFor('the case', async () => {
    const { body } = await api.call(`/v1/clinical-api/assessments/${assessment}`)
    return textAt(body, 'case_id')
  })
  const running = (await reviewOfCase(api, caseId)).id
  const codeOf = async (by: ApiClient, id: string) => at((await by.call(pathOf(id))).body, 'code')
  expect(await codeOf(auditor, running)).toBe('review-not-ended')
  expect(await codeOf(auditor, '0190b0a0-0000-7000-8000-000000000001')).toBe('not-found')
  expect(await codeOf(api, reviewId)).toBe('insufficient-scope')
  const headers = { 'x-actor-context': actorContext(platform.process.credentials.org_id, ['patients:read']) }
  const acting = await auditor.call(pathOf(reviewId), { headers })
  expect(acting.status).toBe(403)
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toContain('getAiReviewProvenance 200')
  expect(await watched.undocumented()).toEqual([])
})
