import { afterEach, beforeEach, expect, test } from 'vitest'
import { softDelete, tombstone, type WriteOutcome } from '../../../../embedded/eventstore/streams/append.ts'
import { viewStream } from '../../../../embedded/eventstore/streams/read-stream.ts'
import type { StreamStore } from '../../../../embedded/eventstore/streams/stream-store.ts'
import { LogFolder, appendTo, everything } from '../files/log-folder.ts'

let folder: LogFolder
let store: StreamStore

beforeEach(() => {
  folder = new LogFolder()
  store = folder.open()
})

afterEach(async () => {
  await store.close()
  folder.remove()
})

function outcomeOf(write: typeof softDelete, stream: string): Promise<WriteOutcome> {
  return new Promise((resolve) => {
    write(store, stream, 'any', resolve)
  })
}

// What a real server does here cannot be held against it by the contract suite: it ends itself.
test('a stream whose metadata stream is tombstoned cannot be deleted softly, and is what it was', async () => {
  await appendTo(store, 'a-1', ['0'])
  await outcomeOf(tombstone, '$$a-1')
  const before = everything(store)
  expect(await outcomeOf(softDelete, 'a-1')).toEqual({ kind: 'deleted' })
  expect(everything(store)).toEqual(before)
  expect(viewStream(store, 'a-1')).toMatchObject({ kind: 'readable', head: 0 })
})

test('a deleted stream comes back whole when its metadata stream is tombstoned, and is written on', async () => {
  await appendTo(store, 'a-1', ['0'])
  await outcomeOf(softDelete, 'a-1')
  await outcomeOf(tombstone, '$$a-1')
  await appendTo(store, 'a-1', ['1'])
  expect(viewStream(store, 'a-1')).toMatchObject({ kind: 'readable', head: 1, first: 0 })
})
