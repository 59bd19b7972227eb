import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startEventStore, type EventStoreNode, type EventStoreNodeOptions } from '../../start.ts'
import { collect, counted, failure } from '../contract/contract-store.ts'

const DENIED = { type: 'access-denied' }
const users = [
  { login: 'owner', password: 'of the owner', groups: ['$admins'] },
  { login: 'operator', password: 'of the operator', groups: ['$ops'] },
  { login: 'alice', password: 'of alice', groups: [] },
]
const owner = { $r: ['owner'], $w: ['owner'], $d: ['owner'], $mr: ['owner'], $mw: ['owner'] }
const closed = { $userStreamAcl: owner, $systemStreamAcl: owner }

let folder = ''
let running: EventStoreNode | undefined
const clients: EventStoreDBClient[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'event-store-'))
})

afterEach(async () => {
  await stop()
  await rm(folder, { recursive: true, force: true })
})

async function start(options: Partial<EventStoreNodeOptions> = {}): Promise<EventStoreNode> {
  running = await startEventStore({ dataDir: join(folder, 'data'), users, ...options })
  return running
}

async function stop(): Promise<void> {
  for (const client of clients.splice(0)) await client.dispose()
  await running?.stop()
  running = undefined
}

function as(login: string): EventStoreDBClient {
  const { password = '' } = users.find((user) => user.login === login) ?? {}
  const url = running?.url.replace(/\/\/[^@]*@/, `//${login}:${encodeURIComponent(password)}@`) ?? ''
  const client = EventStoreDBClient.connectionString(url)
  clients.push(client)
  return client
}

const settingsEvents = async (): Promise<unknown[]> =>
  (await collect(as('owner').readStream('$settings'))).map(({ event }) => event?.data)

test('settings close the streams of an older folder before the first call', async () => {
  await start()
  await as('alice').appendToStream('a-1', counted(0))
  await stop()
  await start({ settings: closed })
  expect(await failure(collect(as('alice').readStream('a-1')))).toMatchObject(DENIED)
  expect(await failure(as('alice').appendToStream('a-2', counted(0)))).toMatchObject(DENIED)
  expect(await collect(as('owner').readStream('a-1'))).toHaveLength(1)
})

test('settings are written once, again after a change by others, and anew with other content', async () => {
  await start({ settings: closed })
  await stop()
  await start({ settings: closed })
  expect(await settingsEvents()).toEqual([closed])
  const open = { $userStreamAcl: { $r: ['$all'] }, $systemStreamAcl: {} }
  await as('owner').appendToStream('$settings', jsonEvent({ type: '$settings', data: open }))
  await stop()
  await start({ settings: closed })
  expect(await settingsEvents()).toEqual([closed, open, closed])
  await stop()
  await start({ settings: open })
  expect(await settingsEvents()).toEqual([closed, open, closed, open])
  await stop()
  await start()
  expect(await settingsEvents()).toEqual([closed, open, closed, open])
})

test('a start that cannot write its settings is refused', async () => {
  await start()
  await as('owner').tombstoneStream('$settings')
  await stop()
  await expect(start({ settings: closed })).rejects.toThrow('the stream $settings cannot be written (deleted)')
})

test('settings need accounts', async () => {
  await expect(startEventStore({ dataDir: join(folder, 'open'), settings: closed })).rejects.toThrow('--settings needs')
})

test('the statistics are for operators and administrators', async () => {
  const { port } = await start()
  const ca = await readFile(join(folder, 'data', 'tls', 'certificate.pem'))
  const statusFor = ({ login, password }: { login: string; password: string }): Promise<unknown> =>
    new Promise((resolve, reject) => {
      get(`https://localhost:${port}/stats`, { ca, agent: false, auth: `${login}:${password}` }, (response) => {
        resolve(response.resume().statusCode)
      }).on('error', reject)
    })
  const statuses = await Promise.all(users.map(async (user) => [user.login, await statusFor(user)]))
  expect(Object.fromEntries(statuses)).toEqual({ owner: 200, operator: 200, alice: 403 })
})

test('a copy of the certificate is readable for every user, whatever the umask is, and the key for the owner only', async () => {
  const copy = join(folder, 'for all', 'eventstore.pem')
  const umask = process.umask(0o077)
  try {
    await start({ readableCertificate: copy })
  } finally {
    process.umask(umask)
  }
  expect(await as('owner').appendToStream('a-1', counted(0))).toMatchObject({ success: true })
  expect(new URL(running?.url ?? '').searchParams.get('tlsCAFile')).toBe(copy)
  const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8)
  expect([await modeOf(copy), await modeOf(join(folder, 'for all'))]).toEqual(['644', '755'])
  expect(await readFile(copy, 'utf8')).not.toContain('PRIVATE')
  expect(await modeOf(join(folder, 'data', 'tls', 'key.pem'))).toBe('600')
  expect(await modeOf(join(folder, 'data'))).toBe('700')
})
