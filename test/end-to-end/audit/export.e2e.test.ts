import { createHash } from 'node:crypto'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { checkFile } from '../../../app/audit/check-command.ts'
import { checkManifest, fileFault } from '../../../contracts/audit/offline/manifest.ts'
import { verifyReceipt } from '../../../contracts/consent/receipt.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import { expecting } from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { requestToken, type ApiClient, type ClientSecrets } from '../../support/raw-api.ts'
import { unzipped } from '../../support/zip-files.ts'
import { openOrganisationOfReads, type OrganisationOfReads } from './recorded-reads.ts'

const adminSecret = 'an-administrator-secret-of-40-characters'
const exports = '/v1/audit/exports'
const main = fileURLToPath(new URL('../../../app/main.ts', import.meta.url))

let platform: TestPlatform
let watched: WatchedPlatform
let own: OrganisationOfReads
let auditor: ApiClient
let auditorSecrets: ClientSecrets
let stranger: ApiClient
let folder: string
let keySet: unknown
let files: ReadonlyMap<string, Buffer>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'export-'))
  platform = await startTestPlatform({ env: { ADMIN_API_SECRET: adminSecret, SEAL_INTERVAL_SECONDS: '1' } })
  const { baseUrl, process } = platform
  watched = watchPlatform(baseUrl)
  const connect: typeof platform.connect = (client) => platform.connect(client)
  own = await openOrganisationOfReads({
    baseUrl,
    adminSecret,
    productId: process.credentials.product_id,
    connect,
  })
  auditor = await newAuditor(own.orgId)
  stranger = await newAuditor(process.credentials.org_id)
  keySet = await (await fetch(`${baseUrl}/v1/auth/.well-known/jwks.json`)).json()
})
afterAll(async () => {
  await platform.stop()
  await rm(folder, { recursive: true, force: true })
})

async function newAuditor(orgId: string): Promise<ApiClient> {
  const headers = { 'x-admin-api-secret': adminSecret, 'content-type': 'application/json' }
  const scopes = ['audit:export', 'audit:read', 'audit:read-phi']
  const body = JSON.stringify({ name: 'Auditor', org_id: orgId, scopes })
  const made: unknown = await (
    await fetch(`${platform.baseUrl}/v1/auth/clients`, { method: 'POST', headers, body })
  ).json()
  const secrets = { client_id: textAt(made, 'client_id'), client_secret: textAt(made, 'client_secret') }
  auditorSecrets = secrets
  return watched.watch(await platform.connect(secrets))
}

const linesOf = (path: string): readonly unknown[] =>
  (files.get(path)?.toString() ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

describe('an export', () => {
  let id: string

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
    const env = { ...process.env, ...(await platform.operatorEnv()), PLATFORM_DATA_DIR: platform.dataDir }
    const run = async () => {
      const args = [main, 'audit', 'export', '--patient', own.patients[0], '--to', target, '--json']
      return promisify(execFile)(process.execPath, args, { env })
    }
    // The newest events are in the sealed log after its next seal.
    const { stdout } = await waitFor('the seal', async () => {
      target = join(folder, `of-the-patient-${(tries += 1)}`)
      return run().catch((error: unknown) => {
        if (!String(error).includes('the sealed log does not have event')) throw error
        return undefined
      })
    })
    const written = await readdir(target, { recursive: true, withFileTypes: true })
    const paths = written
      .filter((entry) => entry.isFile())
      .map((entry) => relative(target, join(entry.parentPath, entry.name)))
    expect(new Set(paths)).toEqual(new Set(files.keys()))
    expect(JSON.parse(stdout)).toMatchObject({ folder: target, files: files.size })
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
    await expect(run()).rejects.toThrow('is not empty')
  })

  it('has documented answers', async () => expect(await watched.undocumented()).toEqual([]))
})
