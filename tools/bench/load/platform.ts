import { spawn } from 'node:child_process'
import { mkdir, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../embedded/children/free-port.ts'
import { lastingSettings } from '../../../embedded/children/lasting-ports.ts'
import { databaseUrl as administratorUrl } from '../../../embedded/postgres/databases.ts'
import { textAt } from '../../../app/demo/members.ts'
import { requestToken } from '../../../test/support/raw-api.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { ensureDatabase } from '../../../platform/database/database.ts'
import { createGracefulStop } from '../../../platform/lifecycle/graceful-stop.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { keepCredentials, registerClients, serviceClientOf } from '../../../app/credentials.ts'
import type { Credentials } from '../../../app/credentials-file.ts'
import { startEmbedded } from '../../../app/embedded.ts'
import type { Role } from '../../../app/roles.ts'
import { createMasterKeyFile, parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault, type Vault } from '../../../platform/vault/vault.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { openEventStore, type EventStore } from '../../../engine/store/event-store.ts'

/**
 * The platform's servers, one process with the requested roles, and this process's own connections to the store and the
 * database.
 */
export interface BenchPlatform {
  readonly baseUrl: string
  /** The process with the requested roles. */
  readonly pid: number
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  readonly vaultUrl: string
  /** URL of another database of the same server, for its administrator. */
  readonly otherDatabase: (name: string) => Promise<string>
  readonly credentials: Credentials
  readonly provider: { readonly url: string; readonly login: string; readonly password: string }
  readonly store: EventStore
  readonly vault: Vault
  /** Headers of the first client. */
  readonly headers: Readonly<Record<string, string>>
  /** Runs further roles in another process. These settings are added to those of the first. */
  readonly run: (roles: readonly Role[], env?: Settings) => Promise<void>
  stop(): Promise<void>
}

/** Environment variables. */
type Settings = Readonly<Record<string, string>>

export interface BenchPlatformOptions {
  readonly folder: string
  readonly roles: readonly Role[]
  /** URL of a real event store to use instead of the embedded node. */
  readonly eventStoreUrl?: string | undefined
  /** Settings of every process, besides those of the servers. */
  readonly env?: Settings
}

const main = fileURLToPath(new URL('../../../app/main.ts', import.meta.url))
const startLimitMs = 150_000

/** Starts embedded servers, registers the clients as an operator does, and runs the roles in one process. */
export async function startBenchPlatform({
  folder,
  roles,
  eventStoreUrl,
  env: asked = {},
}: BenchPlatformOptions): Promise<BenchPlatform> {
  const logger = createLogger({ level: 'silent' })
  const stop = createGracefulStop({ logger })
  try {
    await mkdir(folder, { recursive: true })
    const port = String(await freePort())
    const given = {
      ...asked,
      ...(eventStoreUrl === undefined ? {} : { ESDB_URL: eventStoreUrl }),
      PLATFORM_DATA_DIR: folder,
      PORT: port,
      BASE_URL: `http://127.0.0.1:${port}`,
    }
    const { environment, standIns } = await startEmbedded(loadConfiguration(given), {
      logger,
      stop,
      onLost: () => undefined,
    })
    await createMasterKeyFile(join(folder, 'master-keys'))
    const shared = {
      ...environment,
      MASTER_KEYS: (await readFile(join(folder, 'master-keys'), 'utf8')).trim(),
      ...given,
    }
    const configuration = loadConfiguration(shared)
    const {
      vaultDatabaseUrl = '',
      esdbUrl = '',
      databaseUrl = '',
      providerBaseUrl = '',
      providerLogin = '',
      providerPassword = '',
    } = configuration
    const credentials = await keepCredentials(configuration, standIns)
    await ensureDatabase(vaultDatabaseUrl)
    const vault = await openVault({ url: vaultDatabaseUrl, masterKeys: parseMasterKeys(shared.MASTER_KEYS) })
    stop.onStop('resources', 'vault', () => vault.close())
    const store = await openEventStore({ url: esdbUrl, catalogue, vault })
    stop.onStop('resources', 'store', () => store.close())
    await registerClients(store, vault, credentials, new Date())
    const service = serviceClientOf(credentials)
    const env = { ...shared, SERVICE_CLIENT_ID: service.client_id, SERVICE_CLIENT_SECRET: service.client_secret }
    const run = (each: readonly Role[], settings: Settings) =>
      startRoles(each, settings, join(folder, `${each.join('-')}.log`), (name, end) => stop.onStop('work', name, end))
    const pid = await run(roles, env)
    return {
      pid,
      baseUrl: configuration.baseUrl,
      eventStoreUrl: esdbUrl,
      databaseUrl,
      vaultUrl: vaultDatabaseUrl,
      otherDatabase: async (name) => {
        const { ports, secrets } = await lastingSettings(folder, { ports: ['postgres'], secrets: ['postgres'] })
        const url = administratorUrl(ports.postgres, secrets.postgres, name)
        await ensureDatabase(url)
        return url
      },
      credentials,
      provider: { url: providerBaseUrl, login: providerLogin, password: providerPassword },
      store,
      vault,
      headers: roles.includes('api')
        ? { authorization: `Bearer ${await tokenOf(configuration.baseUrl, credentials)}` }
        : {},
      run: async (more, settings = {}) => {
        await run(more, { ...env, PORT: String(await freePort()), ...settings })
      },
      stop: async () => void (await stop.stop()),
    }
  } catch (error) {
    await stop.stop()
    throw error
  }
}

/** Starts one process and returns its id. Its log goes to a file and is shown when the process does not start. */
async function startRoles(
  roles: readonly Role[],
  env: Settings,
  logPath: string,
  atEnd: (name: string, end: () => Promise<void>) => void,
): Promise<number> {
  const log = await open(logPath, 'a')
  const inherited = Object.fromEntries(
    ['PATH', 'HOME', 'TMPDIR', 'NODE_OPTIONS', 'NODE_COMPILE_CACHE'].flatMap((name) =>
      process.env[name] === undefined ? [] : [[name, process.env[name]]],
    ),
  )
  const profiled =
    process.env['BENCH_CPU_PROFILES'] === undefined
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${process.env['BENCH_CPU_PROFILES']}`]
  const child = spawn(process.execPath, [...profiled, main, 'serve', ...roles.flatMap((role) => ['--role', role])], {
    env: { ...inherited, ...env },
    stdio: ['ignore', log.fd, log.fd],
  })
  await log.close()
  let isOver = false
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve())).then(() => void (isOver = true))
  const onExit = () => void child.kill('SIGKILL')
  process.once('exit', onExit)
  atEnd('roles', async () => {
    process.removeListener('exit', onExit)
    child.kill('SIGTERM')
    await exited
  })
  const deadline = performance.now() + startLimitMs
  // An API without its projector is alive, but never ready: nothing fills the read models that it serves.
  const health = `http://127.0.0.1:${env['PORT']}/health/${roles.includes('api') && !roles.includes('projector') ? 'live' : 'ready'}`
  while (!(await answersWell(health))) {
    if (isOver || performance.now() > deadline)
      throw new Error(`the platform did not start:\n${(await readFile(logPath, 'utf8')).slice(-2_000)}`)
    await pause(50)
  }
  return child.pid ?? 0
}

async function answersWell(url: string): Promise<boolean> {
  return fetch(url).then(
    (answer) => answer.ok,
    () => false,
  )
}

async function tokenOf(baseUrl: string, { clients }: Credentials): Promise<string> {
  const [client] = clients
  if (client === undefined) throw new Error('the credentials contain no client')
  const { body } = await requestToken(baseUrl, client)
  return textAt(body, 'access_token')
}
