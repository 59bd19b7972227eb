import { mkdtemp, open, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openPlace, type PlaceSettings } from '../../../app/backup/open-place.ts'
import { runBackup } from '../../../app/backup/run.ts'
import { at } from '../../../app/demo/members.ts'
import { listenOnLoopback } from '../../../embedded/children/loopback-server.ts'
import { backupIds } from '../../../platform/backup/manifests.ts'
import { pruneBackups } from '../../../platform/backup/prune.ts'
import { verifyBackups } from '../../../platform/backup/verify-backups.ts'
import { hostedObjectStore } from '../../support/hosted-stand-ins.ts'
import { newKeys, newKeysText, plantBackup } from './planted-place.ts'
import { readBackupKeys } from '../../../platform/backup/backup-keys.ts'

const account = { accessKeyId: 'backup', secretAccessKey: 'secret-of-the-backups-0123456789' }
let folder: string
let server: Awaited<ReturnType<typeof hostedObjectStore>>
let settings: PlaceSettings

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'places-'))
  server = await hostedObjectStore({ bucket: 'backups', ...account })
  settings = {
    backupS3Endpoint: server.endpoint,
    backupS3Region: 'us-east-1',
    backupS3AccessKeyId: account.accessKeyId,
    backupS3SecretAccessKey: account.secretAccessKey,
  }
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const addresses = {
  'a folder': (name: string) => join(folder, name),
  'a bucket': (name: string) => `s3://backups/${name}`,
}

async function namesIn(place: ReturnType<typeof openPlace>, under: string): Promise<string[]> {
  const names: string[] = []
  for await (const { name, modifiedAt } of place.list(under)) {
    expect(Math.abs(modifiedAt.getTime() - Date.now())).toBeLessThan(3_600_000)
    names.push(name)
  }
  return names.toSorted()
}

describe.each(Object.entries(addresses))('in %s', (_, addressOf) => {
  test('files are stored whole, read, listed by folder and removed', async () => {
    const place = openPlace(addressOf('files'), settings)
    const other = openPlace(addressOf('files-of-another'), settings)
    await other.put('a/one', Buffer.from('foreign'))
    expect([await place.has('a/one'), await place.get('a/one'), await namesIn(place, 'a')]).toEqual([
      false,
      undefined,
      [],
    ])
    const bytes = Buffer.from([0, 255, 10, 13])
    await place.put('a/one', Buffer.from('first'))
    await place.put('a/one', bytes)
    await place.put('a/b/two', new Uint8Array())
    await place.put('ab/three', bytes)
    await place.flush()
    expect(await namesIn(place, 'a')).toEqual(['a/b/two', 'a/one'])
    expect([await place.has('a/one'), await place.get('a/one'), await place.get('a/b/two')]).toEqual([
      true,
      bytes,
      Buffer.alloc(0),
    ])
    await place.remove('a/one')
    await place.remove('a/one')
    expect([await place.has('a/one'), await namesIn(place, 'a')]).toEqual([false, ['a/b/two']])
    expect(await other.get('a/one')).toEqual(Buffer.from('foreign'))
    place.close()
    other.close()
  })

  test('backups are made, verified and pruned', async () => {
    const [place, keys] = [openPlace(addressOf('backups'), settings), newKeys('k')]
    await plantBackup(place, keys, ['alpha', 'beta'])
    const { id } = await plantBackup(place, keys, ['beta', 'gamma'])
    const verified = async () =>
      (await verifyBackups(place, keys, await backupIds(place))).faults.map(({ kind }) => kind)
    expect(await verified()).toEqual([])
    const inAYear = new Date(Date.now() + 31_536_000_000)
    expect(await pruneBackups(place, keys, 1, inAYear)).toMatchObject({ kept: [id], chunks: 2 })
    expect(await verified()).toEqual([])
    const [chunk = ''] = await namesIn(place, 'chunks')
    await place.put(chunk, Buffer.from('changed'))
    expect(await verified()).toEqual(['chunk-changed'])
    place.close()
  })
})

test('the commands take the address of a bucket and its settings', async () => {
  const keys = newKeysText('k')
  const place = openPlace('s3://backups/by/command', settings)
  const { id } = await plantBackup(place, readBackupKeys(keys), ['alpha'])
  place.close()
  const env = {
    BACKUP_KEYS: keys,
    BACKUP_S3_ENDPOINT: server.endpoint,
    BACKUP_S3_ACCESS_KEY_ID: account.accessKeyId,
    BACKUP_S3_SECRET_ACCESS_KEY: account.secretAccessKey,
  }
  const said: string[] = []
  const list = (from: string, changed = {}) =>
    runBackup({ action: 'list', place: from, isJson: true }, { ...env, ...changed }, (line) => said.push(line))
  const { code, text } = await list('s3://backups/by/command/')
  const listed: unknown = JSON.parse(text)
  expect([code, at(Array.isArray(listed) ? listed[0] : undefined, 'id')]).toEqual([0, id])
  expect(JSON.parse((await list('s3://backups/nothing')).text)).toEqual([])
  expect(said).toEqual([])
  expect(await list('s3://backups/by/command', { BACKUP_KEYS: newKeysText('another') })).toEqual({
    code: 1,
    text: '[]',
  })
  expect(said).toEqual([`FAULT key-unknown: backups/${id}.manifest needs the key k, which BACKUP_KEYS lacks`])
  await expect(list('s3://no-such-bucket/x')).rejects.toThrow('s3://no-such-bucket/x/ cannot be used: NoSuchBucket 404')
  await expect(
    list('s3://backups/x', { BACKUP_S3_SECRET_ACCESS_KEY: 'another-secret-0123456789-abcdef' }),
  ).rejects.toThrow('s3://backups/x/ cannot be used')
})

test('a prune that finds the index of a backup damaged names the chunk, as damage', async () => {
  const [address, keys] = [addresses['a folder']('damaged'), newKeysText('k')]
  const place = openPlace(address, settings)
  const { index } = await plantBackup(place, readBackupKeys(keys), ['alpha'])
  const [name = ''] = index.chunks
  const chunk = `chunks/of-k/${name.slice(0, 2)}/${name}`
  await place.remove(chunk)
  const order = { action: 'prune', place: address, keep: 1 } as const
  const outcome = await runBackup(order, { BACKUP_KEYS: keys }, (line) => expect.fail(line))
  expect(outcome).toEqual({ code: 1, text: `FAULT chunk-missing: ${chunk}` })
})

test.each([
  's3://',
  's3://Backups/x',
  's3://backups//x',
  's3://backups/../x',
  's3://backups/a b',
  'https://backups/x',
  's3:/backups/x',
  's3:backups/x',
  's3//backups/x',
  'S3:/backups/x',
])('%s is refused with the form of a place', (address) => {
  expect(() => openPlace(address, settings)).toThrow(`${address} is no place for backups: s3://bucket/prefix has`)
})

test('a bucket without its settings is refused, and they are named', () => {
  expect(() => openPlace('s3://backups', { ...settings, backupS3AccessKeyId: undefined })).toThrow(
    's3://backups needs BACKUP_S3_ENDPOINT, BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY',
  )
})

test('a chunk that takes two minutes over a slow line is stored', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let requests = 0
  const slow = createServer((request, response) => {
    requests += 1
    request.resume().once('end', () => {
      vi.advanceTimersByTime(120_000)
      response.setHeader('etag', '"a"').end()
    })
  })
  const endpoint = `http://127.0.0.1:${await listenOnLoopback(slow, 'slow store', 0)}`
  const place = openPlace('s3://backups', { ...settings, backupS3Endpoint: endpoint })
  try {
    await place.put('chunks/one', Buffer.from('one'))
    expect(requests).toBe(1)
  } finally {
    vi.useRealTimers()
    place.close()
    slow.close()
  }
})

test('a file that a killed backup left in a folder is durable after the flush of the next one that counts on it', async () => {
  const address = addresses['a folder']('left')
  // It is killed before its flush.
  await openPlace(address, settings).put('chunks/ab/one', Buffer.from('one'))
  const handle = await open(address)
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync')
  await handle.close()
  const place = openPlace(address, settings)
  expect([await place.has('chunks/ab/one'), await place.has('chunks/cd/two')]).toEqual([true, false])
  await place.flush()
  // The folder of the file and those above it, once.
  expect(sync).toHaveBeenCalledTimes(3)
  await place.flush()
  expect(sync).toHaveBeenCalledTimes(3)
  sync.mockRestore()
})

test('a new place is durable after the flush, with the new folders above it', async () => {
  const place = openPlace(join(addresses['a folder']('new'), 'nested'), settings)
  const handle = await open(folder)
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync')
  await handle.close()
  await place.put('chunks/ab/one', Buffer.from('one'))
  await place.flush()
  // The file, its folder, chunks, the place, the folder above it, and the one that was there.
  expect(sync).toHaveBeenCalledTimes(6)
  sync.mockRestore()
})

test('a file that was removed from a folder does not come back after the flush', async () => {
  const address = addresses['a folder']('removed')
  const place = openPlace(address, settings)
  await place.put('backups/one.manifest', Buffer.from('one'))
  await place.flush()
  const handle = await open(address)
  const sync = vi.spyOn(Object.getPrototypeOf(handle), 'sync')
  await handle.close()
  await place.remove('backups/one.manifest')
  await place.remove('nothing/there')
  await place.flush()
  expect(sync).toHaveBeenCalledTimes(1)
  sync.mockRestore()
})
