import { createServer } from 'node:http2'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { status } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { selfSignedCertificate } from 'embedded-eventstore/self-signed'
import { cutConnection } from 'embedded-eventstore/cut-connection'
import { AppendOutcomeUnknownError, EventStoreUnavailableError } from '../../../engine/store/errors.ts'
import { startOfLog } from '../../../platform/kit/positions.ts'
import { newContext, noted, openTestStore, until, untilItRests, visitCategory } from './fixtures.ts'
import {
  notLeader,
  ScriptedServer,
  unavailable,
  type GossipMember,
  type ReadCall,
  type Script,
} from './scripted-server.ts'
import { appended, confirmation, timedOut } from './wire-messages.ts'

const { catalogue, fold, stream } = visitCategory()
const patient = { catalogue, appendTimeoutMs: 60_000, appendBudgetMs: 60_000 }
const accept: NonNullable<Script['onAppend']> = (request, call, number) => call.write(appended(request, 0, 10 * number))

/** A connection string with the servers as seeds. */
function clusterOf(...seeds: readonly { readonly port: number }[]): string {
  return `esdb://${seeds.map(({ port }) => `127.0.0.1:${port}`).join(',')}?tls=false`
}

/** Two nodes. `members` decides what both answer as gossip: undefined fails the question. */
async function twoNodes(
  members: (ports: readonly [number, number]) => readonly GossipMember[] | undefined,
  other: Script,
) {
  const onGossip = () => members([first.port, second.port])
  const first: ScriptedServer = await ScriptedServer.start({ onAppend: accept, ...other, onGossip })
  const second: ScriptedServer = await ScriptedServer.start({ onAppend: accept, ...other, onGossip })
  const nodes = { first, second, url: clusterOf(first, second) }
  return Object.assign(nodes, {
    [Symbol.asyncDispose]: async () => {
      await first[Symbol.asyncDispose]()
      await second[Symbol.asyncDispose]()
    },
  })
}

describe('a cluster without a node to connect to', () => {
  test('is asked until a node leads: an append waits, and a subscription resumes', async () => {
    let hasLeader = true
    const subscribed: ReadCall[] = []
    await using nodes = await twoNodes(
      ([port, other]) =>
        hasLeader
          ? [
              { port, state: 'LEADER' },
              { port: other, state: 'FOLLOWER' },
            ]
          : undefined,
      {
        onRead: (call) => {
          subscribed.push(call)
          call.write(confirmation())
        },
      },
    )
    await using store = await openTestStore({ ...patient, url: nodes.url })
    const following = ['one', 'two'].map((name) =>
      store.subscribeToStream({
        name,
        stream: `${stream()}-${name}`,
        fromRevision: 'start',
        onEvent: () => undefined,
        signal: new AbortController().signal,
      }),
    )
    await until(() => following.every((each) => each.stats().connected))

    hasLeader = false
    for (const call of subscribed.splice(0)) unavailable(call)
    const asked = nodes.first.gossipQuestions
    const appending = store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    // The official client gives up after ten questions and ends the process.
    await until(() => nodes.first.gossipQuestions > asked + 24)
    expect(following.map((each) => each.stats().connected)).toEqual([false, false])
    hasLeader = true

    expect(await appending).toMatchObject({ revision: 0n })
    await until(() => following.every((each) => each.stats().connected))
  })

  test('is asked for a leader, whatever its followers could answer', async () => {
    let leader: 'LEADER' | 'UNKNOWN' = 'UNKNOWN'
    await using nodes = await twoNodes(
      ([port, other]) => [
        { port, state: leader },
        { port: other, state: 'FOLLOWER' },
      ],
      {},
    )
    await using store = await openTestStore({ ...patient, url: nodes.url })
    const appending = store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    await until(() => nodes.first.gossipQuestions > 4)
    expect([nodes.first.appends, nodes.second.appends]).toEqual([[], []])
    leader = 'LEADER'
    await appending
    expect([nodes.first.appends.length, nodes.second.appends.length]).toEqual([1, 0])
  })

  test('costs a caller a limited time', async () => {
    await using nodes = await twoNodes(() => undefined, {})
    await using store = await openTestStore({ catalogue, appendTimeoutMs: 200, appendBudgetMs: 300, url: nodes.url })
    await expect(store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())).rejects.toThrow(
      'unknown after',
    )
  })

  test('is waited for by nobody once the program stops', async () => {
    let hasLeader = true
    const subscribed: ReadCall[] = []
    await using nodes = await twoNodes(([port]) => (hasLeader ? [{ port, state: 'LEADER' }] : undefined), {
      onRead: (call) => {
        subscribed.push(call)
        call.write(confirmation())
      },
    })
    const store = await openTestStore({ ...patient, readBudgetMs: 60_000, url: nodes.url })
    const { signal } = new AbortController()
    const following = store.subscribeToStream({
      name: 'one',
      stream: stream(),
      fromRevision: 'start',
      onEvent: () => undefined,
      signal,
    })
    await until(() => following.stats().connected)

    hasLeader = false
    for (const call of subscribed.splice(0)) unavailable(call)
    await until(() => following.stats().restarts > 0)
    const asked = nodes.first.gossipQuestions
    const appending = store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    const loading = store.load({ fold, stream: stream() })
    await until(() => nodes.first.gossipQuestions > asked + 1)
    const askedAtStop = nodes.first.gossipQuestions
    store.hurry(0)
    await expect(appending).rejects.toThrow(AppendOutcomeUnknownError)
    await expect(loading).rejects.toThrow(EventStoreUnavailableError)
    await store.close()
    // A wait lasts ten seconds, with at least one question a second.
    expect(nodes.first.gossipQuestions - askedAtStop).toBeLessThan(5)
  })

  test('is waited for within the time of a stop', async () => {
    let hasLeader = false
    await using nodes = await twoNodes(([port]) => (hasLeader ? [{ port, state: 'LEADER' }] : undefined), {})
    await using store = await openTestStore({ ...patient, url: nodes.url })
    const appending = store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    await until(() => nodes.first.gossipQuestions > 1)
    store.hurry(60_000)
    hasLeader = true
    expect(await appending).toMatchObject({ revision: 0n })
  })

  test('leaves no connection behind', async () => {
    await using node = await ScriptedServer.start({
      onAppend: accept,
      onGossip: () => [{ port: portOf(seed.url), state: 'LEADER' }],
    })
    const seed = await cutConnection(node.url)
    const other = await cutConnection(node.url)
    seed.refuse(true)
    other.refuse(true)
    await using store = await openTestStore({
      ...patient,
      url: clusterOf({ port: portOf(seed.url) }, { port: portOf(other.url) }),
    })
    const appending = store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    await until(() => seed.refused() > 2 && other.refused() > 2)
    seed.refuse(false)
    other.refuse(false)
    await appending
    await untilItRests(() => seed.connections() + other.connections())
    expect([seed.connections(), other.connections()]).toEqual([1, 0])
    await seed.close()
    await other.close()
  })
})

describe('a leader that answers nothing', () => {
  test('has a second for the calls of a program that stops', async () => {
    await using node = await ScriptedServer.start({})
    await using store = await openTestStore({ ...patient, readBudgetMs: 60_000, url: node.url })
    const append = () => store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    const load = () => store.load({ fold, stream: stream() })
    const log = () => store.readStoredLog({ at: startOfLog }).next()
    const earlier = [append(), load(), log()]
    await until(() => node.appends.length === 1 && node.reads.length === 2)
    store.hurry(0)
    const reasons = async (calls: readonly Promise<unknown>[]) =>
      (await Promise.allSettled(calls)).map((call) => call.status === 'rejected' && String(call.reason))
    const refused = [
      expect.stringContaining('unknown after 1 attempts'),
      expect.stringContaining('did not answer'),
      expect.stringContaining('did not answer'),
    ]
    expect(await reasons(earlier)).toEqual(refused)
    expect(await reasons([append(), load(), log()])).toEqual(refused)
  })

  test('is waited for if it answers within that second', async () => {
    await using node = await ScriptedServer.start({
      onAppend: (request, call, number) => void setTimeout(() => accept(request, call, number), 100),
    })
    await using store = await openTestStore({ ...patient, url: node.url })
    store.hurry(0)
    const appending = store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    expect(await appending).toMatchObject({ revision: 0n })
  })

  test('is heard after a standstill of the program, if it answered before', async () => {
    await using node = await ScriptedServer.start({
      onAppend: (request, call, number) => {
        accept(request, call, number)
        // The answer leaves, and is not read before the second is over.
        setImmediate(() => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200))
      },
    })
    await using store = await openTestStore({ ...patient, url: node.url })
    store.hurry(0)
    const appending = store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    expect(await appending).toMatchObject({ revision: 0n })
  })
})

describe('a leader that hangs', () => {
  test('is left after one try: the repeat goes to the leader that gossip names, with the same ids', async () => {
    let leads = 0
    await using nodes = await twoNodes(
      (ports) => ports.map((port, index) => ({ port, state: index === leads ? 'LEADER' : 'FOLLOWER' })),
      {
        onAppend: (request, call, number) => {
          if (leads === 0) leads = 1
          else call.write(appended(request, 8, 10 * number))
        },
      },
    )
    await using store = await openTestStore({ ...patient, appendTimeoutMs: 2_000, url: nodes.url })
    expect(await store.append({ fold, stream: stream() }, 7n, [noted(1)], newContext())).toMatchObject({ revision: 8n })
    const [first, second] = [nodes.first.appends, nodes.second.appends]
    expect([first.length, second.length]).toEqual([1, 1])
    expect([second[0]?.ids, second[0]?.expected]).toEqual([first[0]?.ids, '7'])
  })

  test('is left too if its network drops all bytes', async () => {
    await using node = await ScriptedServer.start({ onAppend: accept })
    const relay = await cutConnection(node.url)
    await using store = await openTestStore({ ...patient, appendTimeoutMs: 300, url: relay.url })
    await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    relay.freeze()
    await store.append({ fold, stream: stream() }, 'no_stream', [noted(2)], newContext())
    expect(node.appends).toHaveLength(2)
    expect(new Set(node.appends.map(({ peer }) => peer)).size).toBe(2)
    await relay.close()
  })

  test('is kept if it answers other appends: it is only slow', async () => {
    await using node = await ScriptedServer.start({
      onAppend: (request, call, number) => (number === 1 ? undefined : accept(request, call, number)),
    })
    await using store = await openTestStore({ ...patient, appendTimeoutMs: 500, url: node.url })
    const slow = store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
    await until(() => node.appends.length === 1)
    await store.append({ fold, stream: stream() }, 'no_stream', [noted(2)], newContext())
    await slow
    expect(new Set(node.appends.map(({ peer }) => peer)).size).toBe(1)
  })
})

describe('a node that leads', () => {
  test('is kept if it answers other reads: it is only slow', async () => {
    await using node = await ScriptedServer.start({ onRead: (call, number) => void (number > 1 && call.end()) })
    await using store = await openTestStore({ ...patient, readBudgetMs: 60_000, url: node.url })
    const slow = store.within({ readBudgetMs: 2_000 }).load({ fold, stream: stream() })
    await until(() => node.reads.length === 1)
    await store.load({ fold, stream: stream() })
    await expect(slow).rejects.toThrow(EventStoreUnavailableError)
    await store.load({ fold, stream: stream() })
    expect(new Set(node.readPeers).size).toBe(1)
  })

  test('is kept if an append or a read without an answer had little time left', async () => {
    let isSlow = true
    const late = (answer: () => void) => setTimeout(answer, 700)
    await using node = await ScriptedServer.start({
      onAppend: (request, call, number) => {
        if (!isSlow) accept(request, call, number)
        else if (number === 1) late(() => call.write(timedOut(request)))
      },
      onRead: (call, number) => {
        if (!isSlow) call.end()
        else if (number === 1) late(() => call.emit('error', { code: status.ABORTED, details: 'try again' }))
      },
    })
    await using store = await openTestStore({ ...patient, readBudgetMs: 60_000, url: node.url })
    const target = { fold, stream: stream() }
    const brief = store.within({ appendBudgetMs: 1_000, readBudgetMs: 1_000 })
    await Promise.all([
      expect(brief.append(target, 'no_stream', [noted(1)], newContext())).rejects.toThrow(AppendOutcomeUnknownError),
      expect(brief.load(target)).rejects.toThrow(EventStoreUnavailableError),
    ])
    isSlow = false
    await store.append(target, 'no_stream', [noted(1)], newContext())
    await store.load({ fold, stream: stream() })
    expect(new Set([...node.appends.map(({ peer }) => peer), ...node.readPeers]).size).toBe(1)
  })
})

test('sixty changes of the node leave one append call and two connections', async () => {
  const rounds = 60
  await using node = await ScriptedServer.start({
    onAppend: (request, call, number) => (number % 2 === 1 ? unavailable(call) : accept(request, call, number)),
    onRead: (call) => call.write(confirmation()),
  })
  const relay = await cutConnection(node.url)
  await using store = await openTestStore({ ...patient, url: relay.url })
  const following = store.subscribeToStream({
    name: 'following',
    stream: stream(),
    fromRevision: 'start',
    onEvent: () => undefined,
    signal: new AbortController().signal,
  })
  await until(() => following.stats().connected)
  for (let round = 1; round <= rounds; round += 1) {
    await store.append({ fold, stream: stream() }, 'no_stream', [noted(round)], newContext())
  }
  await untilItRests(() => node.openAppendCalls + relay.connections())
  expect(node.appends).toHaveLength(2 * rounds)
  expect(node.openAppendCalls).toBe(1)
  expect(relay.connections()).toBe(2)
  expect(following.stats().restarts).toBe(0)
  await relay.close()
})

test('a node that is no leader names the leader, and the append goes there', async () => {
  await using leader = await ScriptedServer.start({ onAppend: accept })
  await using follower = await ScriptedServer.start({ onAppend: (_, call) => notLeader(call, leader.port) })
  await using store = await openTestStore({ ...patient, url: follower.url })
  await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
  expect([follower.appends.length, leader.appends.length]).toEqual([1, 1])
})

test('a node that knows no leader is left, and the process goes on', async () => {
  await using node = await ScriptedServer.start({
    onAppend: (request, call, number) => (number === 1 ? notLeader(call) : accept(request, call, number)),
    onRead: (call, number) => (number === 1 ? notLeader(call) : call.end()),
  })
  await using store = await openTestStore({ ...patient, url: node.url })
  await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext())
  expect(await store.load({ fold, stream: stream() })).toMatchObject({ revision: 'no_stream' })
  expect(new Set([...node.appends.map(({ peer }) => peer), ...node.readPeers]).size).toBeGreaterThan(2)
})

describe('requests', () => {
  test('accept no compression', async () => {
    const accepted = new Map<string, unknown>()
    const server = createServer((request) => accepted.set(request.url, request.headers['grpc-accept-encoding']))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const url = `127.0.0.1:${port}`
    await using single = await openTestStore({
      catalogue,
      // Longer than a busy machine takes to connect: nothing is sent later.
      appendBudgetMs: 30_000,
      readBudgetMs: 30_000,
      url: `esdb://${url}?tls=false`,
    })
    await using cluster = await openTestStore({
      catalogue,
      appendBudgetMs: 50,
      url: `esdb+discover://${url}?tls=false`,
    })
    for (const store of [single, cluster]) {
      store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext()).catch(() => undefined)
      store.load({ fold, stream: stream() }).catch(() => undefined)
    }
    await until(() => accepted.size === 3)
    const path = '/event_store.client'
    expect(Object.fromEntries(accepted)).toEqual({
      [`${path}.streams.Streams/BatchAppend`]: 'identity',
      [`${path}.streams.Streams/Read`]: 'identity',
      [`${path}.gossip.Gossip/Read`]: 'identity',
    })
    server.close()
  })

  test('name no IP address as the server of a TLS connection', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'node-connection-'))
    const { certificate, key } = selfSignedCertificate(['127.0.0.1', 'localhost'])
    const caFile = join(folder, 'ca.pem')
    await writeFile(caFile, certificate)
    const names: unknown[] = []
    const server = createTlsServer({ key, cert: certificate, ALPNProtocols: ['h2'] }, (socket: TLSSocket) => {
      names.push(socket.servername)
      socket.on('error', () => undefined).destroy()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const host of ['127.0.0.1', 'localhost']) {
      const url = `esdb://${host}:${port}?tlsCAFile=${encodeURIComponent(caFile)}`
      await using store = await openTestStore({ catalogue, appendTimeoutMs: 500, appendBudgetMs: 50, url })
      const before = names.length
      // On a busy machine an append may end before its connection has begun.
      while (names.length === before)
        await store.append({ fold, stream: stream() }, 'no_stream', [noted(1)], newContext()).catch(() => undefined)
    }
    expect(new Set(names)).toEqual(new Set([false, 'localhost']))
    server.close()
    await rm(folder, { recursive: true })
  })
})

function portOf(url: string): number {
  return Number(new URL(url.replace('esdb:', 'http:')).port)
}
