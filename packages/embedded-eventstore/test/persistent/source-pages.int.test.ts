import { expect, test, vi } from 'vitest'
import type { GroupSettings } from '../../persistent/group-settings.ts'
import { sourceReader } from '../../persistent/source-reader.ts'
import { append } from '../../streams/append.ts'
import type { StreamStore } from '../../streams/stream-store.ts'
import { LogFolder, appendTo } from '../files/log-folder.ts'
import { smallGroup } from './group-settings.ts'

const settings: GroupSettings = {
  ...smallGroup,
  source: { kind: 'all', filter: { on: 'stream', regex: '', prefixes: ['wanted-'] } },
  startPosition: 'C:0/P:0',
  messageTimeout: 30_000,
  checkpointAfter: 2_000,
  minCheckpointCount: 10,
  maxCheckpointCount: 1_000_000,
  liveBufferSize: 500,
  readBatchSize: 20,
  historyBufferSize: 500,
}

test('a page examines a limited number of events, however rare the checkpoints of the group are', async () => {
  const folder = new LogFolder()
  const store = folder.open()
  for (const _ of [1, 2, 3])
    await appendTo(
      store,
      'other-1',
      Array.from({ length: 1_000 }, () => ''),
    )
  await appendTo(store, 'wanted-1', ['found'])
  const reader = sourceReader(store, settings)
  const counts: (number | undefined)[] = []
  for (let from = 0, isEnd = false; !isEnd;) {
    const page = reader.page(from, 20)
    if (page === 'deleted') throw new Error('$all is never deleted')
    counts.push(page.filteredOut?.count, page.events.length)
    from = page.next
    isEnd = page.isEnd
  }
  expect(counts).toEqual([1_000, 0, 1_000, 0, 1_000, 0, undefined, 1])
  await store.close()
  folder.remove()
})

test('a page of a stream ends at events that are too old, and the next one continues behind them', async () => {
  const folder = new LogFolder()
  const store = folder.open()
  for (let n = 0; n < 600; n += 1) await appendTo(store, 'orders', [''])
  await limitAge(store, 'orders', 1)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })
  await appendTo(store, 'orders', ['new'])
  const reader = sourceReader(store, { ...settings, source: { kind: 'stream', stream: 'orders' } })
  const pages = []
  for (let from = 0, isEnd = false; !isEnd;) {
    const page = reader.page(from, 20)
    if (page === 'deleted') throw new Error('orders was not deleted')
    pages.push(page)
    from = page.next
    isEnd = page.isEnd
  }
  vi.useRealTimers()
  expect(pages.length).toBeGreaterThan(2)
  expect(pages.flatMap(({ events }) => events.map(({ position }) => position))).toEqual([600])
  expect(pages.at(-1)).toMatchObject({ next: 601, isEnd: true })
  await store.close()
  folder.remove()
})

function limitAge(store: StreamStore, stream: string, seconds: number): Promise<unknown> {
  const event = {
    id: crypto.randomUUID(),
    type: '$metadata',
    contentType: 'application/json',
    data: Buffer.from(JSON.stringify({ $maxAge: seconds })),
    metadata: Buffer.alloc(0),
  }
  return new Promise((resolve) => {
    append(store, `$$${stream}`, 'any', [event], resolve)
  })
}
