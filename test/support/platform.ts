import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { freePort } from '../../embedded/children/free-port.ts'
import { textAt } from '../../app/demo/members.ts'
import { createApiClient, requestToken, type ApiClient, type ClientSecrets } from './raw-api.ts'
import { startPlatformProcess, type PlatformProcess } from '../../app/demo/platform-process.ts'
import { up } from '../../app/up.ts'
import { startPlatformApart } from './apart.ts'
import { isRealEventStore, realEventStoreUrl } from 'embedded-eventstore/testing'
import { masterKeys } from './first-clients.ts'
import { freshDatabases, isRealPostgres } from './postgres.ts'
import { providerAt, type TestProvider } from './provider.ts'
import { shareEventStore } from './shared-event-store.ts'

type Env = Readonly<Record<string, string>>

/** `PLATFORM_ROLES=apart`: two processes of each role behind a front, instead of one process for everything. */
export const areRolesApart = process.env['PLATFORM_ROLES'] === 'apart'
const startProcess: (dataDir: string, env: Env) => Promise<PlatformProcess> = areRolesApart
  ? startPlatformApart
  : startPlatformProcess

/** Every schedule, shortened: a whole run of the main job takes one or two seconds. */
export const fastSettings: Env = {
  LOG_LEVEL: 'warn',
  NOTIFICATION_RETRY_SCHEDULE_MS: '100,200,400,800',
  PROVIDER_RESULT_INITIAL_DELAY_MS: '200',
  PROVIDER_RESULT_BACKOFF_SCHEDULE_MS: '200,200',
  PROVIDER_START_RETRY_SCHEDULE_MS: '100,200,400',
  WEBHOOK_RETRY_SCHEDULE_MS: '0,200,400',
}

export interface TestPlatformOptions {
  /** Overrides `fastSettings`. */
  readonly env?: Env
  /**
   * The platform starts its own embedded PostgreSQL instead of using new databases on the test run's server. Not with
   * real servers (`ESDB_URL`, `DATABASE_URL`).
   */
  readonly ownPostgres?: boolean
  /** The parent of the data folder. */
  readonly under?: string
}

/** What a test may use of a platform that also works for other test files. */
export interface PlatformInUse {
  readonly baseUrl: string
  readonly dataDir: string
  readonly provider: TestProvider
  readonly process: Pick<PlatformProcess, 'credentials'>
  /** A client with a new token; the first organisation's unless other secrets are given. */
  connect(client?: ClientSecrets): Promise<ApiClient>
  /** Ends the use. */
  stop(): Promise<void>
}

type Process = Pick<PlatformProcess, 'credentials' | 'stop'>

/**
 * A platform with its own data folder, by default in its own process. With `ESDB_URL` it writes to that server, with new
 * organisations.
 */
export interface TestPlatform<Started extends Process = PlatformProcess> extends PlatformInUse {
  /** Variables for commands of operators on this platform's servers. */
  readonly operatorEnv: () => Promise<Env>
  /** It has its own embedded PostgreSQL, which stops with it. */
  readonly ownsPostgres: boolean
  /** The running process; a new one after `restart`. */
  readonly process: Started
  /**
   * Starts with the same data folder, databases and port. Stops a running process first. `env` adds to or replaces the
   * settings.
   */
  restart(env?: Env): Promise<void>
  /** Ends the process and removes all its files. */
  stop(): Promise<void>
}

export type PlatformHere = TestPlatform<Process>

export function startTestPlatform(options: TestPlatformOptions = {}): Promise<TestPlatform> {
  return startBy(startProcess, options)
}

/**
 * Starts it in the test's process, which has loaded its modules: half of the processor time. For tests that neither
 * kill it nor read its output. An unclean stop fails the test.
 */
export function startPlatformHere(options: TestPlatformOptions = {}): Promise<PlatformHere> {
  return startBy<Process>(areRolesApart ? startPlatformApart : startHere, options)
}

async function startHere(dataDir: string, env: Env): Promise<Process> {
  const { credentials, stop } = await up({
    env: { ...env, LOG_LEVEL: 'silent', PLATFORM_DATA_DIR: dataDir },
    onFatal: (reason) => expect.unreachable(reason),
  })
  return {
    credentials,
    async stop() {
      const code = await stop.stop()
      expect(code).toBe(0)
      return code
    },
  }
}

async function startBy<Started extends Process>(
  start: (dataDir: string, env: Env) => Promise<Started>,
  { env = {}, ownPostgres = false, under = tmpdir() }: TestPlatformOptions,
): Promise<TestPlatform<Started>> {
  const dataDir = await mkdtemp(join(under, 'platform-'))
  // The test supplies this server itself.
  const shared =
    isRealEventStore && env['ESDB_URL'] === undefined ? await shareEventStore(realEventStoreUrl) : undefined
  const database = ownPostgres && shared === undefined && !isRealPostgres ? undefined : await freshDatabases()
  const settings = {
    ...fastSettings,
    // The test runner sets a BASE_URL that is no address.
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

  let running: Started
  try {
    running = await start(dataDir, settings)
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
    operatorEnv: async () => ({
      ...settings,
      ESDB_URL: running.credentials.eventstore_url ?? '',
      MASTER_KEYS: shared?.masterKeys ?? (await masterKeys(dataDir)),
    }),
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
      running = await start(dataDir, { ...settings, ...added })
    },
    async stop() {
      await running.stop()
      await clear()
    },
  }
}

/** 0: the first organisation's client; 1: another organisation's; 2: the platform-level one. */
export function clientOf(
  { credentials }: Pick<PlatformProcess, 'credentials'>,
  place: 0 | 1 | 2,
): PlatformProcess['credentials']['clients'][number] {
  const client = credentials.clients[place]
  if (client === undefined) throw new Error(`credentials.json has no client ${place}`)
  return client
}

/**
 * Polls until there is an answer other than undefined. Rejects after `limitMs` with the description of the awaited
 * thing.
 */
export async function waitFor<Found>(
  what: string,
  look: () => Promise<Found | undefined> | Found | undefined,
  limitMs = 120_000,
): Promise<Found> {
  const deadline = Date.now() + limitMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`waited ${limitMs} ms for ${what}`)
    await sleep(50)
  }
}
