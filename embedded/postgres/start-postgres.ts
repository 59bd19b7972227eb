import { fileURLToPath } from 'node:url'
import { startChild } from '../children/start-child.ts'
import { databaseUrl, type RolePasswords } from './databases.ts'

export type PostgresOptions = {
  dataDir: string
  /** A free port of 127.0.0.1, where alone the server listens. */
  port: number
  /** Of the superuser `postgres`. Fixed when the folder is first used. */
  password: string
  /** Created when missing, at every start. */
  databases: readonly string[]
  /** Of the roles that own these databases, each by the name of its database. One without belongs to the superuser. */
  rolePasswords?: RolePasswords
  /** False trades survival of a power cut for speed; for tests only. */
  durable?: boolean
  onLog?: (line: string) => void
}

export type EmbeddedPostgres = {
  /** Connection string of a database, for the role that owns it; `postgres` is the one to administer from. */
  url(database: string): string
  port: number
  /** Process id of the holder; PostgreSQL ends with it. */
  pid: number
  exited: Promise<number>
  stop(): Promise<void>
}

const HOLDER = fileURLToPath(new URL('./main.ts', import.meta.url))
/** A first start initialises the folder, and may first have to end a server left behind. */
const READY_TIMEOUT_MS = 60_000

/**
 * Starts a real PostgreSQL over `dataDir` in a holder process of its own and resolves once its databases exist.
 * Works as root and as any other user. Throws with the server's last words when it does not start.
 */
export async function startPostgres(options: PostgresOptions): Promise<EmbeddedPostgres> {
  const { rolePasswords = {} } = options
  const child = await startChild({
    name: 'embedded postgres',
    script: HOLDER,
    args: [
      '--data',
      options.dataDir,
      '--port',
      String(options.port),
      ...options.databases.flatMap((database) => ['--database', database]),
      ...(options.durable === false ? ['--not-durable'] : []),
    ],
    env: { POSTGRES_PASSWORD: options.password, POSTGRES_ROLE_PASSWORDS: JSON.stringify(rolePasswords) },
    readyTimeoutMs: READY_TIMEOUT_MS,
    ...(options.onLog === undefined ? {} : { onLog: options.onLog }),
  })
  return {
    url: (database) => {
      const ofRole = rolePasswords[database]
      return ofRole === undefined
        ? databaseUrl(options.port, options.password, database)
        : databaseUrl(options.port, ofRole, database, database)
    },
    port: options.port,
    pid: child.pid,
    exited: child.exited,
    stop: () => child.stop(),
  }
}
