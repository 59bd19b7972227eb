import { randomUUID } from 'node:crypto'
import {
  BACKWARDS,
  END,
  EventStoreDBClient,
  persistentSubscriptionToAllSettingsFromDefaults,
  streamNameFilter,
} from '@eventstore/db-client'
import type streams from '@eventstore/db-client/generated/streams_pb.js'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startEventStore, type EventStoreNode } from '../../start.ts'
import { collect, counted, failure, revisions, link } from '../contract/contract-store.ts'
import { SOON, TestConsumer, consumer, settings } from '../contract/persistent-consumer.ts'
import { appendEvent, appendOptions, batchRequest, rawStreams } from '../contract/raw-append.ts'

// The node differs from the server here on purpose. The contract suite cannot contain these tests, because it also runs
// on servers.

const ALONE = { credentials: { username: 'admin', password: 'changeit' } }

let dataDir = ''
let node: EventStoreNode
let client: EventStoreDBClient

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
  node = await startEventStore({ dataDir })
  client = EventStoreDBClient.connectionString(node.url)
})

afterEach(async () => {
  await client.dispose()
  await node.stop()
  await rm(dataDir, { recursive: true, force: true })
})

test('$all of a new node is empty', async () => {
  expect(await collect(client.readAll())).toEqual([])
  expect(await collect(client.readAll({ direction: BACKWARDS, fromPosition: END }))).toEqual([])
})

describe('a read of $all', () => {
  test('from beyond the end: no events forwards, all events backwards', async () => {
    await client.appendToStream('a-1', [counted(0), counted(1)])
    const fromPosition = { commit: 10n ** 15n, prepare: 10n ** 15n }
    expect(await collect(client.readAll({ fromPosition }))).toEqual([])
    expect(await revisions(client.readAll({ fromPosition, direction: BACKWARDS }))).toEqual([1, 0])
  })

  test('from a position whose prepare exceeds its commit: uses the commit position', async () => {
    await client.appendToStream('a-1', counted(0))
    const { position } = await client.appendToStream('a-1', [counted(1), counted(2)])
    const [, , third] = await collect(client.readAll())
    const commit = third?.event?.position?.commit ?? 0n
    expect(commit).toBe(position?.commit)
    expect(await revisions(client.readAll({ fromPosition: { commit, prepare: commit + 1_000n } }))).toEqual([2])
  })
})

test('an append of known ids in another order is a repeat with the revision of its last event', async () => {
  const [first, second, third] = [counted(0), counted(1), counted(2)]
  await client.appendToStream('a-1', [first, second, third])
  for (const options of [{}, ALONE]) {
    expect(await client.appendToStream('a-1', [third, first], { expectedRevision: 'any', ...options })).toMatchObject({
      success: true,
      nextExpectedRevision: 0n,
    })
  }
  expect(await revisions(client.readStream('a-1'))).toEqual([0, 1, 2])
})

test('a batch append with an empty type gets one refusal, and the next append is accepted', async () => {
  const raw = rawStreams(node.url)
  const answers: streams.BatchAppendResp[] = []
  const call = raw.batchAppend()
  call.on('data', (answer: streams.BatchAppendResp) => answers.push(answer))
  const ended = new Promise<void>((resolve, reject) => {
    call.on('end', () => resolve()).on('error', reject)
  })
  const untyped = batchRequest('a-1', '{}')
  untyped.getProposedMessagesList()[0]?.getMetadataMap().set('type', '')
  call.write(untyped)
  call.write(batchRequest('a-1', '{}'))
  await expect.poll(() => answers.length, SOON).toBe(2)
  call.end()
  await ended
  expect(answers.map((answer) => answer.getError()?.getMessage())).toEqual(['BadRequest', undefined])
  expect(await revisions(client.readStream('a-1'))).toEqual([0])
  raw.close()
})

describe('a call that sends more metadata than it may hold', () => {
  const metadata = Buffer.alloc(4 << 20)

  test('in one append: the append is refused', async () => {
    const raw = rawStreams(node.url)
    const refused = new Promise<string | undefined>((resolve) => {
      const call = raw.append((error) => resolve(error?.details))
      call.write(appendOptions('a-1'))
      for (let n = 0; n < 9; n += 1) call.write(appendEvent('', 'Large', metadata))
      call.end()
    })
    expect(await refused).toBe('Maximum Append Size of 1048576 Exceeded.')
    raw.close()
  })

  test('in batch appends that it does not complete: the last one is refused, and complete appends are accepted', async () => {
    const raw = rawStreams(node.url)
    const answers: streams.BatchAppendResp[] = []
    const call = raw.batchAppend()
    call.on('data', (answer: streams.BatchAppendResp) => answers.push(answer)).on('error', () => {})
    for (let n = 0; n < 8; n += 1) {
      const incomplete = batchRequest('a-1', '').setIsFinal(false)
      incomplete.getProposedMessagesList()[0]?.setCustomMetadata(metadata)
      call.write(incomplete)
    }
    call.write(batchRequest('a-1', '{}'))
    await expect.poll(() => answers.length, SOON).toBe(2)
    expect(answers.map((answer) => answer.getError()?.getMessage())).toEqual(['MaximumAppendSizeExceeded', undefined])
    call.cancel()
    raw.close()
  })
})

test('an append whose events would hold more than 32 MiB of their name of the stream is refused', async () => {
  const name = 'n'.repeat(1 << 20)
  const events = Array.from({ length: 40 }, (_, n) => counted(n))
  const refusal = { type: 'maximum-append-size-exceeded' }
  expect(await failure(client.appendToStream(name, events))).toMatchObject(refusal)
  expect(await failure(client.appendToStream(name, events, ALONE))).toMatchObject(refusal)
  expect(await collect(client.readAll())).toEqual([])
})

test('a refusal about a stream whose name is not ASCII contains the reason and the name', async () => {
  const name = `größe-${randomUUID()}`
  await client.appendToStream(name, counted(0))
  await client.tombstoneStream(name)
  for (const call of [
    () => collect(client.readStream(name)),
    () => collect(client.subscribeToStream(name)),
    () => client.appendToStream(name, counted(1), ALONE),
    () => client.deleteStream(name),
  ])
    await expect(call()).rejects.toMatchObject({ type: 'stream-deleted', message: expect.stringContaining(name) })
  expect(await failure(client.getPersistentSubscriptionToStreamInfo(name, 'nobody'))).toMatchObject({
    type: 'persistent-subscription-does-not-exist',
  })
})

test('a live link without a target is filtered by itself in a group on $all', async () => {
  const live = persistentSubscriptionToAllSettingsFromDefaults({ startFrom: END, resolveLinkTos: true })
  await client.createPersistentSubscriptionToAll('group', live, { filter: streamNameFilter({ prefixes: ['links-'] }) })
  const one = await new TestConsumer(client.subscribeToPersistentSubscriptionToAll('group')).joined()
  await client.appendToStream('links-1', link('0@nowhere'))
  await one.got(1)
  expect(one.delivered.map(({ event, link: by }) => [event?.streamId, by?.streamId])).toEqual([[undefined, 'links-1']])
})

test('ordinary messages beside an unanswered replayed message go to the next consumer, and so does that one', async () => {
  await client.createPersistentSubscriptionToStream('a-1', 'group', settings())
  const one = await consumer(client, 'a-1', 'group')
  await client.appendToStream('a-1', counted(0))
  await one.got(1)
  await one.nack('park', 'later', 0)
  await expect
    .poll(
      async () => (await client.getPersistentSubscriptionToStreamInfo('a-1', 'group')).stats.parkedMessageCount,
      SOON,
    )
    .toBe(1n)
  await client.replayParkedMessagesToStream('a-1', 'group')
  await one.got(2)
  await client.appendToStream('a-1', [counted(1), counted(2)])
  await one.got(4)
  await one.leave()
  const two = await consumer(client, 'a-1', 'group')
  await two.got(3)
  expect(new Set(two.numbers)).toEqual(new Set([0, 1, 2]))
})
