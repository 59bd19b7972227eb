import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { EventStoreDBClient } from '@eventstore/db-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { resumePoint, sourceMember } from '../../../engine/relay/resume-point.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import { MemoryKeys, openTestStore, visitCategory } from '../store/fixtures.ts'
import { freshEventStore, type TestEventStore } from 'embedded-eventstore/testing'

const { category, channel, catalogue } = visitCategory()
let node: TestEventStore
let store: EventStore
let raw: EventStoreDBClient

beforeAll(async () => {
  node = await freshEventStore()
  store = await openTestStore({ url: node.url, catalogue })
  raw = EventStoreDBClient.connectionString(node.url)
})
afterAll(async () => {
  await store.close()
  await raw.dispose()
  await node.stop()
})

const place = (n: bigint) => ({ commit: n, prepare: n })

async function publish(source: bigint): Promise<void> {
  const id = randomUUID()
  const metadata = { commandId: id, $correlationId: id, source: formatPosition(place(source)) }
  const { revision } = await resumePoint(store, channel)
  await store.appendRaw(channel, revision, [{ id, type: `${category}.opened`, data: { visit_id: 'v' }, metadata }])
}

it('is the later of the newest own event and the quiet stretch after it, at the last revision of the channel', async () => {
  expect(await resumePoint(store, channel)).toMatchObject({ revision: 'no_stream', source: undefined })
  expect(await resumePoint(store, channel, 41n)).toMatchObject({ revision: 41n, source: undefined })
  await publish(100n)
  await publish(200n)
  expect(await resumePoint(store, channel)).toMatchObject({ revision: 1n, source: place(200n) })

  await store.writeMark(channel, sourceMember, formatPosition(place(350n)))
  expect(await resumePoint(store, channel)).toMatchObject({ revision: 1n, source: place(350n) })
  await publish(400n)
  expect(await resumePoint(store, channel)).toMatchObject({ revision: 2n, source: place(400n) })

  await raw.appendToStream(channel, {
    id: randomUUID(),
    type: 'alien',
    contentType: 'application/json',
    data: {},
    metadata: {},
  })
  expect(await resumePoint(store, channel)).toMatchObject({ revision: 3n, source: place(400n) })
})

it('ignores a position in the metadata without our signature, or signed for another channel', async () => {
  const other = visitCategory().channel
  const { revision, source } = await resumePoint(store, channel)
  await store.writeMetadata(channel, { [sourceMember]: formatPosition(place(900n)) })
  expect(await resumePoint(store, channel)).toMatchObject({ revision, source })
  await store.writeMark(other, sourceMember, formatPosition(place(900n)))
  const { [sourceMember]: signed } = await store.readMetadata(other)
  await store.writeMetadata(channel, { [sourceMember]: signed })
  expect(await resumePoint(store, channel)).toMatchObject({ revision, source })
})

it('is a position that another process signed with a key which this one does not know yet', async () => {
  const { channel: other } = visitCategory()
  const vault = new MemoryKeys()
  await using early = await openTestStore({ url: node.url, catalogue, vault })
  const [first] = await vault.eventKeys()
  if (first === undefined) throw new Error('the vault has no key')
  const newest = { id: 'AbCd-_12', key: createSecretKey(randomBytes(32)), end: undefined }
  vault.eventKeys = async () => [newest, first]
  await using late = await openTestStore({ url: node.url, catalogue, vault })
  await late.writeMark(other, sourceMember, formatPosition(place(350n)))
  expect(await resumePoint(early, other)).toMatchObject({ revision: 'no_stream', source: place(350n) })
})
