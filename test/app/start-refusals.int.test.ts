import { existsSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Role } from '../../app/roles.ts'
import { serve } from '../../app/serve.ts'
import { up } from '../../app/up.ts'
import { startProvider } from '../../embedded/provider/start-provider.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { createGracefulStop } from '../../platform/lifecycle/graceful-stop.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { keycloakEnv } from '../support/keycloak-stand-in.ts'
import { freshVault } from '../support/postgres.ts'
import { openServeWorld, secret, type ServeWorld } from './serve-world.ts'

let world: ServeWorld

beforeAll(async () => {
  world = await openServeWorld()
})
afterAll(() => world.close())

const started = 'none: it started'

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
  return started
}

test('a start that fails prints its reason, and ends with exit code 1', async () => {
  const { code, stdout, stderr } = await world.outcome(['serve', '--role', 'processor'], {
    ...world.settings,
    BASE_URL: '',
    PROVIDER_LOGIN: '',
  })
  expect([code, stdout, stderr]).toEqual([
    1,
    '',
    'platform: configuration: serve --role processor needs BASE_URL, PROVIDER_LOGIN: set them in the environment\n',
  ])
})

test('an unknown command ends with exit code 2, and prints what it is on stderr', async () => {
  const { code, stdout, stderr } = await world.outcome(['sevre'], {})
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toBe(
    "platform: unknown command 'sevre'\n(Did you mean serve?)\nAdd --help to see what a command takes.\n",
  )
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
  expect(await refusal('processor', { ...world.settings, ...changed })).toContain(message)
})

test('a service client with a changed secret stops the start, and the error names its variable', async () => {
  // The first start registers the client.
  expect(await refusal('api', world.settings)).toBe(started)
  expect(await refusal('api', { ...world.settings, SERVICE_CLIENT_SECRET: `${secret}-other` })).toMatch(
    /^configuration: SERVICE_CLIENT_ID and SERVICE_CLIENT_SECRET: .* registered with another secret/,
  )
})

test('a start reports that Postgres refuses the user', async () => {
  const stranger = new URL(world.settings['DATABASE_URL'] ?? '')
  stranger.username = 'nobody-of-this-name'
  expect(await refusal('projector', { ...world.settings, DATABASE_URL: stranger.href })).toContain(
    'the server of DATABASE_URL does not admit its user with its password (28',
  )
})

test('the start fails if the vault is the database of the read models under another address', async () => {
  const readModels = new URL(world.settings['DATABASE_URL'] ?? '')
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
  expect(await refusal('projector', { ...world.settings, VAULT_DATABASE_URL: alias.href })).toBe(
    'configuration: VAULT_DATABASE_URL must be another database than DATABASE_URL: both lead to the same one',
  )
  forward.close()
})

/** Starts everything in this process, which its settings must forbid before anything runs. Resolves to the reason. */
async function refusalOfUp(changed: Readonly<Record<string, string>>): Promise<string> {
  const env = { LOG_LEVEL: 'silent', PORT: '0', PLATFORM_DATA_DIR: join(world.folder, 'none'), ...changed }
  const error: unknown = await up({ env, onFatal: (reason) => expect.unreachable(reason) }).catch(
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ConfigurationError)
  expect(existsSync(env.PLATFORM_DATA_DIR)).toBe(false)
  return String(error)
}

test.each([
  ['LOG_LEVEL', { LOG_LEVEL: 'loud' }],
  ['PROVIDER_BASE_URL', { PROVIDER_BASE_URL: 'ftp://provider' }],
  ['APP_ENV', { HOST: '0.0.0.0' }],
  [
    'VAULT_DATABASE_URL',
    { DATABASE_URL: 'postgres://u:p@127.0.0.1/one', VAULT_DATABASE_URL: 'postgres://u:p@127.0.0.1/one' },
  ],
])('a wrong %s stops the start before anything runs, and is named', async (name, wrong) => {
  expect(await refusalOfUp(wrong)).toContain(name)
})

test('in production the embedded provider simulator stops the start before anything runs', async () => {
  expect(await refusalOfUp({ APP_ENV: 'production' })).toMatch(
    /up needs PROVIDER_BASE_URL, .*IDP_MODE=keycloak, .*SMTP_FROM: set them/,
  )
})

test('a start in production names all that accounts and mails need, together with the rest', async () => {
  const env = { ...world.settings, S3_ENDPOINT: '', IDP_MODE: 'mock', APP_ENV: 'production' }
  expect(await refusal('processor', env)).toBe(
    'configuration: serve --role processor needs S3_ENDPOINT, IDP_MODE=keycloak, KEYCLOAK_BASE_URL, KEYCLOAK_REALM, KEYCLOAK_CLIENT_ID, KEYCLOAK_CLIENT_SECRET, SMTP_URL, SMTP_FROM: set them in the environment',
  )
})

test('in production a provider simulator behind PROVIDER_BASE_URL stops the start', async () => {
  const simulator = await startProvider({
    dataDir: join(world.folder, 'provider'),
    port: 0,
    login: 'platform',
    password: secret,
    controlSecret: secret,
  })
  try {
    const refused = await refusal('processor', {
      ...world.settings,
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
  const other = await freshVault()
  expect(await refusal('api', { ...world.settings, VAULT_DATABASE_URL: other.url })).toContain(
    'the vault of VAULT_DATABASE_URL does not belong to the event store of ESDB_URL',
  )
  await other.drop()
})
