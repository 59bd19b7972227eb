import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { freePort } from '../../../embedded/children/free-port.ts'
import { startEventStore } from 'embedded-eventstore'
import { startObjectStore } from '../../../embedded/object-store/start-object-store.ts'
import { databaseUrl } from '../../../embedded/postgres/databases.ts'
import { startPostgres } from '../../../embedded/postgres/start-postgres.ts'
import { startProvider } from '../../../embedded/provider/start-provider.ts'
import { startClockedPostgres } from './clocked-postgres.ts'
import { openLine, type Line } from './line.ts'

const serverNames = ['event store', 'Postgres', 'object store', 'provider'] as const
export type ServerName = (typeof serverNames)[number]

interface Running {
  readonly pid: number
  stop(): Promise<void>
  kill(): Promise<void>
}

/** A server that can be started and ended repeatedly, on one port and over one folder. */
interface StagedServer {
  readonly line: Line
  readonly port: number
  readonly dataDir: string
  readonly pid: number
  start(): Promise<void>
  /** SIGTERM. */
  stop(): Promise<void>
  /** SIGKILL. */
  kill(): Promise<void>
}

/** All servers that a platform needs, each behind a proxy line, and the settings with the addresses of the lines. */
export interface Servers {
  readonly of: Readonly<Record<ServerName, StagedServer>>
  readonly env: Readonly<Record<string, string>>
  /** Connection string of the event store, beside its line. */
  readonly eventStoreUrl: string
  close(): Promise<void>
}

const password = randomBytes(16).toString('hex')
const access = { accessKeyId: 'faults', secretAccessKey: password, bucket: 'faults' }
const login = { login: 'platform', password, controlSecret: password }

export interface ServersOptions {
  /** Connection string of an event store of the operator. It has no line, and no fault of its own. */
  readonly eventStoreUrl?: string
  /** Folder of a server's files, if it is not below the stage's folder. */
  readonly folders?: Partial<Record<ServerName, string>>
  /** Variables of a server's process, for its clock. */
  readonly clocks?: { readonly [Name in 'event store' | 'Postgres']?: Readonly<Record<string, string>> }
}

export async function startServers(
  dataDir: string,
  { folders = {}, clocks = {}, eventStoreUrl }: ServersOptions,
): Promise<Servers> {
  const staged = (name: ServerName, start: (dataDir: string, port: number) => Promise<Running>) =>
    stage(folders[name] ?? join(dataDir, name.replace(' ', '-')), start)
  const [eventStore, postgres, objectStore, provider] = await Promise.all([
    staged('event store', async (folder, port) => {
      if (eventStoreUrl !== undefined) return notOurs
      const node = await startEventStore({ dataDir: folder, port, env: clocks['event store'] ?? {} })
      const kill = async () => {
        node.kill()
        await node.exited
      }
      return { pid: node.pid, stop: () => node.stop(), kill }
    }),
    staged('Postgres', async (folder, port) => {
      const options = { dataDir: folder, port, password, databases: ['platform', 'vault'] }
      if (clocks.Postgres === undefined) return killable(await startPostgres(options))
      const cluster = await startClockedPostgres(options, clocks.Postgres)
      return { pid: 0, stop: () => cluster.stop(), kill: () => cluster.stop() }
    }),
    staged('object store', async (folder, port) =>
      killable(await startObjectStore({ dataDir: folder, port, ...access })),
    ),
    staged('provider', async (folder, port) => killable(await startProvider({ dataDir: folder, port, ...login }))),
  ])
  const database = (name: string) => databaseUrl(postgres.line.port, password, name)
  return {
    of: { 'event store': eventStore, Postgres: postgres, 'object store': objectStore, provider },
    env: {
      ESDB_URL: eventStoreUrl ?? `esdb://127.0.0.1:${eventStore.line.port}?tls=false`,
      DATABASE_URL: database('platform'),
      VAULT_DATABASE_URL: database('vault'),
      S3_ENDPOINT: `http://127.0.0.1:${objectStore.line.port}`,
      S3_BUCKET: access.bucket,
      S3_ACCESS_KEY_ID: access.accessKeyId,
      S3_SECRET_ACCESS_KEY: access.secretAccessKey,
      PROVIDER_BASE_URL: `http://127.0.0.1:${provider.line.port}`,
      PROVIDER_LOGIN: login.login,
      PROVIDER_PASSWORD: login.password,
    },
    eventStoreUrl: eventStoreUrl ?? `esdb://127.0.0.1:${eventStore.port}?tls=false`,
    async close() {
      await Promise.all(
        [eventStore, postgres, objectStore, provider].map(async (server) => {
          await server.line.close()
          await server.stop()
        }),
      )
    },
  }
}

/** Stands where a server of the operator needs no process of ours. */
const notOurs: Running = { pid: 0, stop: async () => undefined, kill: async () => undefined }

function killable({
  pid,
  exited,
  stop,
}: {
  readonly pid: number
  readonly exited: Promise<number>
  readonly stop: () => Promise<void>
}): Running {
  return {
    pid,
    stop,
    kill: async () => {
      process.kill(pid, 'SIGKILL')
      await exited
    },
  }
}

async function stage(
  dataDir: string,
  start: (dataDir: string, port: number) => Promise<Running>,
): Promise<StagedServer> {
  const port = await freePort()
  let running: Running | undefined = await start(dataDir, port)
  const line = await openLine(port)
  const end = async (how: 'stop' | 'kill') => {
    const ending = running
    running = undefined
    await ending?.[how]()
  }
  return {
    line,
    port,
    dataDir,
    get pid() {
      return running?.pid ?? 0
    },
    async start() {
      running ??= await start(dataDir, port)
    },
    stop: () => end('stop'),
    kill: () => end('kill'),
  }
}
