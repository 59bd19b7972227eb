import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startEventStore, type EventStoreNode } from '../../start.ts'

let dataDir = ''
let node: EventStoreNode | undefined

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
})

afterEach(async () => {
  await node?.stop()
  await rm(dataDir, { recursive: true, force: true })
})

type Acknowledged = { stream: string; revision: bigint; position: bigint; n: number }

/** Appends with 32 writers until the node is gone. Returns the acknowledged events. */
async function appendUntilKilled(
  url: string,
  round: number,
  killAfter: number,
  kill: () => void,
): Promise<Acknowledged[]> {
  const client = EventStoreDBClient.connectionString(url)
  const acknowledged: Acknowledged[] = []
  let isKilled = false
  const writer = async (index: number): Promise<void> => {
    const stream = `round${round}-${index}`
    for (let n = 0; !isKilled; n += 1) {
      try {
        const result = await client.appendToStream(
          stream,
          jsonEvent({ type: 'Numbered', data: { n, filler: 'x'.repeat(200) } }),
          {
            expectedRevision: n === 0 ? 'no_stream' : BigInt(n - 1),
          },
        )
        acknowledged.push({
          stream,
          revision: result.nextExpectedRevision,
          position: result.position?.commit ?? -1n,
          n,
        })
      } catch {
        return
      }
      if (acknowledged.length >= killAfter && !isKilled) {
        isKilled = true
        kill()
      }
    }
  }
  await Promise.all(Array.from({ length: 32 }, (_, index) => writer(index)))
  await client.dispose()
  return acknowledged
}

test('SIGKILL during appends keeps every acknowledged event at its place, without gaps', async () => {
  node = await startEventStore({ dataDir })
  const acknowledged: Acknowledged[] = []
  for (const [round, killAfter] of [50, 400, 37, 1200].entries()) {
    const running = node
    acknowledged.push(...(await appendUntilKilled(running.url, round, killAfter, () => running.kill())))
    await running.exited
    node = await startEventStore({ dataDir, port: running.port })
  }
  const client = EventStoreDBClient.connectionString(node.url)
  const found = new Map<string, { position: bigint | undefined; n: unknown }>()
  const revisions = new Map<string, number>()
  for await (const { event } of client.readAll()) {
    if (event === undefined) continue
    const expected = revisions.get(event.streamId) ?? 0
    expect(Number(event.revision)).toBe(expected)
    revisions.set(event.streamId, expected + 1)
    found.set(`${event.streamId}@${event.revision}`, {
      position: event.position?.commit,
      n: (event.data as { n: number }).n,
    })
  }
  expect(acknowledged.length).toBeGreaterThanOrEqual(1687)
  for (const { stream, revision, position, n } of acknowledged)
    expect(found.get(`${stream}@${revision}`)).toEqual({ position, n })
  await client.dispose()
})

test('a repeated append is recognised after a restart', async () => {
  node = await startEventStore({ dataDir })
  const events = [1, 2].map((n) => jsonEvent({ type: 'Numbered', data: { n } }))
  let client = EventStoreDBClient.connectionString(node.url)
  const first = await client.appendToStream('repeated-1', events, { expectedRevision: 'no_stream' })
  await client.dispose()
  node.kill()
  await node.exited
  node = await startEventStore({ dataDir, port: node.port })
  client = EventStoreDBClient.connectionString(node.url)
  const again = await client.appendToStream('repeated-1', events, { expectedRevision: 'no_stream' })
  expect(again).toEqual(first)
  const read: unknown[] = []
  for await (const { event } of client.readStream('repeated-1')) read.push(event?.revision)
  expect(read).toEqual([0n, 1n])
  await client.dispose()
})

test('a subscription from its last position receives every event once after SIGKILL', async () => {
  node = await startEventStore({ dataDir })
  let client = EventStoreDBClient.connectionString(node.url)
  for (let n = 0; n < 10; n += 1) await client.appendToStream('resumed-1', jsonEvent({ type: 'Numbered', data: { n } }))
  const seen: bigint[] = []
  let position = { commit: 0n, prepare: 0n }
  for await (const { event } of client.subscribeToAll()) {
    seen.push(event?.revision ?? -1n)
    position = event?.position ?? position
    if (seen.length === 6) break
  }
  node.kill()
  await node.exited
  await client.dispose()
  node = await startEventStore({ dataDir, port: node.port })
  client = EventStoreDBClient.connectionString(node.url)
  await client.appendToStream('resumed-1', jsonEvent({ type: 'Numbered', data: { n: 10 } }), { expectedRevision: 9n })
  for await (const { event } of client.subscribeToAll({ fromPosition: position })) {
    seen.push(event?.revision ?? -1n)
    if (seen.length === 11) break
  }
  expect(seen).toEqual(Array.from({ length: 11 }, (_, n) => BigInt(n)))
  await client.dispose()
})
