import {
  AccessDeniedError,
  BACKWARDS,
  END,
  EventStoreDBClient,
  START,
  UnavailableError,
  jsonEvent,
  persistentSubscriptionToStreamSettingsFromDefaults,
} from '@eventstore/db-client'
import { readdir, readFile, stat } from 'node:fs/promises'
import { get } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { createConsentTerms, registerPatient } from '../../support/main-job.ts'
import { descendantsOf, type ChildProcess } from './child-processes.ts'
import { projections } from './projections-command.ts'
import { eventsOf, eventsOfAll, type RecordedFact } from './recorded-events.ts'

/** Secrets of the platform's environment. No local server may get them. */
const secrets = {
  ADMIN_API_SECRET: 'an administrator secret of 32 or more'.replaceAll(' ', '-'),
  MASTER_KEYS: `first:${Buffer.alloc(32, 9).toString('base64')}`,
  SERVICE_CLIENT_ID: '0190b0a0-0000-7000-8000-00000000000c',
  SERVICE_CLIENT_SECRET: 'a-service-client-secret-of-32-or-more',
  AWS_SECRET_ACCESS_KEY: 'a-secret-of-the-cloud-account',
  UNKNOWN_TOOL_TOKEN: 'a-token-of-another-program',
}

let platform: TestPlatform
let url = ''
let facts: readonly RecordedFact[]

beforeAll(async () => {
  platform = await startTestPlatform({
    ownPostgres: true,
    env: { ...secrets, ESDB_URL: '', DATABASE_URL: '', VAULT_DATABASE_URL: '' },
  })
  url = platform.process.credentials.eventstore_url ?? ''
  await createConsentTerms(await platform.connect(), platform.process.credentials.org_id)
  facts = await eventsOfAll(url)
})

afterAll(() => platform.stop())

test('the official client reads the log with an unchanged eventstore_url', () => {
  expect(facts.map(({ type }) => type)).toContain('ConsentTextVersionPublished')
})

/** The address with another account, or without one. */
function urlAs(account: string): string {
  return url.replace(/\/\/.*@/, account === '' ? '//' : `//${account}@`)
}

/** All calls of the client on the log and its groups. */
const calls: Record<string, (client: EventStoreDBClient, stream: string) => Promise<unknown>> = {
  readAll: (client) => drained(client.readAll({ fromPosition: START })),
  'readAll backwards': (client) => drained(client.readAll({ fromPosition: END, direction: BACKWARDS, maxCount: 1 })),
  readStream: (client, stream) => drained(client.readStream(stream)),
  subscribeToAll: (client) => drained(client.subscribeToAll()),
  subscribeToStream: (client, stream) => drained(client.subscribeToStream(stream)),
  append: (client, stream) => client.appendToStream(stream, forged),
  'append with credentials of its own': (client, stream) =>
    client.appendToStream(stream, forged, { credentials: { username: 'admin', password: 'changeit' } }),
  delete: (client, stream) => client.deleteStream(stream),
  tombstone: (client, stream) => client.tombstoneStream(stream),
  'read of metadata': (client, stream) => client.getStreamMetadata(stream),
  'write of metadata': (client, stream) => client.setStreamMetadata(stream, { maxCount: 1 }),
  'write of access lists': (client) =>
    client.appendToStream('$settings', jsonEvent({ type: 'update', data: { $userStreamAcl: { $r: '$all' } } })),
  'group on a stream': (client, stream) =>
    client.createPersistentSubscriptionToStream(
      stream,
      'strangers',
      persistentSubscriptionToStreamSettingsFromDefaults(),
    ),
  'list of groups': (client) => client.listAllPersistentSubscriptions(),
  'description of a group': (client, stream) => client.getPersistentSubscriptionToStreamInfo(stream, 'strangers'),
  'delete of a group': (client, stream) => client.deletePersistentSubscriptionToStream(stream, 'strangers'),
  'replay of a group': (client, stream) => client.replayParkedMessagesToStream(stream, 'strangers'),
  'restart of groups': (client) => client.restartPersistentSubscriptionSubsystem(),
  'consuming from a group': (client, stream) =>
    drained(client.subscribeToPersistentSubscriptionToStream(stream, 'strangers')),
}
const forged = jsonEvent({ type: 'Forged', data: {} })

/** Resolves to the first event of a read, or rejects with its error. */
async function drained(reading: AsyncIterable<unknown>): Promise<unknown> {
  for await (const first of reading) return first
  return undefined
}

/**
 * Makes all calls in sequence, because a refused append can end other appends of the process. Returns their outcomes.
 */
async function outcomes(address: string): Promise<Record<string, unknown>> {
  const made: Record<string, unknown> = {}
  for (const [name, call] of Object.entries(calls)) {
    const client = EventStoreDBClient.connectionString(address)
    made[name] = await call(client, facts[0]?.stream ?? '').then((result) => ({ result }), outcomeOf)
    await client.dispose()
  }
  return made
}

/** The client returns some errors of gRPC unchanged. */
function outcomeOf(error: unknown): unknown {
  if (error instanceof AccessDeniedError) return 'denied'
  const isUnavailable =
    error instanceof UnavailableError || (error instanceof Error && 'code' in error && error.code === 14)
  return isUnavailable ? 'unavailable' : error
}

function all(outcome: string): Record<string, unknown> {
  return Object.fromEntries(Object.keys(calls).map((name) => [name, outcome]))
}

test.each([
  ['nobody', ''],
  ['the account with a wrong password', 'platform:guess'],
  ['the default administrator of EventStoreDB', 'admin:changeit'],
  ['the default operator of EventStoreDB', 'ops:changeit'],
])('over TLS, every call with %s is refused', async (_who, account) => {
  expect(await outcomes(urlAs(account))).toEqual(all('denied'))
})

test('in the clear, no call reaches the node', async () => {
  expect(await outcomes(`esdb://${new URL(url).host}?tls=false`)).toEqual(all('unavailable'))
})

test('the refused calls did not change the log', async () => {
  const client = EventStoreDBClient.connectionString(url)
  const streams = new Set<string>()
  for await (const { event } of client.readAll())
    if (event !== undefined) streams.add(`${event.streamId} ${event.type}`)
  await client.dispose()
  expect([...streams].filter((entry) => entry.startsWith('$') && !/^\$\$[^$]/.test(entry))).toEqual([
    // Of the start.
    '$settings $settings',
  ])
  expect([...streams].filter((entry) => entry.includes('Forged') || entry.includes('strangers'))).toEqual([])
})

/** Sends a request to the node over HTTPS. */
async function ask(path: string, auth?: string): Promise<{ status: number | undefined; body: string }> {
  const ca = await readFile(new URL(url).searchParams.get('tlsCAFile') ?? '')
  return new Promise((resolve, reject) => {
    get(
      `https://${new URL(url).host}${path}`,
      { ca, agent: false, ...(auth === undefined ? {} : { auth }) },
      (response) => {
        text(response).then((body) => resolve({ status: response.statusCode, body }), reject)
      },
    ).on('error', reject)
  })
}

describe('by HTTP', () => {
  test.each([
    ['/health/live', 200],
    ['/info', 200],
    ['/stats', 401],
    ['/ping', 200],
    ['/gossip', 404],
    ['/', 404],
    ['/streams/$all', 404],
    ['/users', 404],
    ['/admin/shutdown', 404],
  ])('%s without an account is %i, and contains nothing of the log', async (path, status) => {
    const answer = await ask(path)
    expect(answer.status).toBe(status)
    for (const name of ['streams', 'events', 'bytes', 'subscriptions', 'connections', facts[0]?.stream ?? ''])
      expect(answer.body).not.toContain(`"${name}"`)
  })

  test('the statistics need the account', async () => {
    const { username, password } = new URL(url)
    expect((await ask('/stats', `${username}:guess`)).status).toBe(401)
    expect((await ask('/stats', 'admin:changeit')).status).toBe(401)
    expect(JSON.parse((await ask('/stats', `${username}:${password}`)).body)).toMatchObject({
      events: expect.any(Number),
    })
  })

  test('there is no answer in the clear', async () => {
    await expect(fetch(`http://${new URL(url).host}/info`)).rejects.toThrow('fetch failed')
  })
})

test.each(['platform', 'postgres'])('Postgres requires the password of %s', async (database) => {
  const address = new URL(platform.process.credentials.database_url ?? '')
  address.pathname = database
  for (const password of ['guess', 'postgres']) {
    address.password = password
    const client = new Client({ connectionString: address.href })
    await expect(client.connect()).rejects.toThrow('password authentication failed')
  }
})

describe('the local servers', () => {
  let children: readonly ChildProcess[]

  beforeAll(async () => {
    children = await descendantsOf(platform.process.pid)
  })

  test('are all found', () => {
    for (const server of ['embedded-eventstore', 'embedded/postgres', 'embedded/stand-ins']) {
      expect(children.map(({ command }) => command)).toContainEqual(expect.stringContaining(`${server}/main.ts`))
    }
  })

  test('have no secret in their arguments', async () => {
    const known = await knownSecrets()
    const commands = (await descendantsOf(platform.process.pid)).map(({ command }) => command)
    expect(commands.filter((command) => known.some((secret) => command.includes(secret)))).toEqual([])
  })

  test('have only needed variables in their environment, and no secret but their own password', async () => {
    const own: Readonly<Record<string, readonly string[]>> = {
      postgres: ['POSTGRES_PASSWORD', 'POSTGRES_ROLE_PASSWORDS'],
      'stand-ins': [
        'S3_ACCESS_KEY_ID',
        'S3_SECRET_ACCESS_KEY',
        'PROVIDER_LOGIN',
        'PROVIDER_PASSWORD',
        'PROVIDER_CONTROL_SECRET',
        'RECEIVERS_SMTP_PASSWORD',
        'RECEIVERS_BOT_TOKEN',
        'RECEIVERS_READ_SECRET',
        'RECEIVERS_CONTROL_SECRET',
      ],
    }
    const inherited = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'LANG', 'LC_ALL', 'TZ', 'NODE_COMPILE_CACHE']
    for (const { pid, command } of children) {
      const names = (await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''))
        .split('\0')
        .map((entry) => entry.split('=')[0] ?? '')
      // PostgreSQL and the shell that ends it add two variables.
      const others = names.filter(
        (name) => name !== '' && !inherited.includes(name) && !['PWD', 'PG_GRANDPARENT_PID'].includes(name),
      )
      const [, server = ''] = /embedded\/([a-z-]+)\/main\.ts/.exec(command) ?? []
      expect({ command, others: others.filter((name) => own[server]?.includes(name) !== true) }).toEqual({
        command,
        others: [],
      })
    }
  })
})

/** Every secret of the platform's environment and files. */
async function knownSecrets(): Promise<string[]> {
  const files = await Promise.all(
    ['embedded.json', 'credentials.json'].map((name) => readFile(join(platform.dataDir, name), 'utf8')),
  )
  const written = files.flatMap((content) => [...content.matchAll(/[\w-]{43}/g)].map(([secret]) => secret))
  expect(written.length).toBeGreaterThan(5)
  return [...Object.values(secrets), ...written]
}

test('the data folder, its folders and its files are for their owner only', async () => {
  const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)
  expect(await modeOf(platform.dataDir)).toBe('700')
  const entries = await readdir(platform.dataDir, { withFileTypes: true })
  const modes = await Promise.all(
    entries.map(async (entry) => [entry.name, await modeOf(join(platform.dataDir, entry.name))] as const),
  )
  expect(Object.fromEntries(modes)).toMatchObject({
    'credentials.json': '600',
    'embedded.json': '600',
    'servers.json': '600',
    lock: '600',
    eventstore: '700',
    postgres: '700',
    'object-store': '700',
    provider: '700',
    receivers: '700',
  })
  const open = modes.filter(([, mode]) => mode !== '600' && mode !== '700')
  expect(open).toEqual([])
  for (const path of ['eventstore/users', 'eventstore/tls/key.pem'])
    expect(await modeOf(join(platform.dataDir, path))).toBe('600')
  for (const path of ['eventstore/log', 'eventstore/tls', 'postgres/cluster'])
    expect(await modeOf(join(platform.dataDir, path))).toBe('700')
})

describe('accounts of downstream services', () => {
  const channel = 'clinical.events'
  const passwords = { billing: 'of%20billing%3A0123456789', lab: 'of-the-lab-0123456789' }
  const consumers = { EVENTSTORE_CONSUMERS: `billing:${passwords.billing},lab:${passwords.lab}` }
  let patientId = ''
  const clients: EventStoreDBClient[] = []

  beforeAll(async () => {
    // The folder is of an earlier start without such accounts.
    patientId = await registerPatient(await platform.connect())
    await platform.restart(consumers)
    url = platform.process.credentials.eventstore_url ?? ''
  })

  afterEach(async () => {
    for (const client of clients.splice(0)) await client.dispose()
  })

  function as(login: string, encodedPassword: string): EventStoreDBClient {
    const client = EventStoreDBClient.connectionString(url.replace(/\/\/[^@]*@/, `//${login}:${encodedPassword}@`))
    clients.push(client)
    return client
  }

  async function isDenied(reading: AsyncIterable<unknown>): Promise<boolean> {
    try {
      // A read that is left early keeps its client from closing.
      for await (const _ of reading) continue
      return false
    } catch (error) {
      if (error instanceof AccessDeniedError) return true
      throw error
    }
  }

  /** The patients that a subscription reports as registered, until the given one. */
  async function registeredUntil(subscription: ReturnType<EventStoreDBClient['subscribeToStream']>, last: string) {
    const patients: unknown[] = []
    for await (const { event } of subscription) {
      const { data } = event ?? {}
      if (typeof data === 'object' && data !== null && 'patient_id' in data) patients.push(data.patient_id)
      if (patients.at(-1) === last) await subscription.unsubscribe()
    }
    return patients
  }

  test('a consumer follows a channel of a folder of earlier starts, with what is published now', async () => {
    const subscription = as('billing', passwords.billing).subscribeToStream(channel, { fromRevision: START })
    const next = await registerPatient(await platform.connect())
    expect(await registeredUntil(subscription, next)).toEqual([patientId, next])
  })

  test('it consumes from a group that the operator made', async () => {
    const operator = EventStoreDBClient.connectionString(url)
    clients.push(operator)
    const settings = persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: 'start' })
    await operator.createPersistentSubscriptionToStream(channel, 'billing', settings)
    const messages = as('billing', passwords.billing).subscribeToPersistentSubscriptionToStream(channel, 'billing')
    const types: string[] = []
    messages.on('data', (message) => {
      types.push(message.event?.type ?? '')
      void messages.ack(message)
    })
    await expect.poll(() => types).toContain('clinical.patient.registered')
    await messages.unsubscribe()
  })

  test('it reads no stream of a patient and not the log', async () => {
    const patient = (await eventsOfAll(url)).find(({ stream }) => stream.startsWith('patient-'))?.stream ?? ''
    expect(await eventsOf(url, patient)).not.toEqual([])
    const lab = as('lab', passwords.lab)
    for (const reading of [
      lab.readStream(patient),
      lab.readStream('patient-unknown'),
      lab.readAll(),
      lab.subscribeToAll(),
    ])
      expect(await isDenied(reading)).toBe(true)
  })

  test('no password is in the files and arguments of the servers, and other users reach the certificate only', async () => {
    const users = await readFile(join(platform.dataDir, 'eventstore/users'), 'utf8')
    expect(
      users
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).login),
    ).toEqual(['platform', 'billing', 'lab'])
    for (const file of ['eventstore/users', 'servers.json', 'credentials.json', 'embedded.json'])
      expect(await readFile(join(platform.dataDir, file), 'utf8')).not.toContain('0123456789')
    const modeOf = async (path: string) => ((await stat(join(platform.dataDir, path))).mode & 0o777).toString(8)
    expect(await modeOf('certificates/eventstore.pem')).toBe('644')
    expect([await modeOf('eventstore'), await modeOf('credentials.json')]).toEqual(['700', '600'])
  })

  test('commands beside the platform and a rebuild work as before', async () => {
    const rebuilt = await projections(platform.dataDir, ['rebuild', 'patients'], { ...secrets, ...consumers })
    expect(rebuilt).toMatchObject({ code: 0 })
  })
})
