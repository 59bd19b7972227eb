import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { destroyKeysOfLog, requireSignedEvents } from '../../../app/backup/own-copy.ts'
import { restoreBackup } from '../../../app/backup/restore.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { openEventStore } from '../../../engine/store/event-store.ts'
import { ChunkStore } from '../../../platform/backup/chunks.ts'
import { folderPlace } from '../../../platform/backup/folder-place.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { createPool } from '../../../platform/database/database.ts'
import { newMasterKey, parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { patientErasures } from '../../../streams/patient-erasure/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { contextOf, openDecisionWorld } from '../../engine/commands/decision-world.ts'
import { patientFact } from '../../streams/facts.ts'
import { hostedObjectStore } from '../../support/hosted-stand-ins.ts'
import { freshDatabases, freshVault } from '../../support/postgres.ts'
import { toLines } from '../../../platform/backup/index-lines.ts'
import { putManifest } from '../../../platform/backup/manifests.ts'
import { newKeys, pieces, plantBackup } from '../../platform/backup/planted-place.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'restore-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** A place with a backup, and a newer one whose vault has one chunk of this text. */
async function placeWith(text: string) {
  const [keys, place] = [newKeys('backup-1'), folderPlace(join(folder, 'place'))]
  const older = await plantBackup(place, keys, ['one'])
  const newer = await plantBackup(place, keys, ['two'])
  const chunks = new ChunkStore(place, keys.newest)
  const table = await chunks.store(pieces(Buffer.from(text)))
  async function* entries() {
    yield { kind: 'table', name: 'vault_erasures', ...table }
  }
  await putManifest(place, keys.newest, { ...newer, entries: 1, index: await chunks.store(toLines(entries())) })
  const [chunk = ''] = table.chunks
  return { keys, place, older, newer, chunk: join(folder, 'place', 'chunks', 'of-backup-1', chunk.slice(0, 2), chunk) }
}

/** Reads the backup, and is refused by the folder only, which has a file. */
async function restoreOf(
  { keys, place, older }: Awaited<ReturnType<typeof placeWith>>,
  { env = {}, ...given }: { readonly acceptsLostErasures: boolean; readonly env?: Readonly<Record<string, string>> },
) {
  const full = join(folder, 'full')
  await mkdir(full, { recursive: true })
  await writeFile(join(full, 'file'), '')
  const order = { place: '', id: older.id, folder: full, erasures: undefined, isJson: false, ...given }
  return restoreBackup({ MASTER_KEYS: newMasterKey('master-1'), ...env }, place, keys, order)
}
const refusedByFolder = 'is not empty: restore into a new folder'

test('a newer backup whose vault is damaged is named before anything is written, because it may name erased persons', async () => {
  const planted = await placeWith('{}\n')
  await expect(restoreOf(planted, { acceptsLostErasures: false })).rejects.toThrow(refusedByFolder)
  const bytes = await readFile(planted.chunk)
  await writeFile(planted.chunk, bytes.subarray(1))
  expect(await restoreOf(planted, { acceptsLostErasures: false })).toEqual({
    faults: [
      { kind: 'chunk-changed', backup: planted.newer.id, detail: expect.stringContaining('--accept-lost-erasures') },
    ],
  })
})

test('damaged newer backups keep nobody from an intact older one, if the operator accepts lost erasures', async () => {
  const planted = await placeWith('{}\n')
  await rm(planted.chunk)
  await expect(restoreOf(planted, { acceptsLostErasures: true })).rejects.toThrow(refusedByFolder)
  const manifest = join(folder, 'place', 'backups', `${planted.newer.id}.manifest`)
  await writeFile(manifest, (await readFile(manifest)).subarray(1))
  await expect(restoreOf(planted, { acceptsLostErasures: true })).rejects.toThrow(refusedByFolder)
})

test('a database that a platform has used is refused before anything is written: its read models are of another log', async () => {
  const planted = await placeWith('{}\n')
  const database = await freshDatabases()
  const pool = createPool({ url: database.url, max: 1, name: 'test' })
  const env = { DATABASE_URL: database.url, VAULT_DATABASE_URL: database.vaultUrl }
  const restored = () => restoreOf(planted, { acceptsLostErasures: false, env })
  try {
    await expect(restored()).rejects.toThrow(refusedByFolder)
    await ensureRuntimeSchema(pool)
    await expect(restored()).rejects.toThrow('the database of DATABASE_URL is not new')
  } finally {
    await pool.end()
    await database.drop()
  }
})

test('a bucket that is missing or has objects is refused before anything is written: a filled vault is not taken again', async () => {
  const planted = await placeWith('{}\n')
  const account = { accessKeyId: 'test-key', secretAccessKey: 'test-secret' }
  const server = await hostedObjectStore({ bucket: 'images', ...account })
  const options = {
    endpoint: server.endpoint,
    region: 'us-east-1',
    bucket: 'images',
    ...account,
    now: () => new Date(),
  }
  const objects = connectObjectStore(options)
  const restored = (bucket: string) => {
    const env = { S3_ENDPOINT: server.endpoint, S3_BUCKET: bucket, S3_ACCESS_KEY_ID: account.accessKeyId }
    const secret = { S3_SECRET_ACCESS_KEY: account.secretAccessKey }
    return restoreOf(planted, { acceptsLostErasures: false, env: { ...env, ...secret } })
  }
  try {
    await expect(restored('images')).rejects.toThrow(refusedByFolder)
    await objects.put('images/one', Buffer.from('one'), 'image/jpeg')
    await expect(restored('images')).rejects.toThrow('the bucket of S3_BUCKET is not empty: it has images/one')
    await expect(restored('others')).rejects.toThrow('has no bucket others')
  } finally {
    objects.close()
    await server.stop()
  }
})

test('an event store whose events the restored vault did not sign is refused', async () => {
  await using closing = new AsyncDisposableStack()
  const world = await openDecisionWorld({ hasOwnNode: true })
  closing.defer(() => world.close())
  const patientId = randomUUID()
  const fact = patientFact('PatientRegistered', { patientId })
  await world.store.append(patients.of(world.orgId, patientId), 'no_stream', [fact], contextOf(world))
  const other = await freshVault()
  closing.defer(() => other.drop())
  const vault = await openVault({ url: other.url, masterKeys: parseMasterKeys(newMasterKey('master-1')) })
  closing.defer(() => vault.close())
  const store = await openEventStore({ url: world.url, catalogue, vault })
  closing.defer(() => store.close())

  await requireSignedEvents(world.store)
  await expect(requireSignedEvents(store)).rejects.toThrow('the event store of ESDB_URL is of another installation')
})

test('a key that the log of a newer event store has as destroyed is destroyed in the restored vault too', async () => {
  await using closing = new AsyncDisposableStack()
  const world = await openDecisionWorld({ hasOwnNode: true })
  closing.defer(() => world.close())
  const { store, vault, orgId } = world
  const [erased, other, userId] = [randomUUID(), randomUUID(), randomUUID()]
  const doneAt = world.now().toISOString()
  const done = { patientId: erased, step: 'keys_destroyed', doneAt } as const
  const removed = { patientId: other, step: 'objects_deleted', doneAt } as const
  for (const data of [done, removed])
    await store.append(
      patientErasures.of(orgId, data.patientId),
      'no_stream',
      [{ type: 'PatientErasureStepDone', data }],
      contextOf(world),
    )
  const destroyed = { type: 'UserKeyDestroyed', data: { userId, destroyedAt: doneAt } } as const
  await store.append(users.of(userId), 'no_stream', [destroyed], contextOf(world))
  // The backup is from before.
  for (const [org, id] of [
    [orgId, erased],
    [orgId, other],
    [noOrganisation, userId],
  ] as const)
    await vault.subjectKeyForWriting(org, id)

  expect(await destroyKeysOfLog(world)).toBe(2)
  expect(await vault.lastRewrite(orgId, erased)).toMatchObject({ isAfterErasure: true })
  const restored = await openVault({ url: world.vaultUrl, masterKeys: parseMasterKeys(world.masterKeys) })
  closing.defer(() => restored.close())
  expect(await restored.subjectKeyForReading(orgId, erased)).toBe('destroyed')
  expect(await restored.subjectKeyForReading(noOrganisation, userId)).toBe('destroyed')
  expect(await restored.subjectKeyForReading(orgId, other)).not.toBe('destroyed')
})
