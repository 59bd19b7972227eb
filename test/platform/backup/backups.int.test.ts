import { hash, randomUUID } from 'node:crypto'
import { cp, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { v7 } from 'uuid'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isWhole, verifiedText, verifyPlace } from '../../../app/backup/verify.ts'
import { readBackupKeys } from '../../../platform/backup/backup-keys.ts'
import { ChunkStore } from '../../../platform/backup/chunks.ts'
import { folderPlace } from '../../../platform/backup/folder-place.ts'
import {
  backupIds,
  claimPlace,
  nextBackupId,
  openManifest,
  removeVerified,
  verifiedAt,
} from '../../../platform/backup/manifests.ts'
import type { BackupPlace } from '../../../platform/backup/place.ts'
import { pruneBackups } from '../../../platform/backup/prune.ts'
import { verifyBackups } from '../../../platform/backup/verify-backups.ts'
import { newKeys, newKeysText, pieces, plantBackup } from './planted-place.ts'

let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'backups-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const files = async () =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
const faultsOf = async (keys: ReturnType<typeof newKeys>) => {
  const place = folderPlace(folder)
  const { faults } = await verifyBackups(place, keys, await backupIds(place))
  return faults.map(({ kind, backup, detail }) => `${kind} ${backup} ${detail}`)
}

const neverSaid = (line: string) => expect.fail(line)

async function flip(file: string, at: number): Promise<void> {
  const bytes = await readFile(file)
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  await writeFile(file, bytes)
}

test('streams of any pieces come back, and equal chunks are stored once', async () => {
  const place = folderPlace(folder)
  const store = new ChunkStore(place, newKeys('k').newest)
  const big = Buffer.alloc(9_000_000, 'abcdefg')
  const stored = await store.store(pieces(big.subarray(0, 5), big.subarray(5, 8_999_999), big.subarray(8_999_999)))
  expect(stored.chunks).toHaveLength(3)
  const parts: Buffer[] = []
  for await (const part of store.read(stored)) parts.push(part)
  expect(Buffer.concat(parts).equals(big)).toBe(true)
  const written = store.writtenBytes
  expect(await store.store(pieces(big))).toEqual(stored)
  expect(store.writtenBytes).toBe(written)
  expect(await store.store(pieces())).toMatchObject({ bytes: 0, chunks: [] })
})

test('streams of many chunks that are stored at the same time come back, although buffers are used again', async () => {
  const store = new ChunkStore(folderPlace(folder), newKeys('k').newest)
  const streams = ['a', 'b', 'c'].map((name) => {
    const bytes = Buffer.alloc(25_000_000)
    for (let at = 0; at < bytes.length; at += 1_000) bytes.write(`${name} ${at}`, at)
    return bytes
  })
  const stored = await Promise.all(streams.map((bytes) => store.store(pieces(bytes))))
  for (const [index, bytes] of streams.entries()) {
    const parts: Buffer[] = []
    for await (const part of store.read(stored[index] ?? { chunks: [] })) parts.push(part)
    expect(Buffer.concat(parts).equals(bytes)).toBe(true)
  }
})

test('no file contains a word of its content or its name', async () => {
  await plantBackup(folderPlace(folder), newKeys('k'), ['canary'])
  for (const file of await files()) expect((await readFile(file)).includes('canary')).toBe(false)
})

test('each damage of a place is named', async () => {
  const keys = newKeys('k')
  const place = folderPlace(folder)
  const first = await plantBackup(place, keys, ['alpha', 'beta'])
  const second = await plantBackup(place, keys, ['alpha', 'gamma'])
  expect(await faultsOf(keys)).toEqual([])
  const whole = `${folder}-whole`
  await cp(folder, whole, { recursive: true })
  const chunkOf = (text: string) => {
    const name = keys.newest.nameOf(hash('sha256', text, 'buffer'))
    return { file: join(folder, 'chunks', 'of-k', name.slice(0, 2), name), name }
  }
  const damage = async (plant: () => Promise<void>) => {
    await plant()
    const faults = await faultsOf(keys)
    await rm(folder, { recursive: true })
    await cp(whole, folder, { recursive: true })
    return faults
  }
  /** A second flip restores the file. */
  const flipped = async (file: string, at: number) => {
    await flip(file, at)
    const faults = await faultsOf(keys)
    await flip(file, at)
    return faults
  }
  const manifest = (id: string) => join(folder, 'backups', `${id}.manifest`)
  try {
    const beta = chunkOf('beta')
    const named = `chunks/of-k/${beta.name.slice(0, 2)}/${beta.name}, of object object of beta`
    const size = (await readFile(beta.file)).length
    for (let at = 0; at < size; at += 1)
      expect(await flipped(beta.file, at)).toEqual([`chunk-changed ${first.id} ${named}`])
    expect(await damage(() => rm(beta.file))).toEqual([`chunk-missing ${first.id} ${named}`])
    expect(await damage(() => cp(chunkOf('gamma').file, beta.file))).toEqual([`chunk-changed ${first.id} ${named}`])
    expect(await damage(() => writeFile(beta.file, ''))).toEqual([`chunk-changed ${first.id} ${named}`])
    // A chunk of two backups is missing in both.
    expect(await damage(() => rm(chunkOf('alpha').file))).toHaveLength(2)
    const [index = ''] = second.index.chunks
    const ofIndex = join(folder, 'chunks', 'of-k', index.slice(0, 2), index)
    expect((await flipped(ofIndex, 30))[0]).toMatch(/^chunk-changed .*, of the index$/)
    const bytes = await readFile(manifest(first.id))
    for (let at = 0; at < bytes.length; at += 1) {
      const [fault, ...others] = await flipped(manifest(first.id), at)
      expect([fault?.split(' ').slice(0, 2), others]).toEqual([
        [at === 'CAPBACKUP1 '.length ? 'key-unknown' : 'manifest-changed', first.id],
        [],
      ])
    }
    const cut = bytes.subarray(0, bytes.length - 1)
    expect((await damage(() => writeFile(manifest(first.id), cut)))[0]).toMatch(/^manifest-changed/)
    expect((await damage(() => writeFile(manifest(first.id), '')))[0]).toMatch(/^manifest-changed/)
    expect((await damage(() => cp(manifest(second.id), manifest(first.id))))[0]).toMatch(/^manifest-changed/)
    expect(await damage(() => rm(join(folder, 'place')))).toHaveLength(2)
    expect(await faultsOf(keys)).toEqual([])
  } finally {
    await rm(whole, { recursive: true, force: true })
  }
})

test('a place belongs to one installation', async () => {
  const keys = newKeys('k')
  const place = folderPlace(folder)
  await plantBackup(place, keys, ['alpha'])
  await expect(plantBackup(place, keys, ['beta'], 'another')).rejects.toMatchObject({ code: 'other-installation' })
  const elsewhere = await mkdtemp(join(tmpdir(), 'backups-'))
  try {
    const { id } = await plantBackup(folderPlace(elsewhere), keys, ['alpha'], 'another')
    await cp(join(elsewhere, 'backups', `${id}.manifest`), join(folder, 'backups', `${id}.manifest`))
    expect((await faultsOf(keys)).map((fault) => fault.split(' ')[0])).toEqual(['other-installation'])
  } finally {
    await rm(elsewhere, { recursive: true })
  }
})

test('older backups open with their key only, and new ones use the first key', async () => {
  const [old, added] = [newKeysText('old'), newKeysText('new')]
  const place = folderPlace(folder)
  const first = await plantBackup(place, readBackupKeys(old), ['alpha'])
  const both = readBackupKeys(`${added},${old}`)
  const second = await plantBackup(place, both, ['alpha'])
  expect(await faultsOf(both)).toEqual([])
  expect((await openManifest(place, both, second.id)).key.id).toBe('new')
  const faults = await faultsOf(readBackupKeys(added))
  expect(faults).toEqual([
    `key-unknown ${first.id} backups/${first.id}.manifest needs the key old, which BACKUP_KEYS lacks`,
  ])
  // Another key of the same name.
  expect((await faultsOf(newKeys('old', 'new'))).every((fault) => fault.startsWith('manifest-changed'))).toBe(true)
  await expect(claimPlace(place, newKeys('other'), 'one')).rejects.toMatchObject({ code: 'key-unknown' })
})

test('prune keeps the newest backups, their chunks and what may be of a backup that is being made', async () => {
  const keys = newKeys('k')
  const place = folderPlace(folder)
  const now = new Date()
  await plantBackup(place, keys, ['alpha', 'beta'])
  const second = await plantBackup(place, keys, ['alpha', 'gamma'])
  const store = new ChunkStore(place, keys.newest)
  const begun = await store.store(pieces(Buffer.from('of a backup that is being made')))
  const left = await store.store(pieces(Buffer.from('of a backup that was cut off')))
  const [name = ''] = left.chunks
  const yesterday = new Date(now.getTime() - 25 * 3_600_000)
  await utimes(join(folder, 'chunks', 'of-k', name.slice(0, 2), name), yesterday, yesterday)
  expect(await pruneBackups(place, keys, 1, now)).toMatchObject({ kept: [second.id], chunks: 3 })
  expect(await faultsOf(keys)).toEqual([])
  expect(await backupIds(place)).toEqual([second.id])
  expect((await store.readChunk(begun.chunks[0] ?? '')).length).toBeGreaterThan(0)
  await expect(store.readChunk(name)).rejects.toMatchObject({ code: 'chunk-missing' })
  expect(await pruneBackups(place, keys, 3, now)).toMatchObject({ removed: [], chunks: 0 })
})

test('prune leaves the chunks of a backup that is completed meanwhile, or names it', async () => {
  const keys = newKeys('k')
  const place = folderPlace(folder)
  await plantBackup(place, keys, ['alpha', 'beta'])
  await plantBackup(place, keys, ['gamma'])
  // Each has found a chunk of the first backup before prune removes that.
  const beforeRemoval: BackupPlace = {
    ...place,
    async *list(under) {
      yield* place.list(under)
      if (under === 'chunks') await plantBackup(folderPlace(folder), keys, ['alpha'])
    },
  }
  const { broken } = await pruneBackups(beforeRemoval, keys, 1, new Date())
  expect(await faultsOf(keys)).toEqual([])
  expect(broken).toEqual([])

  await plantBackup(place, keys, ['delta'])
  let id = ''
  const duringRemoval: BackupPlace = {
    ...place,
    async remove(name) {
      if (name.startsWith('chunks/') && id === '') {
        id = (await plantBackup(folderPlace(folder), keys, ['alpha'])).id
      }
      await place.remove(name)
    },
  }
  expect(await pruneBackups(duringRemoval, keys, 1, new Date())).toMatchObject({ broken: [id] })
  expect(await verifiedAt(place, keys, id)).toBeNull()
  expect((await faultsOf(keys)).map((fault) => fault.split(' ').slice(0, 2).join(' '))).toContain(`chunk-missing ${id}`)
})

test('prune counts no backup that was not verified, so that a usable one stays', async () => {
  const keys = newKeys('k')
  const place = folderPlace(folder)
  const [oldest, verified] = [await plantBackup(place, keys, ['alpha']), await plantBackup(place, keys, ['beta'])]
  // It was killed before it had read what it wrote, or found a fault.
  const unread = await plantBackup(place, keys, ['gamma'])
  await removeVerified(place, unread.id)
  expect(await pruneBackups(place, keys, 1, new Date())).toMatchObject({
    removed: [oldest.id],
    kept: [verified.id, unread.id],
  })
})

test('prune keeps the newest intact backup, if a verification has found a newer one damaged since', async () => {
  const keys = newKeys('k')
  const place = folderPlace(folder)
  const intact = await plantBackup(place, keys, ['alpha'])
  const decayed = await plantBackup(place, keys, ['beta'])
  const name = keys.newest.nameOf(hash('sha256', 'beta', 'buffer'))
  await flip(join(folder, 'chunks', 'of-k', name.slice(0, 2), name), 30)
  expect(await verifyPlace(place, keys, undefined, neverSaid)).toMatchObject({
    intact: [intact.id],
    damaged: [decayed.id],
  })
  expect(await verifiedAt(place, keys, decayed.id)).toBeNull()
  expect(await pruneBackups(place, keys, 1, new Date())).toMatchObject({ removed: [], kept: [intact.id, decayed.id] })
})

test('a verification has its result also if the place takes no note of it', async () => {
  const keys = newKeys('k')
  const place = folderPlace(folder)
  const [intact, decayed] = [await plantBackup(place, keys, ['alpha']), await plantBackup(place, keys, ['beta'])]
  const name = keys.newest.nameOf(hash('sha256', 'beta', 'buffer'))
  await flip(join(folder, 'chunks', 'of-k', name.slice(0, 2), name), 30)
  const readOnly: BackupPlace = {
    ...place,
    put: () => Promise.reject(new Error('EROFS: read-only file system')),
    remove: () => Promise.reject(new Error('EROFS: read-only file system')),
  }
  const said: string[] = []
  const checked = await verifyPlace(readOnly, keys, undefined, (line) => said.push(line))
  expect(checked).toMatchObject({ backups: 2, intact: [intact.id], damaged: [decayed.id] })
  expect(checked.faults).toMatchObject([{ kind: 'chunk-changed', backup: decayed.id }])
  expect(said).toEqual([`the result is not noted in ${folder}: EROFS: read-only file system`])
})

test('a backup that prune removes while it is read has no fault', async () => {
  const keys = newKeys('k')
  const place = folderPlace(folder)
  const [first, second] = [await plantBackup(place, keys, ['alpha']), await plantBackup(place, keys, ['beta'])]
  const last = await plantBackup(place, keys, ['gamma'])
  const keepOne = async () => {
    // By somebody else, when the manifest of the first one was read.
    const { removed } = await pruneBackups(folderPlace(folder), keys, 1, new Date())
    expect(removed).toEqual([first.id, second.id])
  }
  let pruned: Promise<void> | undefined
  const pruning: BackupPlace = {
    ...place,
    async get(name) {
      if (name.startsWith('chunks/')) await (pruned ??= keepOne())
      return place.get(name)
    },
  }
  const checked = await verifyPlace(pruning, keys, undefined, neverSaid)
  expect(checked).toMatchObject({ backups: 1, faults: [], intact: [last.id], damaged: [] })
  await expect(verifyPlace(place, keys, first.id, neverSaid)).resolves.toMatchObject({
    faults: [{ kind: 'manifest-missing', backup: first.id }],
  })
})

test('a backup is damaged also behind more faults than are named', async () => {
  const keys = newKeys('k')
  const place = folderPlace(folder)
  const texts = Array.from({ length: 1_001 }, () => 'alpha')
  const both = [await plantBackup(place, keys, texts), await plantBackup(place, keys, texts)]
  const name = keys.newest.nameOf(hash('sha256', 'alpha', 'buffer'))
  await rm(join(folder, 'chunks', 'of-k', name.slice(0, 2), name))
  const checked = await verifyPlace(place, keys, undefined, neverSaid)
  const { faults, intact, damaged } = checked
  expect([faults.length, intact, damaged]).toEqual([1_000, [], both.map(({ id }) => id)])
  expect(verifiedText(checked)).toContain('Faults: 1,000, in 2 of 2 backups.')
  // All named faults may be of a backup that was removed meanwhile, and the other one may have no manifest that opens.
  const unnamed = { ...checked, backups: 1, faults: [], damaged: [] }
  expect([isWhole(unnamed), verifiedText(unnamed)]).toEqual([false, 'Faults: 0, in 1 of 1 backups.'])
  for (const { id } of both) expect(await verifiedAt(place, keys, id)).toBeNull()
})

test('a backup is newer than all of its place, also after one that was made by a clock which was ahead', async () => {
  const place = folderPlace(folder)
  const now = new Date('2026-12-01T00:00:00Z')
  const ahead = await nextBackupId(place, new Date('2027-12-01T00:00:00Z'))
  await place.put(`backups/${ahead}.manifest`, new Uint8Array())
  const next = await nextBackupId(place, now)
  expect([ahead, next].toSorted()).toEqual([ahead, next])
  await rm(join(folder, 'backups', `${ahead}.manifest`))
  const [inTime, ofNow] = [await nextBackupId(place, now), v7({ msecs: now.getTime() })]
  expect(inTime.slice(0, 13)).toBe(ofNow.slice(0, 13))
})

test('prune removes what killed writers left a day ago, and no other file', async () => {
  const keys = newKeys('k')
  const place = folderPlace(folder)
  const { id } = await plantBackup(place, keys, ['alpha'])
  const now = new Date()
  const yesterday = new Date(now.getTime() - 25 * 3_600_000)
  const [left, young] = [`place.${randomUUID()}.part`, `place.${randomUUID()}.part`]
  for (const name of [left, young, 'of-somebody.part']) await writeFile(join(folder, name), '')
  for (const name of [left, 'of-somebody.part']) await utimes(join(folder, name), yesterday, yesterday)
  expect(await pruneBackups(place, keys, 1, now)).toMatchObject({ kept: [id] })
  const names = await readdir(folder)
  expect(names.filter((name) => name.endsWith('.part')).toSorted()).toEqual(['of-somebody.part', young].toSorted())
  expect(await faultsOf(keys)).toEqual([])
})

test('prune removes nothing if a backup does not open', async () => {
  const keys = newKeys('k')
  const place = folderPlace(folder)
  const first = await plantBackup(place, keys, ['alpha'])
  await plantBackup(place, keys, ['beta'])
  await flip(join(folder, 'backups', `${first.id}.manifest`), 40)
  const before = await files()
  await expect(pruneBackups(place, keys, 1, new Date())).rejects.toMatchObject({ code: 'manifest-changed' })
  expect(await files()).toEqual(before)
})

test('keys of another form are refused without showing them', () => {
  expect(() => readBackupKeys(undefined)).toThrow('BACKUP_KEYS must be set')
  expect(() => readBackupKeys('k:c2hvcnQ=')).toThrow('BACKUP_KEYS: master key 1 (k) has 5 bytes instead of 32')
})
