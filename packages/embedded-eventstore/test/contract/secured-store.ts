import { EventStoreDBClient } from '@eventstore/db-client'
import { UsersClient } from '@eventstore/db-client/generated/users_grpc_pb.js'
import users from '@eventstore/db-client/generated/users_pb.js'
import { Metadata, credentials } from '@grpc/grpc-js'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll } from 'vitest'
import { startEventStore } from '../../start.ts'
import { securedEventStoreUrl } from '../../testing/fresh-event-store.ts'

/** Alice is a doctor. Bob has no group. The operator may manage groups. The administrator may do everything. */
const ACCOUNTS = {
  admin: { login: 'admin', password: passwordIn(securedEventStoreUrl) ?? 'changeit', groups: ['$admins'] },
  operator: { login: 'contract-operator', password: 'of the operator', groups: ['$ops'] },
  alice: { login: 'contract-alice', password: 'of:Älice', groups: ['doctors', 'night shift'] },
  bob: { login: 'contract-bob', password: 'of Bob', groups: [] },
}
export type Account = keyof typeof ACCOUNTS

function passwordIn(url: string): string | undefined {
  return url === '' ? undefined : decodeURIComponent(new URL(url.replace('esdb:', 'http:')).password)
}

export type SecuredStore = {
  /** Connection string without credentials. */
  url: () => string
  /** The client of an account, or one without an account. */
  as: (account: Account | 'nobody') => EventStoreDBClient
  /** A client with the given credentials. */
  withCredentials: (login: string, password: string) => EventStoreDBClient
  /** A stream name of this run. */
  stream: (category?: string) => string
}

/** Starts a store with accounts before the tests of a file and stops it after them. */
export function securedStore(): SecuredStore {
  const clients = new Map<string, EventStoreDBClient>()
  let url = ''
  let stop = async (): Promise<void> => {}
  beforeAll(async () => {
    const running = securedEventStoreUrl === '' ? await embeddedNode() : await realServer(securedEventStoreUrl)
    url = running.url
    stop = running.stop
  })
  afterAll(async () => {
    for (const client of clients.values()) await client.dispose()
    await stop()
  })
  const connect = (userInfo: string): EventStoreDBClient => {
    const client =
      clients.get(userInfo) ?? EventStoreDBClient.connectionString(url.replace('esdb://', `esdb://${userInfo}`))
    clients.set(userInfo, client)
    return client
  }
  const withCredentials = (login: string, password: string): EventStoreDBClient =>
    connect(`${encodeURIComponent(login)}:${encodeURIComponent(password)}@`)
  return {
    url: () => url,
    as: (account) =>
      account === 'nobody' ? connect('') : withCredentials(ACCOUNTS[account].login, ACCOUNTS[account].password),
    withCredentials,
    stream: (category = 'secured') => `${category}-${randomUUID()}`,
  }
}

type Running = { url: string; stop: () => Promise<void> }

async function embeddedNode(): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), 'event-store-'))
  const node = await startEventStore({ dataDir: folder, users: Object.values(ACCOUNTS) })
  const stop = async (): Promise<void> => {
    await node.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return { url: node.url.replace(/\/\/[^@]*@/, '//'), stop }
}

/** Creates the accounts that the server does not have yet. */
async function realServer(given: string): Promise<Running> {
  const address = new URL(given.replace('esdb:', 'http:'))
  const certificate = readFileSync(address.searchParams.get('tlsCAFile') ?? '')
  const client = new UsersClient(address.host, credentials.createSsl(certificate))
  const { admin, ...others } = ACCOUNTS
  const metadata = new Metadata()
  metadata.set('authorization', `Basic ${Buffer.from(`${admin.login}:${admin.password}`).toString('base64')}`)
  for (const { login, password, groups } of Object.values(others)) {
    const options = new users.CreateReq.Options()
      .setLoginName(login)
      .setPassword(password)
      .setFullName(login)
      .setGroupsList(groups)
    await new Promise<void>((resolve, reject) => {
      client.create(new users.CreateReq().setOptions(options), metadata, (error) => {
        if (error === null || error.details.includes('conflict')) resolve()
        else reject(error)
      })
    })
  }
  client.close()
  return { url: given.replace(/\/\/.*@/, '//'), stop: async () => {} }
}
