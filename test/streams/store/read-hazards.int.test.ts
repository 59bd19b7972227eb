import { describe, expect, test } from 'vitest'
import type { EventStore } from '../../../streams/store/event-store.ts'
import { createSigner } from '../../../streams/store/signature.ts'
import { MemoryKeys, openTestStore, visitCategory } from './fixtures.ts'
import { ScriptedServer, type ReadCall } from './scripted-server.ts'
import { wireEvent } from './wire-messages.ts'

const { catalogue, stream } = visitCategory()
const vault = new MemoryKeys()
const signer = createSigner(await vault.eventSigningKey())

/** Sends three events of a longer stream, and then nothing. */
function beginning(name: string): (call: ReadCall) => void {
  return (call) => {
    for (const revision of [0, 1, 2]) {
      const id = `00000000-0000-4000-8000-00000000000${revision}`
      const data = JSON.stringify({ room: revision })
      const place = { id, stream: name, type: 'VisitNoted' }
      const unsigned = JSON.stringify({ commandId: id, $correlationId: id, schemaVersion: 1 })
      const metadata = signer.sign({ ...place, revision: BigInt(revision) }, data, unsigned)
      call.write(wireEvent({ ...place, revision, position: revision + 1, data, metadata }))
    }
  }
}

async function firstRevision(store: EventStore, name: string): Promise<bigint | undefined> {
  for await (const { revision } of store.readStream(name)) return revision
  return undefined
}

describe('abandoned reads', () => {
  test('leaving a long read early keeps no call on the server', async () => {
    const name = stream()
    await using server = await ScriptedServer.start({ onRead: beginning(name), mostCalls: 5 })
    await using store = await openTestStore({ url: server.url, catalogue, vault })

    for (let round = 0; round < 12; round += 1) expect(await firstRevision(store, name)).toBe(0n)
    expect(server.reads).toHaveLength(12)
  })
})
