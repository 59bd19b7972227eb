import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, Pool } from 'pg'
import { freePort } from '../../embedded/children/free-port.ts'
import { startPostgres } from '../../embedded/postgres/start-postgres.ts'

/**
 * `setup` sets these for the workers. `DATABASE_URL` and `VAULT_DATABASE_URL` have precedence over the embedded server.
 */
const ADMIN_URL = 'TEST_POSTGRES_ADMIN_URL'
const VAULT_ADMIN_URL = 'TEST_POSTGRES_VAULT_ADMIN_URL'
/** Folder of this test run. The set-up removes it after the workers have ended. */
const RUN_FOLDER = 'TEST_RUN_FOLDER'
/** Begins the names of the spare databases of this test run. */
const SPARES = 'TEST_RUN_SPARES'

export interface FreshDatabase {
  readonly url: string
  /** Drops it, even with open connections. */
  drop(): Promise<void>
}

export interface FreshDatabases extends FreshDatabase {
  readonly vaultUrl: string
}

let stopServer: (() => Promise<void>) | undefined
let ownFolder: string | undefined

/** True if the tests did not start the read models' server. */
export const isRealPostgres = (process.env['DATABASE_URL'] ?? '') !== ''

/** Global set-up of the test run: one PostgreSQL for all test files. */
export async function setup(): Promise<void> {
  // Each project of the test run calls this set-up. All share one server.
  if (process.env[ADMIN_URL] !== undefined) return
  ownFolder = await mkdtemp(join(tmpdir(), 'test-run-'))
  process.env[RUN_FOLDER] = ownFolder
  process.env[SPARES] = `spare_${randomBytes(6).toString('hex')}_`
  const real = process.env['DATABASE_URL'] ?? ''
  process.env[ADMIN_URL] = real === '' ? await startServer(ownFolder) : real
  const realVault = process.env['VAULT_DATABASE_URL'] ?? ''
  process.env[VAULT_ADMIN_URL] = realVault === '' ? process.env[ADMIN_URL] : realVault
}

async function startServer(folder: string): Promise<string> {
  const password = randomBytes(16).toString('hex')
  const dataDir = join(folder, 'postgres')
  const server = await startPostgres({ dataDir, port: await freePort(), password, databases: [], durable: false })
  stopServer = () => server.stop()
  return server.url('postgres')
}

export async function teardown(): Promise<void> {
  if (ownFolder === undefined) return
  const realServers = [process.env['DATABASE_URL'] ?? '', process.env['VAULT_DATABASE_URL'] ?? '']
  for (const server of new Set(realServers)) if (server !== '') await dropSpares(server)
  await stopServer?.()
  // The servers of a worker end with it. They may still write for a moment.
  await rm(ownFolder, { recursive: true, force: true, maxRetries: 10 })
}

async function dropSpares(server: string): Promise<void> {
  const client = new Client({ connectionString: server })
  await client.connect()
  try {
    const { rows } = await client.query<{ datname: string }>(
      'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
      [fromSetUp(SPARES)],
    )
    for (const { datname } of rows) await client.query(`DROP DATABASE ${datname} WITH (FORCE)`)
  } finally {
    await client.end()
  }
}

/** A folder for data that all files of a worker share. */
export function runFolder(): string {
  return fromSetUp(RUN_FOLDER)
}

/** Address of the administrative database on the read models' server. */
export function postgresAdminUrl(): string {
  return fromSetUp(ADMIN_URL)
}

/** The same on the vault's server, which may be another one. */
export function vaultAdminUrl(): string {
  return fromSetUp(VAULT_ADMIN_URL)
}

function fromSetUp(variable: string): string {
  const value = process.env[variable]
  if (value === undefined) throw new Error(`no ${variable}: run through vitest, whose global set-up sets it`)
  return value
}

/** An empty database for a test file, on the read models' server. */
export function freshDatabase(): Promise<FreshDatabase> {
  return makeOn(postgresAdminUrl())
}

/** The same on the vault's. */
export function freshVault(): Promise<FreshDatabase> {
  return makeOn(vaultAdminUrl())
}

/** One on each, for a whole platform. */
export async function freshDatabases(): Promise<FreshDatabases> {
  const [readModels, vault] = [await freshDatabase(), await freshVault()]
  return {
    url: readModels.url,
    vaultUrl: vault.url,
    async drop() {
      await readModels.drop()
      await vault.drop()
    },
  }
}

async function makeOn(server: string): Promise<FreshDatabase> {
  const database = { server, name: `test_${randomBytes(6).toString('hex')}` }
  await make(database)
  return { url: urlOf(database), drop: () => giveBack(database) }
}

interface Database {
  readonly server: string
  readonly name: string
}

/** Ends every connection to the database, as a server that fails does. It uses none of a test's connections, which may end late. */
export function breakConnections(url: string): Promise<void> {
  return inDatabase(
    url,
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  )
}

/**
 * Databases of this worker that are empty again. Making one takes a quarter of a second of processor time, and renaming
 * one none.
 */
const spare: Database[] = []

async function make({ server, name }: Database): Promise<void> {
  const place = spare.findIndex((other) => other.server === server)
  const [old] = place === -1 ? [] : spare.splice(place, 1)
  if (old === undefined) await administer(server, `CREATE DATABASE ${name} TEMPLATE template0 STRATEGY FILE_COPY`)
  else await administer(server, `ALTER DATABASE ${old.name} RENAME TO ${name}`)
}

/** For every client that is left over the database is gone: its connections end, and nothing has its name. */
async function giveBack({ server, name }: Database): Promise<void> {
  const renamed = { server, name: `${fromSetUp(SPARES)}${randomBytes(6).toString('hex')}` }
  try {
    await administer(
      server,
      `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`,
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`,
      `ALTER DATABASE ${name} RENAME TO ${renamed.name}`,
      `ALTER DATABASE ${renamed.name} ALLOW_CONNECTIONS true`,
    )
    await inDatabase(urlOf(renamed), emptying)
    spare.push(renamed)
  } catch {
    // For example if the test itself has dropped it.
    for (const each of [name, renamed.name]) await administer(server, `DROP DATABASE IF EXISTS ${each} WITH (FORCE)`)
  }
}

const emptying = `DO $$
DECLARE name text;
BEGIN
  FOR name IN SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'
  LOOP EXECUTE format('DROP SCHEMA %I CASCADE', name); END LOOP;
  CREATE SCHEMA public AUTHORIZATION pg_database_owner;
  GRANT USAGE ON SCHEMA public TO public;
END $$`

function urlOf({ server, name }: Database): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

export const administratorName = `administrator of worker ${process.pid}`
/** One connection to each server. It does not hold up the end of the process, and is opened again after it broke. */
const administrators = new Map<string, Pool>()

async function administer(server: string, ...statements: readonly string[]): Promise<void> {
  let pool = administrators.get(server)
  if (pool === undefined) {
    const options = { connectionString: server, application_name: administratorName }
    pool = new Pool({ ...options, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true })
    pool.on('error', () => undefined)
    administrators.set(server, pool)
  }
  for (const statement of statements) await pool.query(statement)
}

async function inDatabase(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
