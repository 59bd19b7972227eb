import { Client, credentials, Server, ServerCredentials, status, type StatusObject } from '@grpc/grpc-js'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, type ClientHttp2Session } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { httpEndpoints } from '../../operations/http-endpoints.ts'
import { Listener } from '../../operations/listener.ts'
import { startEventStore, type EventStoreNode } from '../../start.ts'

/** The beginning of a message of 30 MiB. */
const begun = Buffer.concat([Buffer.from([0, 0x01, 0xe0, 0x00, 0x00]), Buffer.alloc(1 << 16)])

describe('a message that is never whole', () => {
  let dataDir = ''
  let node: EventStoreNode
  let session: ClientHttp2Session

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
    node = await startEventStore({ dataDir, users: [{ login: 'alice', password: 'secret', groups: [] }] })
    const ca = await readFile(join(dataDir, 'tls', 'certificate.pem'))
    session = connect(`https://localhost:${node.port}`, { ca })
  })

  afterAll(async () => {
    session.destroy()
    await node.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  /** The status of a call whose message has only begun. */
  async function statusOf(method: string): Promise<unknown> {
    const call = session.request({
      ':method': 'POST',
      ':path': `/event_store.client.${method}`,
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    call.on('error', () => undefined).write(begun)
    let status: unknown
    call.on('response', (headers) => (status ??= headers['grpc-status']))
    call.on('trailers', (trailers) => (status ??= trailers['grpc-status']))
    call.resume()
    await expect.poll(() => status, { timeout: 10_000 }).toBeDefined()
    call.close()
    return status
  }

  test.each([
    'streams.Streams/BatchAppend',
    'streams.Streams/Append',
    'streams.Streams/Read',
    'streams.Streams/Delete',
    'persistent_subscriptions.PersistentSubscriptions/Read',
    'persistent_subscriptions.PersistentSubscriptions/Create',
  ])('is refused to %s without an account', async (method) => {
    expect(await statusOf(method)).toBe('7')
  })

  test.each(['gossip.Gossip/Read', 'server_features.ServerFeatures/GetSupportedMethods'])(
    'is not read by %s, which needs no account',
    async (method) => {
      expect(await statusOf(method)).toBe('0')
    },
  )
})

test('a request that says that it is longer than it is holds nobody up', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
  const node = await startEventStore({ dataDir })
  onTestFinished(async () => {
    client.close()
    await node.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  const client = new Client(`127.0.0.1:${node.port}`, credentials.createInsecure())
  const asIs = (bytes: Buffer) => bytes
  const statusOf = async (method: string): Promise<status> => {
    const ended = Promise.withResolvers<status>()
    const call = client.makeBidiStreamRequest(`/event_store.client.${method}`, asIs, asIs)
    call.on('error', () => undefined).on('status', ({ code }: StatusObject) => ended.resolve(code))
    call.resume().end(Buffer.from('0affffffff070a0012', 'hex'))
    return ended.promise
  }
  const groups = ['Create', 'Update', 'Delete', 'GetInfo', 'List', 'ReplayParked', 'Read']
  const methods = [
    ...['Read', 'Append', 'Delete', 'Tombstone'].map((name) => `streams.Streams/${name}`),
    ...groups.map((name) => `persistent_subscriptions.PersistentSubscriptions/${name}`),
  ]
  const answers = await Promise.all(methods.map(statusOf))
  expect(answers.filter((code) => code !== status.UNKNOWN && code !== status.INTERNAL)).toEqual([])
})

test.each(['GET /hea', 'GET'])('a request by HTTP that ends with %j closes its connection', async (text) => {
  const questions = httpEndpoints({}, undefined)
  questions.headersTimeout = 1
  questions.requestTimeout = 1
  const calls = new Server().createConnectionInjector(ServerCredentials.createInsecure())
  const listener = new Listener({ host: '127.0.0.1', port: 0, tls: undefined }, calls, questions)
  const socket = connectSocket(await listener.open(), '127.0.0.1')
  socket.resume().write(text)
  await once(socket, 'close')
  await listener.close()
})
