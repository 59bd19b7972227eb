import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { v4 } from 'uuid'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { freePort } from '../../embedded/children/free-port.ts'
import { startEventStore, type EventStoreNode } from 'embedded-eventstore'
import { startObjectStore, type EmbeddedObjectStore } from '../../embedded/object-store/start-object-store.ts'
import { startProvider } from '../../embedded/provider/start-provider.ts'
import { at, createApiClient, requestToken, textAt } from '../../app/demo/api-client.ts'
import { keycloakEnv } from '../support/keycloak-stand-in.ts'
import type { Role } from '../../app/roles.ts'
import { serve } from '../../app/serve.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { createGracefulStop } from '../../platform/lifecycle/graceful-stop.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { waitFor } from '../support/platform.ts'
import { freshDatabase, type FreshDatabase } from '../support/postgres.ts'

// Each start of the program takes seconds on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

const main = fileURLToPath(new URL('../../app/main.ts', import.meta.url))
const secret = 'a-secret-of-at-least-thirty-two-characters'

let folder: string
let database: FreshDatabase
let node: EventStoreNode
let objects: EmbeddedObjectStore
let port: number
let settings: Record<string, string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'serve-'))
  database = await freshDatabase()
  node = await startEventStore({
    dataDir: join(folder, 'eventstore'),
    port: 0,
    users: [{ login: 'platform', password: secret, groups: ['$admins'] }],
  })
  objects = await startObjectStore({
    dataDir: join(folder, 'objects'),
    port: 0,
    accessKeyId: 'key',
    secretAccessKey: secret,
    bucket: 'photographs',
  })
  port = await freePort()
  settings = {
    LOG_LEVEL: 'warn',
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    ESDB_URL: node.url,
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
    MASTER_KEYS: `first:${randomBytes(32).toString('base64')}`,
    S3_ENDPOINT: objects.endpoint,
    S3_ACCESS_KEY_ID: 'key',
    S3_SECRET_ACCESS_KEY: secret,
    S3_BUCKET: 'photographs',
    SERVICE_CLIENT_ID: v4(),
    SERVICE_CLIENT_SECRET: secret,
    PROVIDER_BASE_URL: 'http://127.0.0.1:1',
    PROVIDER_LOGIN: 'platform',
    PROVIDER_PASSWORD: secret,
  }
})

afterAll(async () => {
  await Promise.all([node.stop(), objects.stop()])
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

/** The environment contains only the compile cache of the test run, and no data folder. */
function begin(args: readonly string[], env: Readonly<Record<string, string>>) {
  const compiled = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...compiled, ...env },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString('utf8')))
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString('utf8')))
  const exited = new Promise<number | null>((resolve) => {
    child.on('close', resolve)
  })
  return { output, exited, kill: () => child.kill('SIGTERM') }
}

async function outcome(args: readonly string[], env: Readonly<Record<string, string>>) {
  const { output, exited } = begin(args, env)
  return { code: await exited, ...output }
}

/** Starts a role in this process, which must fail. Resolves to the reason, as the program prints it. */
async function refusal(role: Role, env: Readonly<Record<string, string>>): Promise<string> {
  const logger = createLogger({ level: 'silent' })
  const stop = createGracefulStop({ logger })
  try {
    await serve({ env, roles: [role], logger, stop, onFatal: (reason) => expect.unreachable(reason) })
  } catch (error) {
    return `${error instanceof ConfigurationError ? 'configuration: ' : ''}${error instanceof Error ? error.message : ''}`
  }
  await stop.stop()
  return 'none: it started'
}

test('an operator registers a client, an API serves it, and SIGTERM ends the API with exit code 0', async () => {
  const registered = await outcome(
    ['clients', 'register', '--new-org', '--new-product', '--scope', 'patients:read'],
    settings,
  )
  expect([registered.code, registered.stderr]).toEqual([0, ''])
  const client: unknown = JSON.parse(registered.stdout)
  const projector = begin(['serve', '--role', 'projector'], { ...settings, PORT: '0' })
  const api = begin(['serve', '--role', 'api'], settings)
  await waitFor(
    'both to be ready',
    () => (projector.output.stdout.includes('is ready') && api.output.stdout.includes('is ready') ? true : undefined),
    60_000,
  )
  const health = await waitFor('the API to be ready', async () => {
    const answer = await fetch(`${settings['BASE_URL']}/health/ready`)
    return answer.status === 200 ? answer.json() : undefined
  })
  expect(at(health, 'roles')).toEqual(['api'])
  const asking = { client_id: textAt(client, 'client_id'), client_secret: textAt(client, 'client_secret') }
  const token = await requestToken(settings['BASE_URL'] ?? '', asking)
  expect([token.status, at(token.body, 'scope')]).toEqual([200, 'patients:read'])
  const caller = createApiClient(settings['BASE_URL'] ?? '', textAt(token.body, 'access_token'))
  expect((await caller.call(`/v1/clinical-api/patients/${v4()}`)).status).toBe(404)
  api.kill()
  projector.kill()
  expect([await api.exited, await projector.exited, api.output.stderr, projector.output.stderr]).toEqual([0, 0, '', ''])
})

test('a start that fails prints its reason, and ends with exit code 1', async () => {
  const { code, stdout, stderr } = await outcome(['serve', '--role', 'processor'], {
    ...settings,
    BASE_URL: '',
    PROVIDER_LOGIN: '',
  })
  expect([code, stdout, stderr]).toEqual([
    1,
    '',
    'platform: configuration: serve --role processor needs BASE_URL, PROVIDER_LOGIN: set them in the environment\n',
  ])
})

test.each([
  ['the bucket is missing', { S3_BUCKET: 'elsewhere' }, 'has no bucket elsewhere: create it, or set S3_BUCKET'],
  [
    'the object store refuses us',
    { S3_SECRET_ACCESS_KEY: `${secret}-wrong` },
    'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY must allow it',
  ],
  [
    'the object store is away',
    { S3_ENDPOINT: 'http://127.0.0.1:1' },
    'the object store of S3_ENDPOINT does not answer',
  ],
  [
    'Postgres is away',
    { DATABASE_URL: 'postgres://platform@127.0.0.1:1/platform' },
    'the server of DATABASE_URL does not answer (ECONNREFUSED)',
  ],
  [
    'the event store is away',
    { ESDB_URL: 'esdb://127.0.0.1:1?tls=false' },
    'the server of ESDB_URL does not answer (event-store-unavailable)',
  ],
])('a start reports that %s', async (_, changed, message) => {
  expect(await refusal('processor', { ...settings, ...changed })).toContain(message)
})

test('a service client with a changed secret stops the start, and the error names its variable', async () => {
  expect(await refusal('api', { ...settings, SERVICE_CLIENT_SECRET: `${secret}-other` })).toMatch(
    /^configuration: SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET: .* registered with another secret/,
  )
})

test('a start reports that Postgres refuses the user', async () => {
  const stranger = new URL(settings['DATABASE_URL'] ?? '')
  stranger.username = 'nobody-of-this-name'
  expect(await refusal('projector', { ...settings, DATABASE_URL: stranger.href })).toContain(
    'the server of DATABASE_URL does not admit its user with its password (28',
  )
})

test('the start fails if the vault is the database of the read models under another address', async () => {
  const readModels = new URL(settings['DATABASE_URL'] ?? '')
  const forward = createServer((socket) => {
    const onward = connect(Number(readModels.port === '' ? 5432 : readModels.port), readModels.hostname)
    pipeline(socket, onward, socket, () => undefined)
  })
  await new Promise<void>((resolve) => {
    forward.listen(0, '127.0.0.1', resolve)
  })
  const alias = new URL(readModels)
  alias.hostname = '127.0.0.1'
  alias.port = String((forward.address() as AddressInfo).port)
  expect(await refusal('projector', { ...settings, VAULT_DATABASE_URL: alias.href })).toBe(
    'configuration: VAULT_DATABASE_URL must be another database than DATABASE_URL: both lead to the same one',
  )
  forward.close()
})

test('in production the embedded provider simulator stops the start before anything runs', async () => {
  const dataDir = join(folder, 'production')
  const { code, stdout, stderr } = await outcome(['up'], {
    LOG_LEVEL: 'warn',
    APP_ENV: 'production',
    PORT: '0',
    PLATFORM_DATA_DIR: dataDir,
  })
  expect([code, stdout, stderr]).toEqual([
    1,
    '',
    expect.stringMatching(
      /^platform: configuration: up needs PROVIDER_BASE_URL, .*IDP_MODE=keycloak, .*SMTP_FROM: set them/,
    ),
  ])
})

test('a start in production names all that accounts and mails need, together with the rest', async () => {
  const env = { ...settings, S3_ENDPOINT: '', IDP_MODE: 'mock', APP_ENV: 'production' }
  expect(await refusal('processor', env)).toBe(
    'configuration: serve --role processor needs S3_ENDPOINT, IDP_MODE=keycloak, KEYCLOAK_BASE_URL, KEYCLOAK_REALM, KEYCLOAK_CLIENT_ID, KEYCLOAK_CLIENT_SECRET, SMTP_URL, SMTP_FROM: set them in the environment',
  )
})

test('in production a debugger stops the start', async () => {
  const { code, stdout, stderr } = await outcome(['serve', '--role', 'projector'], {
    ...settings,
    APP_ENV: 'production',
    NODE_OPTIONS: '--inspect=127.0.0.1:0',
  })
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('platform: configuration: NODE_OPTIONS and the command line must not contain --inspect')
})

test('in production a provider simulator behind PROVIDER_BASE_URL stops the start', async () => {
  const simulator = await startProvider({
    dataDir: join(folder, 'provider'),
    port: 0,
    login: 'platform',
    password: secret,
    controlSecret: secret,
  })
  try {
    const refused = await refusal('processor', {
      ...settings,
      IDP_MODE: 'keycloak',
      ...keycloakEnv('http://127.0.0.1:1'),
      APP_ENV: 'production',
      PROVIDER_BASE_URL: simulator.url,
      SMTP_URL: 'smtp://127.0.0.1:1',
      SMTP_FROM: 'no-reply@clinic.test',
    })
    expect(refused).toContain('configuration: PROVIDER_BASE_URL must not be the provider simulator')
    const answer = await fetch(`${simulator.url}/control/calls`, { headers: { 'x-control-secret': secret } })
    expect(await answer.json()).toEqual([])
  } finally {
    await simulator.stop()
  }
})

test('an API with the vault of another installation reports it', async () => {
  const other = await freshDatabase()
  expect(await refusal('api', { ...settings, VAULT_DATABASE_URL: other.vaultUrl })).toContain(
    'the vault of VAULT_DATABASE_URL does not belong to the event store of ESDB_URL',
  )
  await other.drop()
})

test('a processor without its services logs that steps wait, is not ready, and still ends with 0', async () => {
  const processor = begin(['serve', '--role', 'processor'], { ...settings, BASE_URL: 'http://127.0.0.1:1' })
  const health = await waitFor(
    'its health',
    async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => undefined)
      return answer === undefined ? undefined : { status: answer.status, body: await answer.json() }
    },
    60_000,
  )
  expect(health.status).toBe(503)
  expect(at(health.body, 'checks')).toContainEqual({
    name: 'steps',
    status: 'failing',
    detail: 'the services that steps call do not answer yet',
  })
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  expect(metrics).toContain('health_check_status{check="steps",state="failing"} 1')
  expect(metrics).toContain('projector_state{projector="assessments_todo",')
  expect(metrics).not.toContain('projector_state{projector="patients"')
  expect(metrics).toContain('projector_has_process{projector="patients"} ')
  processor.kill()
  expect([await processor.exited, processor.output.stderr]).toEqual([0, ''])
})

test('an unknown command ends with exit code 2 and prints the usage', async () => {
  const { code, stderr } = await outcome(['serve', '--role', 'worker'], {})
  expect([code, stderr]).toEqual([2, expect.stringContaining('Usage: npm run platform -- COMMAND')])
})
