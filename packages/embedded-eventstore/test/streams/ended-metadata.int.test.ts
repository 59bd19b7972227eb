import { afterEach, beforeEach, expect, test } from 'vitest'
import { softDelete, tombstone, type WriteOutcome } from '../../streams/append.ts'
import { viewStream } from '../../streams/read-stream.ts'
import type { StreamStore } from '../../streams/stream-store.ts'
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

// The contract suite cannot compare this with a real server, because the server crashes here.
test('a stream with a tombstoned metadata stream refuses a soft delete and stays unchanged', async () => {
  await appendTo(store, 'a-1', ['0'])
  await outcomeOf(tombstone, '$$a-1')
  const before = everything(store)
  expect(await outcomeOf(softDelete, 'a-1')).toEqual({ kind: 'deleted' })
  expect(everything(store)).toEqual(before)
  expect(viewStream(store, 'a-1')).toMatchObject({ kind: 'readable', head: 0 })
})

test('a tombstone of its metadata stream makes a deleted stream completely readable and writable', async () => {
  await appendTo(store, 'a-1', ['0'])
  await outcomeOf(softDelete, 'a-1')
  await outcomeOf(tombstone, '$$a-1')
  await appendTo(store, 'a-1', ['1'])
  expect(viewStream(store, 'a-1')).toMatchObject({ kind: 'readable', head: 1, first: 0 })
})
