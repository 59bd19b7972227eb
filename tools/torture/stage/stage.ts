import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../embedded/children/free-port.ts'
import { databaseUrl } from '../../../embedded/postgres/databases.ts'
import type { Credentials } from '../../../app/credentials-file.ts'
import { eventStoreFolder } from '../../../app/backup/sources.ts'
import { isRole } from '../../../app/roles.ts'
import { roleCommand } from '../../../test/support/apart.ts'
import { masterKeys, prepareClients } from '../../../test/support/first-clients.ts'
import { startFront } from '../../../test/support/front.ts'
import { fastSettings } from '../../../test/support/platform.ts'
import { accessWindowSeconds } from '../checks/access-log.ts'
import { parts, type Part } from '../schedule.ts'
import { PretendedCluster } from './pretended-cluster.ts'
import { Receivers } from './receivers.ts'
import { Supervised } from './supervised.ts'

/** Schedules for a run of minutes. The retries are enough to survive an outage of seconds. */
const settings = {
  ...fastSettings,
  ACCESS_LOG_WINDOW_SECONDS: String(accessWindowSeconds),
  STEP_TIMEOUT_MS: '3500',
  STEP_LEASE_MS: '4000',
  NOTIFICATION_RETRY_SCHEDULE_MS: '200,400,800,1600,3200,3200,3200,3200',
  WEBHOOK_TIMEOUT_MS: '2000',
  // Kills meet the sealing at all of its steps.
  SEAL_INTERVAL_SECONDS: '1',
  ERASURE_VAULT_HOURS: '0',
  PROVIDER_START_RETRY_SCHEDULE_MS: '100,200,400,800,1600,3200,3200,3200,3200,3200',
  PROVIDER_RESULT_BACKOFF_SCHEDULE_MS: '200,400,800',
  WEBHOOK_RETRY_SCHEDULE_MS: '0,200,400,800,1600,1600,1600,1600,1600',
}
const accessKeyId = 'torture'
/** The proxy, five servers, and the SMTP port of the last one. */
const serverCount = 7

/** An installation of separate processes. A supervisor restarts each process when it ends. */
export interface Stage {
  readonly folder: string
  readonly credentials: Credentials
  /** Settings of every role. */
  readonly settings: Readonly<Record<string, string>>
  /** The event store itself, not its pretended cluster. */
  readonly esdbUrl: string
  /** The cluster that the platform sees. Undefined with a real event store. */
  readonly cluster: PretendedCluster | undefined
  /** What the run may kill. A real event store is not among it. */
  readonly parts: readonly Part[]
  readonly providerUrl: string
  /** Secret of the provider simulator's remote control. */
  readonly controlSecret: string
  readonly adminSecret: string
  readonly messages: Receivers
  /** URL of a database of the cluster. The database need not exist. */
  readonly databaseUrl: (database: string) => string
  readonly part: (name: Part) => Supervised
  all(): readonly Supervised[]
  isUp(): boolean
  /** Names of the parts that are not up. */
  down(): readonly string[]
  /** Resolves when every part is ready. */
  up(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts all parts. Object store, provider, mail box and chat receiver are foreign systems and are never killed. With
 * `realUrl` the event store is one too.
 */
export async function startStage(folder: string, signal: AbortSignal, realUrl?: string): Promise<Stage> {
  const data = (name: string) => join(folder, name)
  const running: Supervised[] = []
  const closers: (() => Promise<void>)[] = []
  async function stop(): Promise<void> {
    const isServer = ({ name }: Supervised) =>
      ['node', 'postgres', 'object-store', 'provider', 'receivers'].includes(name)
    await Promise.all(running.filter((each) => !isServer(each)).map((each) => each.stop()))
    await Promise.all(closers.map((close) => close()))
    await Promise.all(running.filter(isServer).map((each) => each.stop()))
  }
  function begin(
    name: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    needs: readonly Supervised[] = [],
  ): Supervised {
    const inherited = Object.entries(process.env).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, value] as const],
    )
    const started = new Supervised({
      name,
      args,
      env: { ...Object.fromEntries(inherited), ...env },
      log: data(`${name}.log`),
      needs,
    })
    running.push(started)
    started.start()
    return started
  }

  try {
    await mkdir(data('platform'), { recursive: true, mode: 0o700 })
    const [front, eventStore, postgres, objectStore, provider, receivers, smtp, ...own] = await freePorts()
    const secret = randomBytes(24).toString('hex')
    const urlOf = (database: string) => databaseUrl(postgres, secret, database)
    // The folders of a platform that runs its event store itself. So a backup copies the log of the node.
    if (realUrl === undefined)
      await writeFile(
        join(data('platform'), 'embedded.json'),
        `${JSON.stringify({ ports: { eventstore: eventStore }, secrets: {} }, null, 2)}\n`,
        { mode: 0o600 },
      )
    const node =
      realUrl === undefined
        ? begin(
            'node',
            [
              mainOf('packages/embedded-eventstore'),
              '--data',
              eventStoreFolder(data('platform')),
              '--port',
              String(eventStore),
              '--exit-with-parent',
            ],
            {},
          )
        : undefined
    const cluster = begin(
      'postgres',
      [
        mainOf('embedded/postgres'),
        '--data',
        data('postgres'),
        '--port',
        String(postgres),
        '--database',
        'platform',
        '--database',
        'vault',
        '--exit-with-parent',
      ],
      { POSTGRES_PASSWORD: secret },
    )
    begin(
      'object-store',
      [
        mainOf('embedded/stand-ins'),
        'object-store',
        '--data',
        data('objects'),
        '--port',
        String(objectStore),
        '--bucket',
        'clinical-assessments',
        '--exit-with-parent',
      ],
      { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secret },
    )
    begin(
      'provider',
      [
        mainOf('embedded/stand-ins'),
        'provider',
        '--data',
        data('provider'),
        '--port',
        String(provider),
        '--exit-with-parent',
      ],
      { PROVIDER_LOGIN: 'platform', PROVIDER_PASSWORD: secret, PROVIDER_CONTROL_SECRET: secret },
    )
    const messages = new Receivers(data('receivers'), [receivers, smtp], secret)
    begin('receivers', [mainOf('embedded/stand-ins'), 'receivers', ...messages.args], messages.env)
    await unlessAborted(signal, Promise.all(running.map((each) => each.up())))

    await messages.slowDown()

    const pretended = realUrl === undefined ? await PretendedCluster.start(eventStore) : undefined
    if (pretended !== undefined) closers.push(() => pretended.close())
    const shared = {
      ...settings,
      PLATFORM_DATA_DIR: data('platform'),
      ADMIN_API_SECRET: secret,
      BASE_URL: `http://127.0.0.1:${front}`,
      ESDB_URL: pretended?.url ?? realUrl ?? '',
      DATABASE_URL: urlOf('platform'),
      VAULT_DATABASE_URL: urlOf('vault'),
      MASTER_KEYS: await masterKeys(data('platform')),
      S3_ENDPOINT: `http://127.0.0.1:${objectStore}`,
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secret,
      PROVIDER_BASE_URL: `http://127.0.0.1:${provider}`,
      PROVIDER_LOGIN: 'platform',
      PROVIDER_PASSWORD: secret,
      ...messages.settings,
    }
    const { credentials, service } = await prepareClients(shared)
    const variables = { ...shared, ...service }
    const apis: number[] = []
    for (const [place, name] of parts.filter((part) => part !== 'node' && part !== 'postgres').entries()) {
      const role = name.slice(0, -2)
      if (!isRole(role)) throw new Error(`${name} is not the name of a role`)
      const port = own[place] ?? 0
      if (role === 'api') apis.push(port)
      const command = roleCommand(role)
      // A fixed port, so that the proxy finds the role again after each start.
      begin(name, command.args, { ...command.env, ...variables, PORT: String(port) }, [
        ...(node === undefined ? [] : [node]),
        cluster,
      ])
    }
    const opened = await startFront(front, apis)
    closers.push(() => opened.close())
    const stage: Stage = {
      folder,
      credentials,
      stop,
      settings: variables,
      esdbUrl: realUrl ?? `esdb://torture:${secret}@localhost:${eventStore}?tls=false`,
      cluster: pretended,
      parts: parts.filter((part) => part !== 'node' || node !== undefined),
      providerUrl: shared.PROVIDER_BASE_URL,
      controlSecret: secret,
      adminSecret: secret,
      messages,
      databaseUrl: urlOf,
      part(name) {
        const found = running.find((each) => each.name === name)
        if (found === undefined) throw new Error(`there is no ${name}`)
        return found
      },
      all: () => running,
      isUp: () => running.every(({ isUp }) => isUp),
      down: () => running.flatMap(({ name, isUp }) => (isUp ? [] : [name])),
      async up() {
        while (running.some(({ isUp }) => !isUp)) await Promise.all(running.map((each) => each.up()))
      },
    }
    await unlessAborted(signal, stage.up())
    return stage
  } catch (error) {
    await stop()
    throw error
  }
}

function mainOf(server: string): string {
  return fileURLToPath(new URL(`../../../${server}/main.ts`, import.meta.url))
}

async function freePorts(): Promise<[number, number, number, number, number, number, number, ...number[]]> {
  const ports = new Set<number>()
  while (ports.size < serverCount + parts.length) ports.add(await freePort())
  const [front = 0, eventStore = 0, postgres = 0, objectStore = 0, provider = 0, receivers = 0, smtp = 0, ...own] =
    ports
  return [front, eventStore, postgres, objectStore, provider, receivers, smtp, ...own]
}

/** Rejects with the signal's reason, because the work's result may never come. */
async function unlessAborted(signal: AbortSignal, work: Promise<unknown>): Promise<void> {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(new Error('aborted'))
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
