import { randomUUID } from 'node:crypto'
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventStoreDBClient } from '@eventstore/db-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { startPlatformProcess, type PlatformProcess } from '../../../app/demo/platform-process.ts'
import { knownProjectors } from '../../../app/projections/known-projectors.ts'
import { readBackupKeys } from '../../../platform/backup/backup-keys.ts'
import { chunkFile, ChunkStore } from '../../../platform/backup/chunks.ts'
import { folderPlace } from '../../../platform/backup/folder-place.ts'
import { entriesIn } from '../../../platform/backup/index-lines.ts'
import { openManifest } from '../../../platform/backup/manifests.ts'
import { newKeysText } from '../../platform/backup/planted-place.ts'
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
  type Photograph,
} from '../../support/main-job.ts'
import { clientOf, fastSettings, waitFor } from '../../support/platform.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'
import { providerAt } from '../../support/provider.ts'
import { createApiClient, requestToken, type ApiClient } from '../../support/raw-api.ts'
import { noServers, platformCommand, runPlatform } from './backup-command.ts'
import { eventsUpTo, rowsOfReadModels } from './stored-facts.ts'

const backupKeys = { BACKUP_KEYS: newKeysText('backup-1') }
const canary = 'Zaphkielle'

let folder: string
let place: string
let original: PlatformProcess
let databases: readonly FreshDatabases[]
let api: ApiClient
let oldToken: string
let terms: ConsentTerms
let picture: Photograph
let assessmentId: string
let erasedUser: string
let erasedPatient: string
let ledger: string
let firstId: string
let firstPosition: string
let rowsThen: Readonly<Record<string, readonly string[]>>
const running: PlatformProcess[] = []

const dataDir = () => join(folder, 'original')
const settingsOf = (database: FreshDatabases | undefined) => ({
  ...noServers,
  DATABASE_URL: database?.url ?? '',
  VAULT_DATABASE_URL: database?.vaultUrl ?? '',
})
const backup = (...args: readonly string[]) =>
  runPlatform(['backup', ...args], { ...backupKeys, PLATFORM_DATA_DIR: dataDir() })
const restore = (to: string, database: FreshDatabases | undefined, ...args: readonly string[]) =>
  platformCommand(['backup', 'restore', '--from', place, '--to', to, ...args], {
    ...settingsOf(database),
    ...backupKeys,
  })

async function start(dir: string, database: FreshDatabases | undefined, own = {}): Promise<PlatformProcess> {
  const started = await startPlatformProcess(dir, { ...fastSettings, ...settingsOf(database), ...own })
  running.push(started)
  return started
}

async function tokenOf({ credentials }: PlatformProcess): Promise<string> {
  return textAt((await requestToken(credentials.base_url, clientOf({ credentials }, 0))).body, 'access_token')
}

async function asAdministrator(
  { credentials }: PlatformProcess,
  path: string,
  body: object = {},
  method = 'POST',
): Promise<unknown> {
  const headers = { 'x-admin-api-secret': credentials.admin_api_secret ?? '', 'content-type': 'application/json' }
  const answer = await fetch(`${credentials.base_url}/v1/admin/users${path}`, {
    method,
    headers,
    ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
  })
  const read: unknown = await answer.json()
  if (!answer.ok) throw new Error(`${answer.status} ${JSON.stringify(read)}`)
  return read
}

/** Waits until the ledger names a person, and returns it as `erasures export` prints it. */
function inLedger(personId: string): Promise<string> {
  return waitFor('the ledger', async () => {
    const { out } = await runPlatform(['erasures', 'export'], { PLATFORM_DATA_DIR: dataDir() })
    return out.includes(personId) ? out : undefined
  })
}

/** Without the rows about those who are erased again. */
function ofOthers(rows: typeof rowsThen): typeof rowsThen {
  const isOther = (row: string) => !row.includes(erasedUser) && !row.includes(erasedPatient)
  return Object.fromEntries(Object.entries(rows).map(([table, all]) => [table, all.filter(isOther)]))
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'restore-drill-'))
  place = join(folder, 'place')
  databases = await Promise.all(Array.from({ length: 3 }, () => freshDatabases()))
  original = await start(dataDir(), databases[0])
  oldToken = await tokenOf(original)
  api = createApiClient(original.credentials.base_url, oldToken)
  terms = await createConsentTerms(api, original.credentials.org_id)
  picture = await photograph()
  const patientId = await consentedPatient(api, terms)
  erasedPatient = await registerPatient(api, { family_name: canary })
  assessmentId = await requestAssessment(api, assessmentBody(patientId, [picture]))
  expect((await endOf(api, assessmentId)).status).toBe('completed')
  const person = { email: `${randomUUID()}@example.org`, displayName: canary, userType: 'clinician' }
  erasedUser = textAt(await asAdministrator(original, '', person), 'id')
})
afterAll(async () => {
  for (const each of running) await each.stop()
  await Promise.all(databases.map((each) => each.drop()))
  await rm(folder, { recursive: true, force: true })
})

test('without keys there is no backup', async () => {
  const ended = await runPlatform(['backup', 'create', '--to', place], { PLATFORM_DATA_DIR: dataDir() })
  expect([ended.code, ended.err]).toEqual([2, expect.stringContaining('BACKUP_KEYS must be set')])
  await expect(access(place)).rejects.toThrow()
})

test('a backup that is cut off is none, and the next one completes', async () => {
  const cutOff = platformCommand(['backup', 'create', '--to', place], { ...backupKeys, PLATFORM_DATA_DIR: dataDir() })
  await waitFor('the first chunk', () =>
    access(join(place, 'chunks')).then(
      () => true,
      () => undefined,
    ),
  )
  await cutOff.kill()
  expect(await backup('list', '--from', place)).toMatchObject({ code: 0, out: 'There is no backup.\n' })
  // The last event is one of the event store's own, as after a read that begins a stream of the access log.
  const client = EventStoreDBClient.connectionString(original.credentials.eventstore_url ?? '')
  // Until nothing is written between both looks at the rows.
  await waitFor('a quiet backup', async () => {
    rowsThen = await rowsOfReadModels(databases[0]?.url ?? '')
    await client.setStreamMetadata('drill', { maxCount: 1 })
    const created = await backup('create', '--to', place, '--json')
    expect(created).toMatchObject({ code: 0, err: '' })
    firstId = textAt(JSON.parse(created.out), 'id')
    firstPosition = textAt(JSON.parse(created.out), 'position')
    const rowsAfter = await rowsOfReadModels(databases[0]?.url ?? '')
    return JSON.stringify(rowsAfter) === JSON.stringify(rowsThen) ? true : undefined
  })
  await client.dispose()
  const listed: unknown = JSON.parse((await backup('list', '--from', place, '--json')).out)
  expect(at(listed, 0)).toEqual({
    id: firstId,
    created_at: expect.any(String),
    position: firstPosition,
    events: expect.any(Number),
    bytes: expect.any(Number),
    verified_at: expect.any(String),
  })
})

test('a backup contains nothing in the clear', async () => {
  const files = await readdir(place, { recursive: true, withFileTypes: true })
  for (const file of files.filter((each) => each.isFile())) {
    const bytes = await readFile(join(file.parentPath, file.name))
    for (const word of [canary, 'PatientRegistered', 'master-1', picture.bytes.subarray(-16)])
      expect(bytes.includes(word)).toBe(false)
  }
})

test('a second backup writes what is new, and knows who was erased since', async () => {
  await asAdministrator(original, `/${erasedUser}`, {}, 'DELETE')
  await asAdministrator(original, `/${erasedUser}/erase`)
  await inLedger(erasedUser)
  await registerPatient(api, { family_name: 'Later' })
  const created: unknown = JSON.parse((await backup('create', '--to', place, '--json')).out)
  expect(Number(at(created, 'new_bytes'))).toBeLessThan(Number(at(created, 'bytes')))
  expect(await backup('verify', '--from', place)).toMatchObject({ code: 0 })
})

test('the ledger names who was erased after the newest backup', async () => {
  const { credentials } = original
  const headers = { 'x-admin-api-secret': credentials.admin_api_secret ?? '', 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'Eraser', org_id: credentials.org_id, scopes: ['patients:erase'] })
  const url = `${credentials.base_url}/v1/auth/clients?org_id=${credentials.org_id}`
  const made: unknown = await (await fetch(url, { method: 'POST', headers, body })).json()
  const secrets = { client_id: textAt(made, 'client_id'), client_secret: textAt(made, 'client_secret') }
  const token = textAt((await requestToken(credentials.base_url, secrets)).body, 'access_token')
  const eraser = createApiClient(credentials.base_url, token)
  const path = `/v1/clinical-api/patients/${erasedPatient}/erase`
  await expecting(202, eraser.call(path, { body: { reason: 'person_request' } }))
  ledger = join(folder, 'erasures')
  await writeFile(ledger, await inLedger(erasedPatient))
  await writeFile(`${ledger}-cut`, (await readFile(ledger, 'utf8')).slice(0, -10))
  const cut = await restore(join(folder, 'none'), databases[1], '--erasures', `${ledger}-cut`).ended
  expect([cut.code, cut.err]).toEqual([expect.any(Number), expect.stringContaining('line 2 of')])
  expect(cut.code).not.toBe(0)
  await expect(access(join(folder, 'none'))).rejects.toThrow()
})

test('a damaged backup is named, and nothing is restored', async () => {
  // A backup that was cut off may have left chunks that no other one uses.
  const source = folderPlace(place)
  const { manifest, key } = await openManifest(source, readBackupKeys(backupKeys.BACKUP_KEYS), firstId)
  const chunks: string[] = []
  for await (const entry of entriesIn(new ChunkStore(source, key).read(manifest.index))) chunks.push(...entry.chunks)
  const damaged = join(place, chunkFile(key.id, chunks[0] ?? ''))
  const whole = await readFile(damaged)
  const bytes = Buffer.from(whole)
  bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20)
  await writeFile(damaged, bytes)
  const verified = await backup('verify', '--from', place)
  expect([verified.code, verified.out]).toEqual([1, expect.stringContaining(damaged.slice(place.length + 1))])
  const [fault = ''] = /in backup \S+/.exec(verified.out) ?? []
  const restored = await restore(
    join(folder, 'none'),
    databases[1],
    '--backup',
    fault.slice('in backup '.length, -1),
    '--accept-lost-erasures',
  ).ended
  expect([restored.code, restored.out]).toEqual([1, expect.stringContaining('Nothing was restored.')])
  await expect(access(join(folder, 'none'))).rejects.toThrow()
  await writeFile(damaged, whole)
})

test('the newest backup is restored only with an answer to later erasures', async () => {
  const refused = await restore(join(folder, 'none'), databases[1]).ended
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--accept-lost-erasures')])
  const notEmpty = await restore(dataDir(), databases[1], '--backup', firstId).ended
  expect([notEmpty.code, notEmpty.err]).toEqual([2, expect.stringContaining('is not empty')])
})

test('a restore that is cut off leaves a folder that no start takes, and the next restore does', async () => {
  const to = join(folder, 'copy')
  const cutOff = restore(to, databases[2], '--backup', firstId)
  await waitFor('the beginning', () =>
    access(join(to, 'restore-unfinished')).then(
      () => true,
      () => undefined,
    ),
  )
  await cutOff.kill()
  await expect(start(to, databases[1])).rejects.toThrow('was cut off')
  const restored = await restore(to, databases[1], '--backup', firstId, '--erasures', ledger, '--json').ended
  expect(restored).toMatchObject({ code: 0 })
  // The user of the newer backup, and both persons of the file.
  expect(JSON.parse(restored.out)).toMatchObject({
    backup: firstId,
    position: firstPosition,
    erasures: 3,
    proof: { equal: knownProjectors.length, faults: [], keys_missing: [] },
  })
})

test('the copy has every event at its place, every row and every picture, and calls nobody', async () => {
  const copy = await start(join(folder, 'copy'), databases[1], { SEAL_INTERVAL_SECONDS: '5' })
  const end = BigInt(firstPosition.split('/')[0] ?? '')
  const [events, copied] = [original, copy].map(({ credentials }) => eventsUpTo(credentials.eventstore_url ?? '', end))
  expect((await copied)?.length).toBeGreaterThan(50)
  expect(await copied).toEqual(await events)
  const { base_url: baseUrl, provider_url: providerUrl, control_secret: secret } = copy.credentials
  const health = async () => at(await (await fetch(`${baseUrl}/health`)).json(), 'checks')
  const heldCheck = (checks: unknown) =>
    Array.isArray(checks) ? checks.find((check) => at(check, 'name') === 'calls-held') : undefined
  expect(heldCheck(await health())).toMatchObject({ status: 'warning' })
  expect(
    heldCheck(await (await fetch(`${original.credentials.base_url}/health`)).json().then((all) => at(all, 'checks'))),
  ).toEqual({
    name: 'calls-held',
    status: 'ok',
  })
  expect(ofOthers(await rowsOfReadModels(databases[1]?.url ?? ''))).toEqual(ofOthers(rowsThen))
  // Both erasures are newer than the backup. They have begun again.
  await expect(asAdministrator(copy, `/${erasedUser}`, {}, 'GET')).rejects.toThrow('user-erased')
  const path = `${baseUrl}/v1/clinical-api/patients/${erasedPatient}`
  expect((await fetch(path, { headers: { authorization: `Bearer ${await tokenOf(copy)}` } })).status).toBe(410)

  expect((await createApiClient(baseUrl, oldToken).call(`/v1/clinical-api/assessments/${assessmentId}`)).status).toBe(
    401,
  )
  // Both platforms are issuers of their own. With one address too, the copy would not know the key of the token.
  const keyIds = async (of: PlatformProcess) => {
    const { keys } = (await (await fetch(`${of.credentials.base_url}/v1/auth/.well-known/jwks.json`)).json()) as {
      readonly keys: readonly { readonly kid: string }[]
    }
    return keys.map(({ kid }) => kid)
  }
  const header = Buffer.from(oldToken.split('.')[0] ?? '', 'base64url').toString()
  const [originalKeys, copiedKeys] = [await keyIds(original), await keyIds(copy)]
  expect(originalKeys.filter((kid) => header.includes(kid))).toHaveLength(1)
  expect(copiedKeys.filter((kid) => header.includes(kid))).toEqual([])

  const there = createApiClient(baseUrl, await tokenOf(copy))
  const record = await expecting(200, there.call(`/v1/clinical-api/assessments/${assessmentId}`))
  const download = await fetch(textAt(at(at(record.body, 'images'), 0), 'download_url'))
  expect(Buffer.from(await download.arrayBuffer()).equals(picture.bytes)).toBe(true)

  const provider = providerAt(providerUrl ?? '', secret ?? '')
  const patientId = await consentedPatient(there, terms)
  const next = await requestAssessment(there, assessmentBody(patientId, [await photograph()]))
  await registerPatient(there)
  expect(await provider.calls()).toEqual([])
  const env = { ...backupKeys, PLATFORM_DATA_DIR: join(folder, 'copy') }
  expect(await runPlatform(['projections', 'verify', '--all'], env)).toMatchObject({ code: 0 })
  expect(await provider.calls()).toEqual([])
  const released = await runPlatform(['backup', 'release'], env)
  expect(released).toMatchObject({ code: 0, out: 'Calls to other systems are made again.\n' })
  expect((await endOf(there, next)).status).toBe('completed')
  expect(heldCheck(await health())).toEqual({ name: 'calls-held', status: 'ok' })
  const verified = await waitFor('the first seal of the copy', async () => {
    const ended = await runPlatform(['audit', 'verify'], env)
    return ended.err.includes('nothing is sealed yet') ? undefined : ended
  })
  expect(verified).toMatchObject({ code: 0 })
})

test('the copy keeps the last administrator, and a person signs in there with the credentials of the copy', async () => {
  const copy = running.at(-1)
  if (copy === undefined) throw new Error('the copy does not run')
  const { administrators = [], base_url: baseUrl, console: atConsole, org_id: orgId } = copy.credentials
  const administrator = administrators.find((each) => each.org_id === orgId)?.user_id ?? ''
  await expect(asAdministrator(copy, `/${administrator}`, {}, 'DELETE')).rejects.toThrow('"code":"last-administrator"')

  const form = new URLSearchParams({ email: atConsole?.email ?? '', password: atConsole?.password ?? '' })
  const signedIn = await fetch(`${baseUrl}/console/development-sign-in`, {
    method: 'POST',
    body: form,
    redirect: 'manual',
    headers: { origin: new URL(baseUrl).origin },
  })
  expect([signedIn.status, signedIn.headers.get('set-cookie')]).toEqual([
    303,
    expect.stringContaining('__Host-console='),
  ])

  // With another administrator, which the command makes beside the copy, the first one may go.
  const args = ['administrators', 'create', '--org', orgId, '--email', 'after@example.org', '--name', 'After']
  expect(await runPlatform(args, { PLATFORM_DATA_DIR: join(folder, 'copy') })).toMatchObject({ code: 0 })
  await asAdministrator(copy, `/${administrator}`, {}, 'DELETE')
})
