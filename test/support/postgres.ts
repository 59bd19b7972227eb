import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { freePort } from '../../embedded/children/free-port.ts'
import { startPostgres } from '../../embedded/postgres/start-postgres.ts'

/** Set for the workers by `setup`; a real server's `DATABASE_URL` goes before the embedded one. */
const ADMIN_URL = 'TEST_POSTGRES_ADMIN_URL'

export interface FreshDatabase {
  /** The read models' database. */
  readonly url: string
  readonly vaultUrl: string
  /** Drops both, whoever is still connected. */
  drop(): Promise<void>
}

let stopServer: (() => Promise<void>) | undefined

/** Global set-up of the test run: one PostgreSQL for all test files. */
export async function setup(): Promise<void> {
  const real = process.env['DATABASE_URL']
  if (real !== undefined && real !== '') {
    process.env[ADMIN_URL] = real
    return
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'test-postgres-'))
  const password = randomBytes(16).toString('hex')
  const server = await startPostgres({ dataDir, port: await freePort(), password, databases: [], durable: false })
  process.env[ADMIN_URL] = server.url('postgres')
  stopServer = async () => {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

export async function teardown(): Promise<void> {
  await stopServer?.()
}

/** The address of the server's administrative database. */
export function postgresAdminUrl(): string {
  const url = process.env[ADMIN_URL]
  if (url === undefined) throw new Error('no test PostgreSQL: run through vitest, whose global set-up starts it')
  return url
}

/** Two empty databases of a test file's own, read models and vault, cloned from the server's template. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  const vaultName = `${name}_vault`
  await onAdminDatabase(async (client) => {
    await client.query(`CREATE DATABASE ${name} TEMPLATE template0 STRATEGY FILE_COPY`)
    await client.query(`CREATE DATABASE ${vaultName} TEMPLATE template0 STRATEGY FILE_COPY`)
  })
  return {
    url: withDatabase(name),
    vaultUrl: withDatabase(vaultName),
    drop: () =>
      onAdminDatabase(async (client) => {
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
        await client.query(`DROP DATABASE IF EXISTS ${vaultName} WITH (FORCE)`)
      }),
  }
}

function withDatabase(name: string): string {
  const url = new URL(postgresAdminUrl())
  url.pathname = `/${name}`
  return url.href
}

async function onAdminDatabase(work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client({ connectionString: postgresAdminUrl() })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
