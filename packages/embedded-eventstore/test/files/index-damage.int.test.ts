import { cpSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { PageChecksums, isIntact } from '../../index/page-checksums.ts'
import { openIndex } from '../../index/stream-index.ts'
import { LogFolder, appendTo, everythingByStream } from './log-folder.ts'

const streams = Array.from({ length: 40 }, (_, n) => `stream-${n}`)
const PAGE = 4096
let original: LogFolder
let byStream: string[] = []
let folders: LogFolder[] = []

beforeAll(async () => {
  original = new LogFolder()
  const store = original.open()
  for (let round = 0; round < 4; round += 1)
    await Promise.all(streams.map((stream) => appendTo(store, stream, [`round ${round}`])))
  byStream = everythingByStream(store, streams)
  await store.close()
})

afterAll(() => original.remove())

afterEach(() => {
  for (const folder of folders) folder.remove()
  folders = []
})

function copy(of: LogFolder = original): LogFolder {
  const folder = new LogFolder(of)
  folders.push(folder)
  return folder
}

const main = (folder: LogFolder): string => join(folder.path, 'index.sqlite')

/** Opens the folder and expects every written event and head. */
async function expectWhole(folder: LogFolder, what: string): Promise<void> {
  const store = folder.open()
  expect(everythingByStream(store, streams), what).toEqual(byStream)
  expect(new Set(streams.map((stream) => store.head(stream))), what).toEqual(new Set([3]))
  await store.close()
}

test('any flipped bit in the index is detected, and the index is built again', async () => {
  const size = statSync(main(original)).size
  expect(size).toBeGreaterThan(5 * PAGE)
  for (let offset = 0; offset < size; offset += 257) {
    const folder = copy()
    folder.flip(main(folder), offset, 1 << (offset % 8))
    expect(isIntact(main(folder)), `flipped at ${offset}`).toBe(false)
    if (offset % 16 === 0) await expectWhole(folder, `flipped at ${offset}`)
    folder.remove()
  }
})

test('a flipped bit in the checksums only causes a rebuild of the index', async () => {
  const size = statSync(`${main(original)}-checksums`).size
  for (let offset = 0; offset < size; offset += 3) {
    const folder = copy()
    folder.flip(`${main(folder)}-checksums`, offset)
    expect(isIntact(main(folder)), `flipped at ${offset}`).toBe(false)
  }
  const folder = copy()
  rmSync(`${main(folder)}-checksums`)
  await expectWhole(folder, 'without checksums')
})

test('a shorter or longer index file is built again', async () => {
  for (const change of [
    (bytes: Buffer) => bytes.subarray(0, -PAGE),
    (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(PAGE)]),
  ]) {
    const folder = copy()
    writeFileSync(main(folder), change(readFileSync(main(folder))))
    expect(isIntact(main(folder))).toBe(false)
    await expectWhole(folder, 'other length')
  }
})

test('an intact index is used: only newer appends are read from the log', async () => {
  const folder = copy()
  const store = folder.open()
  expect(store.lastRecovered).toBeUndefined()
  await store.close()
})

test('a checkpoint of more log than one read returns leaves an index that matches its checksums', async () => {
  const folder = copy()
  const store = folder.open()
  await Promise.all(Array.from({ length: 8000 }, (_, n) => appendTo(store, `one-of-many-${n}`, ['once'])))
  store.index.flush()
  expect(statSync(`${main(folder)}-wal`).size).toBeGreaterThan(100 * PAGE)
  await store.close()
  expect(isIntact(main(folder))).toBe(true)
  await expectWhole(folder, 'after a large checkpoint')
})

/** Files of a node that was killed just before a checkpoint, and the main file after that checkpoint. */
async function beforeCheckpoint(): Promise<{ killed: LogFolder; mainAfter: Buffer }> {
  const folder = copy()
  const store = folder.open()
  for (const stream of streams) await appendTo(store, stream, ['one more', 'and another'])
  store.index.flush()
  new PageChecksums(main(folder)).beforeCheckpoint()
  const killed = copy(folder)
  await store.close()
  return { killed, mainAfter: readFileSync(main(folder)) }
}

function headsOf(folder: LogFolder): Set<number> {
  const index = openIndex(folder.path)
  const heads = new Set(streams.map((stream) => index.head(stream)))
  index.abandon()
  return heads
}

test('an interrupted checkpoint is completed', async () => {
  const { killed, mainAfter } = await beforeCheckpoint()
  for (let pages = 0; pages * PAGE <= mainAfter.length; pages += 1) {
    const folder = copy(killed)
    const before = readFileSync(main(folder))
    writeFileSync(main(folder), Buffer.concat([mainAfter.subarray(0, pages * PAGE), before.subarray(pages * PAGE)]))
    expect(isIntact(main(folder)), `after ${pages} pages`).toBe(true)
    expect(headsOf(folder)).toEqual(new Set([5]))
  }
})

test('an interrupted checkpoint with a damaged or missing write-ahead log: the index is built again', async () => {
  const { killed, mainAfter } = await beforeCheckpoint()
  const wal = readFileSync(`${main(killed)}-wal`)
  for (let offset = 0; offset <= wal.length; offset += 997) {
    const folder = copy(killed)
    const before = readFileSync(main(folder))
    writeFileSync(main(folder), Buffer.concat([mainAfter.subarray(0, 2 * PAGE), before.subarray(2 * PAGE)]))
    if (offset + 997 > wal.length) rmSync(`${main(folder)}-wal`)
    else folder.flip(`${main(folder)}-wal`, offset)
    const heads = isIntact(main(folder)) ? headsOf(folder) : 'built again'
    expect(heads === 'built again' || [...heads].join() === '5', `flipped at ${offset}`).toBe(true)
  }
})

test('a write-ahead log without a checkpoint is not needed', async () => {
  const folder = copy()
  const store = folder.open()
  for (const stream of streams) await appendTo(store, stream, ['one more'])
  store.index.flush()
  const killed = copy(folder)
  await store.close()
  expect(readdirSync(killed.path)).toContain('index.sqlite-wal')
  cpSync(main(original), main(killed))
  expect(isIntact(main(killed))).toBe(true)
  expect(headsOf(killed)).toEqual(new Set([3]))
  const opened = killed.open()
  expect(new Set(streams.map((stream) => opened.head(stream)))).toEqual(new Set([4]))
  await opened.close()
})
