import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  readObjectBytes,
  readObjectMeta,
  writeObjectFile,
  type ObjectMeta,
} from '../../../embedded/object-store/object-file.ts'

const bytes = randomBytes(300_000)
let folder: string
let meta: ObjectMeta
const file = () => join(folder, 'object')

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'object-file-'))
  meta = await writeObjectFile(file(), Readable.from([bytes]), () => ({
    contentType: 'image/jpeg',
    modifiedAt: '',
    custom: {},
  }))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Waits longer than a wrong close of the descriptor needs. */
async function expectStillOpen(handle: Awaited<ReturnType<typeof open>>): Promise<void> {
  for (let look = 1; look <= 50; look += 1) expect((await handle.stat()).size).toBeGreaterThan(bytes.length)
}

test.each<readonly [string, number, number]>([
  ['whole', 0, 299_999],
  ['in part', 70_000, 200_000],
  ['in its last byte', 299_999, 299_999],
])('an object is read %s, and its handle stays open for its owner', async (_, first, last) => {
  const handle = await open(file(), 'r')
  expect(await readObjectMeta(handle)).toEqual(meta)
  const stream = readObjectBytes(handle, meta, first, last)
  expect((await buffer(stream)).equals(bytes.subarray(first, last + 1))).toBe(true)
  await expectStillOpen(handle)
  await handle.close()
})

test.each<readonly [string, number]>([
  ['whole', 0],
  ['in part', 1],
])('an interrupted read, %s, leaves the handle open too', async (_, first) => {
  const handle = await open(file(), 'r')
  const stream = readObjectBytes(handle, meta, first, 299_999)
  await once(stream, 'readable')
  stream.destroy()
  await once(stream, 'close')
  await expectStillOpen(handle)
  await handle.close()
})

test('a handle can be closed during a read without harm to the object that is opened next', async () => {
  const handle = await open(file(), 'r')
  const stream = readObjectBytes(handle, meta, 0, 299_999)
  await once(stream, 'readable')
  await handle.close()
  const next = await open(file(), 'r')
  stream.destroy()
  await expectStillOpen(next)
  await next.close()
})

test('damaged bytes are never returned completely', async () => {
  const handle = await open(file(), 'r')
  await expect(buffer(readObjectBytes(handle, { ...meta, etag: '0'.repeat(32) }, 0, 299_999))).rejects.toThrow(
    'damaged',
  )
  await expect(buffer(readObjectBytes(handle, { ...meta, size: 2_000_000 }, 1, 1_999_999))).rejects.toThrow('damaged')
  await handle.close()
})

const storing = `
const [, module, file] = process.argv
const { writeObjectFile } = await import(module)
await writeObjectFile(file, [Buffer.alloc(8_190)], () => ({ modifiedAt: '', custom: {} }))
`

test('an object whose metadata the disk takes only in part is not stored', async () => {
  // The limit of a file's size, 8 KiB, is reached within the metadata, as a full disk is.
  const command = 'ulimit -f 8 && exec "$0" --input-type=module --eval "$@"'
  const module = new URL('../../../embedded/object-store/object-file.ts', import.meta.url).href
  const args = [process.execPath, storing, module, join(folder, 'limited')]
  const limited = promisify(execFile)('bash', ['-c', command, ...args])
  await expect(limited).rejects.toMatchObject({ stderr: expect.stringContaining('EFBIG') as unknown })
})
