import { afterEach, beforeEach, expect, test } from 'vitest'
import { NoRoomError } from '../../../packages/embedded-eventstore/log/log-errors.ts'
import {
  appendTo,
  everything,
  everythingByStream,
  LogFolder,
} from '../../../packages/embedded-eventstore/test/files/log-folder.ts'
import { limitFileSize } from '../../../tools/faults/file-size-limit.ts'

let folder: LogFolder

beforeEach(() => {
  folder = new LogFolder()
})

afterEach(async () => {
  await limitFileSize(process.pid, 'unlimited')
  folder.remove()
})

test('an index without room waits in memory, stays readable, and is complete on disk once there is room', async () => {
  const streams = Array.from({ length: 120 }, (_, n) => `stream-${n}`)
  let store = folder.open()
  await appendTo(store, 'stream-0', ['first'])
  await limitFileSize(process.pid, 128 << 10)
  for (const stream of streams) {
    await appendTo(store, stream, ['small'])
    store.index.flush()
  }
  const position = store.index.stored()?.position ?? 0
  expect(position).toBeLessThan(store.log.durableEnd)
  const written = everything(store)
  expect(written).toHaveLength(121)
  expect(everythingByStream(store, streams).toSorted()).toEqual(written.toSorted())
  expect(store.index.streamCount).toBe(120)

  await limitFileSize(process.pid, 'unlimited')
  store.index.flush()
  expect(store.index.stored()?.position).toBe(store.log.durableEnd)
  await store.close()
  store = folder.open()
  expect(store.recovery).toEqual({ tornBytes: 0, appendsReadAgain: 0, isIndexBuilt: false })
  expect(everything(store)).toEqual(written)
  expect(everythingByStream(store, streams).toSorted()).toEqual(written.toSorted())
  await store.close()
})

test('a store closed while its index has no room reads the log again at the next start', async () => {
  let store = folder.open()
  await appendTo(store, 'stream-0', ['first'])
  await limitFileSize(process.pid, 128 << 10)
  for (let n = 0; n < 120; n += 1) {
    await appendTo(store, `stream-${n}`, ['small'])
    store.index.flush()
  }
  const written = everything(store)
  await store.close()
  await limitFileSize(process.pid, 'unlimited')
  store = folder.open()
  expect(store.recovery.appendsReadAgain).toBeGreaterThan(0)
  expect(everything(store)).toEqual(written)
  await store.close()
})

test('a store whose index waits for too many appends refuses more until the index is written', async () => {
  const store = folder.open()
  await appendTo(store, 'stream-0', ['first'])
  const [frame] = store.log.readFrames(0)
  if (frame === undefined) throw new Error('one was appended')
  store.index.flush()
  await limitFileSize(process.pid, 1 << 10)
  for (let n = 1; n < 25_000; n += 1) store.index.add({ ...frame, firstRevision: n })
  store.index.flush()
  expect(store.isFull).toBe(false)
  store.index.add({ ...frame, firstRevision: 25_000 })
  expect(store.isFull).toBe(true)
  await expect(appendTo(store, 'stream-1', ['more'])).rejects.toThrow(NoRoomError)
  expect(() => store.requireRoom()).toThrow(NoRoomError)

  await limitFileSize(process.pid, 'unlimited')
  store.index.flush()
  expect(store.isFull).toBe(false)
  await appendTo(store, 'stream-1', ['more'])
  await store.close()
})
