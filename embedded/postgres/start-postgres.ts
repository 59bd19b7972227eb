import { fileURLToPath } from 'node:url'
import { startChild, type ChildServer } from 'embedded-eventstore/child-server'
import { databaseUrl, type RolePasswords } from './databases.ts'

export type PostgresOptions = {
  dataDir: string
  /** A free port of 127.0.0.1, the only address on which the server listens. */
  port: number
  /** Password of the superuser `postgres`. The first use of the folder fixes it. */
  password: string
  /** Databases to create at every start when they are missing. */
  databases: readonly string[]
  /**
   * Passwords of the roles that own these databases, by database name. A database without one belongs to the superuser.
   */
  rolePasswords?: RolePasswords
  /** False trades survival of a power cut for speed. For tests only. */
  durable?: boolean
  onLog?: (line: string) => void
}

/** `pid` is the holder. PostgreSQL ends with it. */
export type EmbeddedPostgres = ChildServer & {
  /** Connection string of a database for the role that owns it. `postgres` is for administration. */
  url(database: string): string
}

const HOLDER = fileURLToPath(new URL('./main.ts', import.meta.url))
/** After a crash, a start writes all files to the disk and repeats up to a gigabyte of the write-ahead log. */
const READY_TIMEOUT_MS = 600_000

/**
 * Starts a real PostgreSQL over `dataDir` in a holder process. Resolves once its databases exist. Works as root and as
 * any other user. Throws with the server's last log lines when it does not start.
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
    ...child,
  }
}
