import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { append, finishInterruptedUndelete, softDelete } from '../../streams/append.ts'
import { readForwards, viewStream } from '../../streams/read-stream.ts'
import type { StreamStore } from '../../streams/stream-store.ts'
import { LogFolder, appendTo } from './log-folder.ts'

const stream = 'revived-1'
let deleted: LogFolder

beforeEach(async () => {
  deleted = new LogFolder()
  const store = deleted.open()
  await appendTo(store, stream, ['a', 'b'])
  await new Promise((resolve) => softDelete(store, stream, 'any', resolve))
  await store.close()
})

afterEach(() => deleted.remove())

function setMetadata(store: StreamStore, json: string, contentType: string): Promise<unknown> {
  const event = { id: randomUUID(), type: '$metadata', contentType, data: Buffer.from(json), metadata: Buffer.alloc(0) }
  return new Promise((resolve) => append(store, `$$${stream}`, 'any', [event], resolve))
}

/** The log after a write of two appends, and the position of the second. */
async function afterWrite(write: (store: StreamStore) => Promise<unknown>): Promise<{ bytes: Buffer; second: number }> {
  const folder = new LogFolder(deleted)
  const store = folder.open()
  const end = store.log.durableEnd
  await write(store)
  const frames = store.log.readFrames(end)
  await store.close()
  const bytes = readFileSync(folder.segment)
  folder.remove()
  expect(frames).toHaveLength(2)
  return { bytes, second: frames[1]?.position ?? 0 }
}

/** The state that a node finds when only these bytes were written before a kill. */
async function found(
  bytes: Buffer,
): Promise<{ revisions: number[]; view: string; first: number; metadata: string | undefined; isUnchanged: boolean }> {
  writeFileSync(deleted.segment, bytes)
  const store = deleted.open()
  const end = store.log.durableEnd
  finishInterruptedUndelete(store)
  await new Promise<void>((resolve) => store.log.whenDurable(resolve))
  const view = viewStream(store, stream)
  const revisions = [...readForwards(store, stream, 0, Infinity)].flat().map((event) => event.revision)
  const metadata = store.writtenMetadataData(stream)?.toString()
  const isUnchanged = store.log.durableEnd === end
  await store.close()
  return { revisions, view: view.kind, first: view.kind === 'readable' ? view.first : -1, metadata, isUnchanged }
}

describe('an append to a soft-deleted stream', () => {
  const write = (store: StreamStore): Promise<unknown> => appendTo(store, stream, ['c'])

  test('killed before its metadata: the new event is readable, the deleted ones are not', async () => {
    const { bytes, second } = await afterWrite(write)
    expect(await found(bytes.subarray(0, second))).toMatchObject({ revisions: [2], first: 2, isUnchanged: false })
  })

  test('killed after its metadata: the start has nothing to do', async () => {
    const { bytes } = await afterWrite(write)
    expect(await found(bytes)).toMatchObject({ revisions: [2], first: 2, isUnchanged: true })
  })
})

describe.each(['application/json', 'application/octet-stream'])(
  'new metadata of a soft-deleted stream, as %s',
  (contentType) => {
    const write = (store: StreamStore): Promise<unknown> => setMetadata(store, '{"owner":"x"}', contentType)

    test('killed before the truncating metadata: the deleted events stay deleted', async () => {
      const { bytes, second } = await afterWrite(write)
      expect(await found(bytes.subarray(0, second))).toEqual({
        revisions: [],
        view: 'readable',
        first: 2,
        metadata: '{"owner":"x","$tb":2}',
        isUnchanged: false,
      })
    })

    test('killed after it: the start has nothing to do', async () => {
      const { bytes } = await afterWrite(write)
      expect(await found(bytes)).toMatchObject({ revisions: [], first: 2, isUnchanged: true })
    })
  },
)

test('a stream that was deleted twice stays deleted', async () => {
  const folder = new LogFolder(deleted)
  const store = folder.open()
  await new Promise((resolve) => softDelete(store, stream, 'any', resolve))
  await store.close()
  const bytes = readFileSync(folder.segment)
  folder.remove()
  expect(await found(bytes)).toMatchObject({ view: 'missing', isUnchanged: true })
})
