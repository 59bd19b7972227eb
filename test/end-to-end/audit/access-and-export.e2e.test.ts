import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actorContext, at, textAt } from '../../../app/demo/members.ts'
import { checkFile } from '../../../app/audit/check-command.ts'
import { checkManifest, fileFault } from '../../../contracts/audit/offline/manifest.ts'
import { verifyReceipt } from '../../../contracts/consent/receipt.ts'
import { commandHere } from '../../support/command-here.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import { expecting } from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { requestToken, type ApiClient, type ClientSecrets } from '../../support/raw-api.ts'
import { unzipped } from '../../support/zip-files.ts'
import { expectLogged, readAll, readAtRandom, recordsOf } from './access-run.ts'
import { openOrganisationOfReads, type OrganisationOfReads } from './recorded-reads.ts'

const adminSecret = 'an-administrator-secret-of-40-characters'
const exports = '/v1/audit/exports'

let platform: TestPlatform
let watched: WatchedPlatform
let own: OrganisationOfReads
let other: OrganisationOfReads
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'export-'))
  platform = await startTestPlatform({
    env: { ACCESS_LOG_WINDOW_SECONDS: '0', ADMIN_API_SECRET: adminSecret, SEAL_INTERVAL_SECONDS: '1' },
  })
  const { baseUrl, process } = platform
  watched = watchPlatform(baseUrl)
  const connect: typeof platform.connect = (client) => platform.connect(client)
  const connecting = { baseUrl, adminSecret, productId: process.credentials.product_id, connect }
  own = await openOrganisationOfReads(connecting)
  other = await openOrganisationOfReads(connecting)
  await expectLogged(await readAll(own), [own])
})
afterAll(async () => {
  await platform.stop()
  await rm(folder, { recursive: true, force: true })
})

async function newAuditor(orgId: string): Promise<{ readonly api: ApiClient; readonly secrets: ClientSecrets }> {
  const headers = { 'x-admin-api-secret': adminSecret, 'content-type': 'application/json' }
  const scopes = ['audit:export', 'audit:read', 'audit:read-phi']
  const body = JSON.stringify({ name: 'Auditor', org_id: orgId, scopes })
  const made: unknown = await (
    await fetch(`${platform.baseUrl}/v1/auth/clients`, { method: 'POST', headers, body })
  ).json()
  const secrets = { client_id: textAt(made, 'client_id'), client_secret: textAt(made, 'client_secret') }
  return { api: watched.watch(await platform.connect(secrets)), secrets }
}

const log = (query: Readonly<Record<string, string>>, by = own.auditor) =>
  by.call(`/v1/audit/access-log?${new URLSearchParams(query).toString()}`)

// The torture kills processes meanwhile.
describe('the access log', () => {
  it('knows every operation that shows something personal', async () => {
    const document: unknown = await (await fetch(`${platform.baseUrl}/openapi.json`)).json()
    const operations = Object.values(Object(at(document, 'paths'))).flatMap((methods) => Object.values(Object(methods)))
    const declared = operations
      .filter((operation) => JSON.stringify(at(operation, 'parameters') ?? []).includes('x-purpose-of-use'))
      .map((operation) => textAt(operation, 'operationId'))
    // Those whose answers the run below does not get have the same records.
    const others =
      `claimHumanReviewTask decideHumanReviewTask releaseHumanReviewTask cancelWorkflowInstance submitAssessment
        submitImage readTimeline readAsOf getExport getAiReviewProvenance registerPatient openCase declareImage
        recordConsentDecision requestExport`.split(/\s+/)
    const read = own.reads.filter(({ shows }) => shows !== undefined).map(({ operation }) => operation)
    expect(new Set([...read, ...others])).toEqual(new Set(declared))
  })

  it('has each answer that left and showed something personal, and no other', async () => {
    const sent = await readAtRandom([own, other], { count: 200, seed: 7 })
    expect(sent.filter(({ read, answer }) => answer?.status !== read.status)).toEqual([])
    await expectLogged(sent, [own, other])
  })

  it('of one organisation has nothing of another one', async () => {
    const [mine, theirs] = [await recordsOf(own), await recordsOf(other)]
    expect([...mine.keys()].filter((id) => theirs.has(id))).toEqual([])
    for (const filter of [{ patient_id: other.patients[0] }, { client_id: other.clientIds[0] ?? '' }]) {
      expect(at((await expecting(200, log(filter))).body, 'data')).toEqual([])
      expect((await log({ ...filter, org_id: other.orgId })).status).toBe(404)
    }
  })

  it('lists the accesses to a patient, by an actor, of a category and a time', async () => {
    const [patient] = own.patients
    const all = at((await expecting(200, log({ patient_id: patient, limit: '200' }))).body, 'data')
    const records = Object.values(Object(all)) as readonly unknown[]
    expect(records.length).toBeGreaterThan(20)
    const instants = records.map((record) => textAt(record, 'at'))
    expect(instants).toEqual(instants.toSorted().toReversed())
    const ofActor = at((await log({ actor_user_id: own.clinician, category: 'notes' })).body, 'data')
    expect(new Set(Object.values(Object(ofActor)).map((record) => textAt(record, 'operation')))).toEqual(
      new Set(['getHumanReviewTask', 'decideHumanReviewTask']),
    )
    const [newest = '', oldest = ''] = [instants[0], instants.at(-1)]
    const until = at((await log({ patient_id: patient, from: oldest, to: newest, limit: '200' })).body, 'data')
    expect(Object.values(Object(until)).map((record) => textAt(record, 'at'))).toEqual(
      instants.filter((instant) => instant < newest),
    )
    expect((await log({ patient_id: patient, from: newest, to: oldest })).body).toMatchObject({
      errors: [{ pointer: '/from', detail: 'must not be after `to`' }],
    })
    expect((await log({ category: 'record' })).body).toMatchObject({ code: 'one-filter-required', status: 400 })
    expect((await log({ patient_id: patient }, own.clients.client)).status).toBe(403)
  })

  it('has the timeline with personal members, and not without', async () => {
    const { api, secrets } = await newAuditor(own.orgId)
    const path = `/v1/audit/timeline?patient_id=${own.patients[0]}`
    await expecting(200, api.call(path))
    await expecting(200, api.call(`${path}&with_phi=true`))
    const found = await waitFor('the access', async () => {
      const { body: page } = await log({ client_id: secrets.client_id })
      const data = Object.values(Object(at(page, 'data'))) as readonly unknown[]
      return data.length > 0 ? data : undefined
    })
    expect(found).toMatchObject([
      { operation: 'readTimeline', categories: ['timeline'], patient_ids: [own.patients[0]], count: 1 },
    ])
  })

  it('names to a patient who saw the own content', async () => {
    const contact = own.reads.find(({ operation }) => operation === 'getUserContact')
    const userId = contact?.shows?.user ?? ''
    const headers = { 'x-actor-context': actorContext(own.orgId, [], userId) }
    const { body } = await expecting(200, own.clients.client.call('/v1/users/me/access-log?limit=200', { headers }))
    const data = Object.values(Object(at(body, 'data'))) as readonly unknown[]
    expect(data.length).toBeGreaterThan(20)
    expect(data).toContainEqual({
      at: expect.any(String),
      organisation: own.orgId,
      client: 'Reader',
      user: null,
      operation: 'getPatient',
      categories: ['record'],
      purpose: null,
      count: 1,
    })
    expect(data).toContainEqual(expect.objectContaining({ operation: 'getUserContact', categories: ['contact'] }))
    const stranger = { 'x-actor-context': actorContext(own.orgId, []) }
    expect((await own.clients.client.call('/v1/users/me/access-log', { headers: stranger })).status).toBe(404)
  })
})

describe('an export', () => {
  let auditor: ApiClient
  let auditorSecrets: ClientSecrets
  let stranger: ApiClient
  let keySet: unknown
  let files: ReadonlyMap<string, Buffer>
  let id: string

  beforeAll(async () => {
    ;({ api: auditor, secrets: auditorSecrets } = await newAuditor(own.orgId))
    ;({ api: stranger } = await newAuditor(platform.process.credentials.org_id))
    keySet = await (await fetch(`${platform.baseUrl}/v1/auth/.well-known/jwks.json`)).json()
  })

  const linesOf = (path: string): readonly unknown[] =>
    (files.get(path)?.toString() ?? '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

  it('is one while it runs, and finishes with a ZIP file', async () => {
    const body = { patient_id: own.patients[0] }
    const headers = { 'idempotency-key': 'one' }
    const asked = await expecting(202, auditor.call(exports, { body, headers }))
    id = textAt(asked.body, 'id')
    expect(asked.headers.get('location')).toBe(`${exports}/${id}`)
    const again = await auditor.call(exports, { body, headers })
    expect([again.status, textAt(again.body, 'id')]).toEqual([202, id])
    const finished = await waitFor('the export', async () => {
      const { body: record } = await expecting(200, auditor.call(`${exports}/${id}`))
      return at(record, 'status') === 'running' ? undefined : record
    })
    expect(finished).toMatchObject({ status: 'finished', patient_id: own.patients[0], error_code: null })
    const downloaded = await fetch(textAt(finished, 'download_url'))
    const zip = Buffer.from(await downloaded.arrayBuffer())
    expect(downloaded.headers.get('content-type')).toBe('application/zip')
    expect([zip.length, sha256(zip)]).toEqual([at(finished, 'bytes'), at(finished, 'sha256')])
    expect(Date.parse(textAt(finished, 'expires_at')) - Date.parse(textAt(finished, 'finished_at'))).toBe(86_400_000)
    files = await unzipped(zip)
  })

  it('has a signed manifest with the hash of every other file', () => {
    const manifest: unknown = JSON.parse(files.get('manifest.json')?.toString() ?? '')
    const checked = checkManifest(manifest, keySet)
    if (!('files' in checked)) throw new Error(checked.refusal)
    const paths = checked.files.map(({ path }) => path)
    expect(new Set([...paths, 'manifest.json'])).toEqual(new Set(files.keys()))
    for (const listed of checked.files) {
      const bytes = files.get(listed.path) ?? Buffer.alloc(0)
      expect(fileFault(listed, { sha256: sha256(bytes), bytes: bytes.length })).toBeUndefined()
    }
    expect(manifest).toMatchObject({ org_id: own.orgId, patient_id: own.patients[0], export_id: id })
  })

  it('has the timeline with personal members, the accesses, records, images and receipts', async () => {
    const timeline = linesOf('timeline.jsonl')
    expect(timeline.map((item) => at(item, 'type'))).toEqual(
      expect.arrayContaining(['PatientRegistered', 'ConsentRecorded', 'AssessmentCompleted', 'AiReviewCompleted']),
    )
    const [registered] = timeline.filter((item) => at(item, 'type') === 'PatientRegistered')
    expect(at(registered, 'data', 'person', 'givenName')).toBe('Ada')
    const operations = new Set(linesOf('access-log.jsonl').map((access) => at(access, 'operation')))
    expect(operations).toContain('getAiReview')
    const patient: unknown = JSON.parse(files.get('records/patient.json')?.toString() ?? '')
    expect(patient).toMatchObject({ id: own.patients[0], given_name: 'Ada' })
    const folders = new Set([...files.keys()].map((path) => path.split('/').slice(0, -1).join('/')))
    const ofRecords =
      'ai-reviews assessments cases diagnoses findings images notifications tasks workflow-instances'.split(' ')
    expect(folders).toEqual(
      new Set(['', 'images', 'provenance', 'receipts', 'records', ...ofRecords.map((name) => `records/${name}`)]),
    )
    const [submitted] = timeline.filter((item) => at(item, 'type') === 'AssessmentSubmitted')
    const image = files.get(`images/${textAt(submitted, 'data', 'images', 0, 'imageId')}.jpg`)
    expect(sha256(image ?? Buffer.alloc(0))).toBe(at(submitted, 'data', 'images', 0, 'object', 'sha256'))
    const [[path, provenance] = []] = [...files].filter(([name]) => name.startsWith('provenance/'))
    const review: unknown = JSON.parse(provenance?.toString() ?? '')
    expect(path).toBe(`provenance/${textAt(review, 'document', 'review', 'id')}.json`)
    const receipts = [...files].filter(([path]) => path.startsWith('receipts/'))
    expect(receipts).toHaveLength(1)
    const receipt: unknown = JSON.parse(receipts[0]?.[1].toString() ?? '')
    const verified = await verifyReceipt(textAt(receipt, 'receipt'), Object(at(keySet, 'keys')))
    expect(verified.record.patient_id).toBe(own.patients[0])
    const others = [...files.values()].filter((bytes) => bytes.includes(own.patients[1]))
    expect(others.map(String).filter((text) => !text.includes('"listCases"'))).toEqual([])
  })

  it('is in the access log, as often as its address was shown', async () => {
    const query = `patient_id=${own.patients[0]}&category=export`
    const found = await waitFor('the access', async () => {
      const { body } = await expecting(200, auditor.call(`/v1/audit/access-log?${query}`))
      return at(body, 'data', 0) === undefined ? undefined : at(body, 'data')
    })
    expect(found).toMatchObject([{ operation: 'getExport', categories: ['export'], patient_ids: [own.patients[0]] }])
  })

  it('is for auditors of the organisation only', async () => {
    expect((await stranger.call(`${exports}/${id}`)).status).toBe(404)
    const body = { patient_id: own.patients[0] }
    const foreign = await stranger.call(exports, { body })
    const unknown = await auditor.call(exports, { body: { patient_id: own.orgId } })
    expect([foreign.status, at(foreign.body, 'code')]).toEqual([unknown.status, 'patient-not-found'])
    expect((await own.auditor.call(exports, { body })).status).toBe(403)
    expect((await own.auditor.call(`${exports}/${id}`)).status).toBe(403)
  })

  it('is written by a command into a folder, with the same files', async () => {
    let tries = 0
    let target = ''
    const env = { ...(await platform.operatorEnv()), PLATFORM_DATA_DIR: platform.dataDir }
    const run = () => commandHere(['audit', 'export', '--patient', own.patients[0], '--to', target, '--json'], env)
    // The newest events are in the sealed log after its next seal.
    const { out } = await waitFor('the seal', async () => {
      target = join(folder, `of-the-patient-${(tries += 1)}`)
      const ended = await run()
      if (ended.code === 0) return ended
      expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('the sealed log does not have event') })
      return undefined
    })
    const written = await readdir(target, { recursive: true, withFileTypes: true })
    const paths = written
      .filter((entry) => entry.isFile())
      .map((entry) => relative(target, join(entry.parentPath, entry.name)))
    expect(new Set(paths)).toEqual(new Set(files.keys()))
    expect(JSON.parse(out)).toMatchObject({ folder: target, files: files.size })
    expect((await stat(join(target, 'manifest.json'))).mode & 0o777).toBe(0o600)
    const manifest: unknown = JSON.parse(await readFile(join(target, 'manifest.json'), 'utf8'))
    const checked = checkManifest(manifest, keySet)
    if (!('files' in checked)) throw new Error(checked.refusal)
    for (const listed of checked.files) {
      const bytes = await readFile(join(target, listed.path))
      expect(fileFault(listed, { sha256: sha256(bytes), bytes: bytes.length })).toBeUndefined()
    }
    const jwks = join(folder, 'jwks.json')
    await writeFile(jwks, JSON.stringify(keySet))
    const { body } = await requestToken(platform.baseUrl, auditorSecrets)
    const headers = { authorization: `Bearer ${textAt(body, 'access_token')}` }
    const keys = await (await fetch(`${platform.baseUrl}/v1/audit/log/key`, { headers })).text()
    const order = { file: join(target, 'manifest.json'), key: keys.split('\n')[0] ?? '', witnesses: [], jwks }
    expect(await checkFile(order)).toMatchObject({ code: 0 })
    await writeFile(join(target, 'records', 'patient.json'), '{}')
    expect(await checkFile(order)).toEqual({ code: 1, text: expect.stringContaining('records/patient.json') })
    expect(await run()).toMatchObject({ code: 2, out: '', err: expect.stringContaining('is not empty') })
  })

  it('has documented answers', async () => expect(await watched.undocumented()).toEqual([]))
})
