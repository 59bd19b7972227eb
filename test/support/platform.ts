import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../embedded/children/free-port.ts'
import { createApiClient, requestToken, textAt, type ApiClient, type ClientSecrets } from '../../app/demo/api-client.ts'
import { startPlatformProcess, type PlatformProcess } from '../../app/demo/platform-process.ts'
import { startPlatformApart } from './apart.ts'
import { isRealEventStore, realEventStoreUrl } from './event-store.ts'
import { freshDatabase, isRealPostgres } from './postgres.ts'
import { providerAt, type TestProvider } from './provider.ts'
import { shareEventStore } from './shared-event-store.ts'

type Env = Readonly<Record<string, string>>

/** `PLATFORM_ROLES=apart`: two processes of each role behind a front, instead of one process that does everything. */
export const areRolesApart = process.env['PLATFORM_ROLES'] === 'apart'
const startProcess: (dataDir: string, env: Env) => Promise<PlatformProcess> = areRolesApart
  ? startPlatformApart
  : startPlatformProcess

/** Every schedule of the main job, shortened so that a whole run takes a second or two. */
export const fastSettings: Env = {
  LOG_LEVEL: 'warn',
  PROVIDER_RESULT_INITIAL_DELAY_MS: '200',
  PROVIDER_RESULT_BACKOFF_SCHEDULE_MS: '200,200',
  PROVIDER_START_RETRY_SCHEDULE_MS: '100,200,400',
  WEBHOOK_RETRY_SCHEDULE_MS: '0,200,400',
}

export interface TestPlatformOptions {
  /** On top of `fastSettings`. */
  readonly env?: Env
  /**
   * The platform starts an embedded PostgreSQL of its own instead of taking fresh databases of the test run's server; not
   * where real servers are tested (`ESDB_URL`, `DATABASE_URL`).
   */
  readonly ownPostgres?: boolean
}

/** A platform in a process and a data folder of its own; with `ESDB_URL` it writes to that server, as fresh organisations. */
export interface TestPlatform {
  readonly dataDir: string
  readonly baseUrl: string
  readonly provider: TestProvider
  /** It runs an embedded PostgreSQL of its own, which stops when it does. */
  readonly ownsPostgres: boolean
  /** The running process; another one after `restart`. */
  readonly process: PlatformProcess
  /** A client with a fresh token; the demo organisation's unless another one's secrets are given. */
  connect(client?: ClientSecrets): Promise<ApiClient>
  /** The same data folder, databases and port again; stops the process first if it still runs. `env` adds to or replaces the settings. */
  restart(env?: Env): Promise<void>
  /** Ends the process and removes everything it wrote. */
  stop(): Promise<void>
}

export async function startTestPlatform({
  env = {},
  ownPostgres = false,
}: TestPlatformOptions = {}): Promise<TestPlatform> {
  const dataDir = await mkdtemp(join(tmpdir(), 'platform-'))
  // A server that the test itself names is its own.
  const shared =
    isRealEventStore && env['ESDB_URL'] === undefined ? await shareEventStore(realEventStoreUrl) : undefined
  const database = ownPostgres && shared === undefined && !isRealPostgres ? undefined : await freshDatabase()
  const settings = {
    ...fastSettings,
    // The test runner sets a BASE_URL of its own, which is no address.
    BASE_URL: '',
    PORT: String(await freePort()),
    DATABASE_URL: database?.url ?? '',
    VAULT_DATABASE_URL: shared?.vaultUrl ?? database?.vaultUrl ?? '',
    MASTER_KEYS: shared?.masterKeys ?? '',
    ...env,
  }
  async function clear(): Promise<void> {
    await database?.drop()
    await rm(dataDir, { recursive: true, force: true })
    await shared?.release()
  }

  let running: PlatformProcess
  try {
    running = await startProcess(dataDir, settings)
  } catch (error) {
    await clear()
    throw error
  }
  return {
    dataDir,
    baseUrl: running.credentials.base_url,
    provider: providerAt(
      running.credentials.provider_url ?? '',
      running.credentials.control_secret ?? '',
      areRolesApart,
    ),
    ownsPostgres: database === undefined,
    get process() {
      return running
    },
    async connect(client = clientOf(running, 0)) {
      const { body } = await requestToken(running.credentials.base_url, client)
      return createApiClient(running.credentials.base_url, textAt(body, 'access_token'))
    },
    async restart(added = {}) {
      await running.stop()
      running = await startProcess(dataDir, { ...settings, ...added })
    },
    async stop() {
      await running.stop()
      await clear()
    },
  }
}

/** 0: the demo organisation's client; 1: another organisation's; 2: the platform-level one. */
export function clientOf(
  { credentials }: PlatformProcess,
  place: 0 | 1 | 2,
): PlatformProcess['credentials']['clients'][number] {
  const client = credentials.clients[place]
  if (client === undefined) throw new Error(`credentials.json has no client ${place}`)
  return client
}

/** Asks until there is an answer other than undefined; rejects after `limitMs`, naming what was waited for. */
export async function waitFor<Found>(
  what: string,
  look: () => Promise<Found | undefined> | Found | undefined,
  limitMs = 30_000,
): Promise<Found> {
  const deadline = Date.now() + limitMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`waited ${limitMs} ms for ${what}`)
    await sleep(50)
  }
}
