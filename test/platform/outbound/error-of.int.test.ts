import { createServer } from 'node:http'
import { connect, createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { Client as GrpcClient, credentials } from '@grpc/grpc-js'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { errorOf } from '../../../platform/outbound/error-of.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createPool } from '../../../platform/database/database.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

const portOf = (server: Server) => (server.address() as AddressInfo).port
async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return portOf(server)
}
const closed = (server: Server) => new Promise<void>((resolve) => void server.close(() => resolve()))
const egressTo = (base: string) =>
  createEgress({
    configuration: loadConfiguration({
      PROVIDER_BASE_URL: base,
      PROVIDER_LOGIN: 'login',
      PROVIDER_PASSWORD: 'password',
    }),
  })
/** The error of work that must fail. */
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable('it did not fail'),
    (error: unknown) => errorOf(error),
  )

let database: FreshDatabase
/** A port that refuses connections. */
let closedPort: number
const silent = createTcpServer((socket) => void socket.on('error', () => undefined).resume())
/** Answers with 503, and with a name that a server chose. */
const unwell = createServer((_, response) =>
  response
    .writeHead(503, { 'content-type': 'application/xml' })
    .end('<Error><Code>Canary</Code><Message>canary</Message></Error>'),
)
const mailServer = createTcpServer((socket) => void socket.resume().end('554 5.3.2 canary\r\n'))

beforeAll(async () => {
  database = await freshDatabase()
  const server = createTcpServer()
  closedPort = await listening(server)
  await closed(server)
  await Promise.all([silent, unwell, mailServer].map(listening))
})
afterAll(async () => {
  unwell.closeAllConnections()
  await Promise.all([silent, unwell, mailServer].map(closed))
  await database.drop()
})

describe('the error that operators see', () => {
  it('has the host and the errno of a call that was refused, or its time limit', async () => {
    const base = `http://127.0.0.1:${closedPort}`
    const egress = egressTo(base)
    const call = { purpose: 'provider', timeoutMs: 100, maxBytes: 100 } as const
    expect(await failureOf(egress.request(`${base}/canary?canary=1`, call))).toEqual({
      class: 'EgressError',
      code: 'ECONNREFUSED',
      host: `127.0.0.1:${closedPort}`,
    })
    await egress.close()
    const hanging = `http://127.0.0.1:${portOf(silent)}`
    const other = egressTo(hanging)
    expect(await failureOf(other.request(hanging, call))).toMatchObject({ class: 'EgressError', code: 'timeout' })
    await other.close()
  })

  it('has the SQLSTATE of Postgres', async () => {
    const pool = createPool({ url: database.url, max: 1, name: 'test' })
    expect(await failureOf(pool.query(`select 'canary' from canary`))).toEqual({
      class: 'DatabaseError',
      code: '42P01',
      host: null,
    })
    await pool.end()
  })

  it('has the status of gRPC, SMTP and S3', async () => {
    const client = new GrpcClient(`127.0.0.1:${closedPort}`, credentials.createInsecure())
    const called = new Promise((resolve, reject) => {
      const nothing = () => Buffer.alloc(0)
      client.makeUnaryRequest('/a/b', nothing, nothing, {}, (error, value) => (error ? reject(error) : resolve(value)))
    })
    expect(await failureOf(called)).toMatchObject({ code: '14' })
    client.close()

    const mails = createTransport({ host: '127.0.0.1', port: portOf(mailServer) })
    expect(await failureOf(mails.verify())).toMatchObject({ class: 'Error', code: '554' })
    mails.close()

    const objects = connectObjectStore({
      endpoint: `http://127.0.0.1:${portOf(unwell)}`,
      region: 'local',
      bucket: 'canary',
      accessKeyId: 'canary',
      secretAccessKey: 'canary',
      now: () => new Date(),
    })
    expect(await failureOf(objects.get('canary'))).toMatchObject({ code: '503' })
    expect(await failureOf(objects.head('canary'))).toEqual({ class: 'Problem', code: '503', host: null })
    objects.close()
  })

  it('has the errno of a socket', async () => {
    const refused = new Promise((resolve, reject) => {
      connect(closedPort, '127.0.0.1').once('connect', resolve).once('error', reject)
    })
    expect(await failureOf(refused)).toEqual({
      class: 'Error',
      code: 'ECONNREFUSED',
      host: `127.0.0.1:${closedPort}`,
    })
  })

  it('shows no text of others', () => {
    const hostile = Object.assign(new TypeError('canary'), {
      code: 'a canary of 1990-01-01',
      host: 'canary/?canary',
      status: 'canary',
    })
    expect(errorOf(hostile)).toEqual({ class: 'TypeError', code: null, host: null })
    expect(errorOf(Object.assign(new Error('canary'), { constructor: { name: 'canary of a name' } }))).toEqual({
      class: 'Error',
      code: null,
      host: null,
    })
    expect(errorOf('canary')).toEqual({ class: 'NoError', code: null, host: null })
    expect(errorOf(new DOMException('canary', 'TimeoutError'))).toMatchObject({ code: 'timeout' })
    const causes = new Error('first')
    causes.cause = causes
    expect(errorOf(causes)).toEqual({ class: 'Error', code: null, host: null })
  })
})
