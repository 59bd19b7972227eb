import { randomBytes } from 'node:crypto'
import { Client, Pool, types, type ClientConfig, type CustomTypesConfig, type PoolClient } from 'pg'
import { readJsonText } from '../kit/json-reading.ts'
import type { Logger } from '../observability/logging.ts'
import { errorCode } from '../kit/error-codes.ts'

export type { Pool, PoolClient }

const { builtins } = types

/**
 * Types of returned columns, independent of pg's defaults: bigint and numeric as text (both exceed a double), instants
 * as `Date`, dates as text, json parsed.
 */
const typeParsers = new Map<number, (text: string) => unknown>([
  [builtins.INT8, (text) => text],
  [builtins.NUMERIC, (text) => text],
  [builtins.DATE, (text) => text],
  [builtins.TIMESTAMPTZ, types.getTypeParser(builtins.TIMESTAMPTZ)],
  [builtins.JSONB, readJsonText],
  [builtins.JSON, readJsonText],
])

const customTypes: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (format === 'binary' ? undefined : typeParsers.get(oid)) ?? types.getTypeParser(oid, 'text'),
}

export interface PoolOptions {
  readonly url: string
  /** Most connections (10). */
  readonly max?: number
  /** So many connections stay open when they are idle (0). */
  readonly min?: number
  /**
   * The server ends a statement after this time, ms (10000). A statement without any answer is abandoned a fifth of it
   * later.
   */
  readonly statementTimeoutMs?: number
  /** Shown in `pg_stat_activity`. */
  readonly name?: string
  /**
   * Settings of every connection, by their Postgres names. The address's own `options`, or else PGOPTIONS, have
   * precedence.
   */
  readonly settings?: Readonly<Record<string, string>>
  readonly logger?: Logger
}

/**
 * The server gives up a client that answers nothing for 15 s. A machine without power or network closes no connection.
 * Otherwise its locks, and the rows of an open transaction, would stay locked for hours, and no stand-by could take over.
 */
const silenceLimits = {
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '2',
  tcp_user_timeout: '15000',
}

/**
 * A pool that replaces lost connections. A lost idle connection writes a log line; none ends the program. `jit` is off:
 * the statements are short, so compiling them is a waste. Some planner settings raise their estimated cost so far that
 * Postgres would compile each one.
 */
export function createPool({
  url,
  max = 10,
  min = 0,
  statementTimeoutMs = 10_000,
  name = 'clinical-assessment-platform',
  settings = {},
  logger,
}: PoolOptions): Pool {
  const pool = new Pool({
    connectionString: url,
    Client: clientWith({ jit: 'off', ...silenceLimits, ...settings }),
    max,
    min,
    types: customTypes,
    application_name: name,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs * 1.2,
    keepAlive: true,
  })
  pool.on('error', (err) => logger?.warn({ component: name, err }, 'idle database connection lost'))
  // A connection may break between two statements, or while it is handed out. It then emits an event. Without a
  // listener the event would end the program. Its next statement fails anyway.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/**
 * Connections start with these settings, before any other options: of two equal settings Postgres uses the last one.
 * The address stays unchanged, because some forms that pg accepts cannot be written again.
 */
function clientWith(settings: Readonly<Record<string, string>>): new (config?: ClientConfig) => Client {
  const ours = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  return class extends Client {
    /** Read on connecting. pg's types lack it. */
    declare readonly connectionParameters: { options?: string | undefined }

    constructor(config?: ClientConfig) {
      super(config)
      this.connectionParameters.options = [...ours, this.connectionParameters.options ?? ''].join(' ').trim()
    }
  }
}

/**
 * The target of an address, as pg reads it: with parameters, percent-encoding and the variables PGHOST, PGSSLMODE and
 * so on.
 */
export interface DatabaseAddress {
  /** A path if it is a socket of this machine. */
  readonly host: string
  readonly port: number
  readonly database: string
  /** `unverified`: encrypted, but any certificate, or any name in it, is accepted. */
  readonly encryption: 'none' | 'unverified' | 'verified'
}

/** @throws if pg cannot use the address, or a file in it. */
export function readDatabaseAddress(url: string): DatabaseAddress {
  const { host, port, database = '', ssl } = new Client({ connectionString: url })
  const mode = new URLSearchParams(/\?(.*)$/s.exec(url)?.[1]).get('sslmode') ?? process.env['PGSSLMODE'] ?? ''
  return { host, port, database, encryption: optionalModes.has(mode) ? 'none' : encryptionOf(ssl) }
}

/**
 * In libpq, the server decides about TLS in these modes. This version of pg treats them as verify-full, and announces
 * that a later one will not.
 */
const optionalModes: ReadonlySet<string> = new Set(['allow', 'prefer'])

/** pg's types declare a boolean. It may also be the options of the TLS connection, or a text that pg left unchanged. */
function encryptionOf(ssl: unknown): DatabaseAddress['encryption'] {
  if (ssl === false || ssl === undefined || ssl === null) return 'none'
  if (ssl === true) return 'verified'
  if (typeof ssl !== 'object' || ('rejectUnauthorized' in ssl && ssl.rejectUnauthorized === false)) return 'unverified'
  return 'checkServerIdentity' in ssl ? 'unverified' : 'verified'
}

const duplicateDatabase = '42P04'
const uniqueViolation = '23505'
const missingDatabase = '3D000'
const statementTimedOut = '57014'

class MaintenanceClient extends Client {
  /** Read on connecting. pg's types lack it. */
  declare readonly connectionParameters: { database?: string | undefined }
}

/**
 * Creates the database of the address if it is missing, through the `postgres` database of the same server. Returns
 * whether it did.
 */
export async function ensureDatabase(url: string): Promise<boolean> {
  const { database: name } = readDatabaseAddress(url)
  const client = new MaintenanceClient({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    query_timeout: 30_000,
  })
  client.connectionParameters.database = 'postgres'
  client.on('error', () => undefined)
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (rowCount !== 0) return false
    await client.query(`create database ${client.escapeIdentifier(name)}`)
    return true
  } catch (error) {
    if (errorCode(error) === duplicateDatabase || errorCode(error) === uniqueViolation) return false
    throw error
  } finally {
    await client.end()
  }
}

/**
 * Whether two addresses lead to one database, however they are written. It takes an advisory lock through one and looks
 * for it through the other. Postgres keeps these locks per database. They end with their transaction, so a pooler in
 * between does no harm.
 */
export async function areSameDatabase(first: string, second: string): Promise<boolean> {
  const key = randomBytes(8).readBigInt64BE().toString()
  return inShortTransaction(first, async (holder) => {
    await holder.query('select pg_advisory_xact_lock($1)', [key])
    return inShortTransaction(second, async (prober) => {
      const { rows } = await prober.query<{ free: boolean }>('select pg_try_advisory_xact_lock($1) as free', [key])
      return rows[0]?.free === false
    })
  })
}

async function inShortTransaction<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 30_000 })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query('begin')
    return await work(client)
  } finally {
    await client.end()
  }
}

/** The server answers, but the database itself does not exist. */
export function isDatabaseMissing(error: unknown): boolean {
  return errorCode(error) === missingDatabase
}

/**
 * The connection failed, broke or timed out, or the server lacks resources (room, memory, connections). The statement
 * may be tried again on another connection.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  const code = errorCode(error)
  if (isDatabaseFull(error)) return true
  if (code === undefined)
    return (
      error instanceof Error &&
      /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout)/.test(error.message)
    )
  return (
    code.startsWith('08') ||
    code.startsWith('57P') ||
    code.startsWith('53') ||
    code === statementTimedOut ||
    ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'].includes(code)
  )
}

const diskFull = '53100'
const internalError = 'XX000'

/** The server has no room for the write. For a quota and for its largest file, only the error's text shows it. */
export function isDatabaseFull(error: unknown): boolean {
  const code = errorCode(error)
  return (
    code === diskFull ||
    (code === internalError && error instanceof Error && /: (File too large|Disk quota exceeded)$/.test(error.message))
  )
}

/** The database has no such table: no instance has started to fill this read model. */
export function isTableMissing(error: unknown): boolean {
  return ['42P01', '3F000'].includes(errorCode(error) ?? '')
}

const featureNotSupported = '0A000'

/** A statement was prepared on tables whose columns have changed. The pool does not keep this connection. */
export function isPlanOutdated(error: unknown): boolean {
  return (
    errorCode(error) === featureNotSupported &&
    error instanceof Error &&
    'routine' in error &&
    error.routine === 'RevalidateCachedQuery'
  )
}
