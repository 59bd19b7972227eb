import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { AppendOutcomeUnknownError, EventStoreUnavailableError } from '../../../engine/store/errors.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { createSigner } from '../../../engine/store/signature.ts'
import { MemoryKeys, newContext, noted, openTestStore, visitCategory } from './fixtures.ts'
import { ScriptedServer, type ReadCall } from './scripted-server.ts'
import { wireEvent } from './wire-messages.ts'

const { catalogue, fold, stream } = visitCategory()
const vault = new MemoryKeys()
const signer = createSigner(vault.signingKey)

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

/** Accepts connections and sends nothing. */
async function startSilentServer(): Promise<{ readonly port: number } & AsyncDisposable> {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket.on('error', () => undefined)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

describe('a store with short time limits', () => {
  // The limits of the other copy of the store: without the short ones, a test would end after these.
  const long = { appendTimeoutMs: 600_000, appendBudgetMs: 600_000, readBudgetMs: 600_000 }
  const short = { appendTimeoutMs: 300, appendBudgetMs: 300, readBudgetMs: 300 }

  async function expectUnavailable(url: string): Promise<void> {
    await using opened = await openTestStore({ url, catalogue, vault, ...long })
    const store = opened.within(short)
    const target = { fold, stream: stream() }
    await expect(store.load(target)).rejects.toThrow(EventStoreUnavailableError)
    await expect(store.append(target, 'no_stream', [noted(1)], newContext())).rejects.toThrow(AppendOutcomeUnknownError)
    await expect(store.head({ streamPrefixes: [] })).rejects.toThrow(EventStoreUnavailableError)
  }

  test('gives up a server that accepts calls and never answers', async () => {
    await using server = await ScriptedServer.start({})
    await expectUnavailable(server.url)
  })

  test('gives up a server that accepts connections and sends nothing', async () => {
    await using server = await startSilentServer()
    await expectUnavailable(`esdb://127.0.0.1:${server.port}?tls=false`)
  })

  test('gives up a server that closed its port', async () => {
    const { port } = await startSilentServer().then(async (server) => {
      await server[Symbol.asyncDispose]()
      return server
    })
    await expectUnavailable(`esdb://127.0.0.1:${port}?tls=false`)
  })

  test('gives up a cluster whose nodes do not answer', async () => {
    await using server = await startSilentServer()
    await expectUnavailable(`esdb://127.0.0.1:${server.port},localhost:${server.port}?tls=false`)
  })

  test('shares what the other one knows', async () => {
    const name = stream()
    await using server = await ScriptedServer.start({
      onRead: (call, number) => {
        if (number === 1) beginning(name)(call)
        call.end()
      },
    })
    await using store = await openTestStore({ url: server.url, catalogue, vault })
    const target = { fold, stream: name }
    expect((await store.load(target)).revision).toBe(2n)
    expect(store.within(short).presume(target).revision).toBe(2n)
    store.within(short).forgetStates()
    expect(store.presume(target).revision).toBe('no_stream')
  })
})
