import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, jsonEvent, type AllStreamJSONRecordedEvent } from '@eventstore/db-client'
import { freshEventStore } from 'embedded-eventstore/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FaultKind } from '../../../app/audit/fault.ts'
import { verifyServers } from '../../../app/audit/verify-command.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { openSealingWorld, type SealingWorld } from '../../processes/sealing/sealing-world.ts'

type Stored = AllStreamJSONRecordedEvent

const configuration = loadConfiguration({})
let world: SealingWorld
let egress: Egress
const events: Stored[] = []

beforeAll(async () => {
  world = await openSealingWorld()
  egress = createEgress({ configuration })
  await world.write(30)
  await world.sealAll()
  await world.write(10)
  await world.sealAll()
  const client = EventStoreDBClient.connectionString(world.url)
  for await (const { event } of client.readAll())
    if (event !== undefined && !event.streamId.startsWith('$') && event.isJson) events.push(event)
  await client.dispose()
})
afterAll(async () => {
  await egress.close()
  await world.close()
})

/** An event store as somebody with access to its files leaves it: a node with the events that are appended here. */
async function rewrittenNode() {
  const node = await freshEventStore()
  const client = EventStoreDBClient.connectionString(node.url)
  const store = await world.storeOf(catalogue, node.url)
  const positions: string[] = []
  return {
    positions,
    async append(left: readonly Stored[]) {
      for (const { streamId, id, type, data, metadata } of left) {
        const { position } = await client.appendToStream(streamId, jsonEvent({ id, type, data, metadata }))
        positions.push(position === undefined ? '' : formatPosition(position))
      }
    },
    async faults() {
      const { vault, objects } = world
      const servers = { configuration, store, vault, objects, egress, close: async () => undefined }
      const order = { isJson: false, from: undefined, key: undefined, witnesses: [] }
      const { faults } = await verifyServers(servers, order)
      return faults.map(({ kind, position }) => ({ kind, position }))
    },
    async [Symbol.asyncDispose]() {
      await client.dispose()
      await node.stop()
    },
  }
}

const copied = (event: Stored | undefined): Stored[] =>
  event === undefined ? [] : [{ ...event, id: randomUUID(), streamId: 'consent-added' }]

interface Planted {
  readonly change: (stored: readonly Stored[]) => readonly Stored[]
  readonly kind: FaultKind
  /** Which of the events that are left the fault names. */
  readonly at: number
}

const planted: readonly (readonly [string, Planted])[] = [
  [
    'a changed member',
    {
      change: (stored) =>
        stored.map((event, at) =>
          at === 15 ? { ...event, data: Object.assign({}, event.data, { version: 9 }) } : event,
        ),
      kind: 'changed',
      at: 15,
    },
  ],
  ['a removed event', { change: (stored) => stored.toSpliced(23, 1), kind: 'removed', at: 22 }],
  [
    'an event in another place',
    { change: (stored) => stored.toSpliced(8, 1).toSpliced(23, 0, ...stored.slice(8, 9)), kind: 'moved', at: 23 },
  ],
  ['an added event', { change: (stored) => stored.toSpliced(11, 0, ...copied(stored[11])), kind: 'added', at: 11 }],
]

test('finds a cut tail, and nothing in a node with the same events', async () => {
  await using left = await rewrittenNode()
  await left.append(events.slice(0, 36))
  expect(await left.faults()).toEqual([{ kind: 'tail_cut', position: left.positions[35] }])
  await left.append(events.slice(36))
  expect(await left.faults()).toEqual([])
})

test.each(planted)('finds %s in a node whose files somebody rewrote', async (_, { change, kind, at }) => {
  await using left = await rewrittenNode()
  await left.append(change(events))
  expect(await left.faults()).toEqual([{ kind, position: left.positions[at] }])
})
