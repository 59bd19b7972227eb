import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { append, type WriteOutcome } from '../../streams/append.ts'
import { resolveLink } from '../../streams/links.ts'
import { readForwards } from '../../streams/read-stream.ts'
import type { StreamStore } from '../../streams/stream-store.ts'
import { LogFolder } from '../files/log-folder.ts'

const COUNT = 300

let folder: LogFolder

beforeEach(() => {
  folder = new LogFolder()
})

afterEach(() => folder.remove())

function binary(type: string, data: string) {
  return { id: randomUUID(), type, contentType: undefined, data: Buffer.from(data), metadata: Buffer.alloc(0) }
}

function outcomeOf(store: StreamStore, stream: string, events: ReturnType<typeof binary>[]): Promise<WriteOutcome> {
  return new Promise((resolve) => {
    append(store, stream, 'no_stream', events, resolve)
  })
}

test('a repeat after a restart reads its original once, however many events it has', async () => {
  const events = Array.from({ length: COUNT }, () => binary('Noted', ''))
  const before = folder.open()
  await outcomeOf(before, 'a-1', events)
  await before.close()
  const store = folder.open()
  const reads = vi.spyOn(store.log, 'readFrame')
  expect(await outcomeOf(store, 'a-1', events)).toMatchObject({ kind: 'success', revision: COUNT - 1 })
  expect(reads).toHaveBeenCalledOnce()
  await store.close()
})

test('links to the events of one append read it once', async () => {
  const store = folder.open()
  await outcomeOf(
    store,
    'a-1',
    Array.from({ length: COUNT }, () => binary('Noted', '')),
  )
  await outcomeOf(
    store,
    'links',
    Array.from({ length: COUNT }, (_, n) => binary('$>', `${n}@a-1`)),
  )
  const links = [...readForwards(store, 'links', 0, COUNT)].flat()
  const reads = vi.spyOn(store.log, 'readFrame')
  expect(links.map((link) => resolveLink(store, link, 'reading').event?.revision)).toEqual(links.map((_, n) => n))
  expect(reads).toHaveBeenCalledOnce()
  await store.close()
})
