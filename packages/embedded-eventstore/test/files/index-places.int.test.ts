import { afterEach, beforeEach, expect, test } from 'vitest'
import { readEvent } from '../../streams/read-stream.ts'
import { LogFolder, appendTo } from './log-folder.ts'

let folder: LogFolder

beforeEach(() => {
  folder = new LogFolder()
})

afterEach(() => folder.remove())

test('finds a single event in the index file, in memory, and directly behind the written part', async () => {
  const store = folder.open()
  await appendTo(store, 'a-1', ['0', '1'])
  await appendTo(store, 'a-1', ['2'])
  store.index.flush()
  await appendTo(store, 'a-1', ['3', '4'])
  await appendTo(store, 'a-1', ['5'])
  const found = [0, 1, 2, 3, 4, 5, 6].map((revision) => readEvent(store, 'a-1', revision)?.revision)
  expect(found).toEqual([0, 1, 2, 3, 4, 5, undefined])
  for (const revision of [0, 1, 2, 3, 4, 5]) expect(store.index.placesFrom('a-1', revision, 1)).toHaveLength(1)
  await store.close()
})
