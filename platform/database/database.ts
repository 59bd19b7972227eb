import { randomBytes } from 'node:crypto'
import { Client, Pool, types, type ClientConfig, type CustomTypesConfig, type PoolClient } from 'pg'
import { readJsonText } from '../kit/json-reading.ts'
import type { Logger } from '../observability/logging.ts'

export type { Pool, PoolClient }

const { builtins } = types

/**
 * How column types come back, whatever pg's defaults are: bigint and numeric as text (both exceed a double), instants
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
  /** Connections at most (10). */
  readonly max?: number
  /** After this the server ends a statement, ms (10000); one that does not answer at all is given up a fifth of it later. */
  readonly statementTimeoutMs?: number
  /** Shown in `pg_stat_activity`. */
  readonly name?: string
  /** Of every connection, by the names that Postgres gives them. What the address's own `options` say, or else PGOPTIONS, goes before. */
  readonly settings?: Readonly<Record<string, string>>
  readonly logger?: Logger
}

/**
 * A pool whose lost connections are replaced, idle ones with a log line; none of them ends the program. Its statements are
 * short: none is worth compiling, and some are given prices by planner settings at which Postgres would compile each (`jit`).
 */
export function createPool({
  url,
  max = 10,
  statementTimeoutMs = 10_000,
  name = 'clinical-assessment-platform',
  settings = {},
  logger,
}: PoolOptions): Pool {
  const pool = new Pool({
    connectionString: url,
    Client: clientWith({ jit: 'off', ...settings }),
    max,
    types: customTypes,
    application_name: name,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs * 1.2,
    keepAlive: true,
  })
  pool.on('error', (err) => logger?.warn({ component: name, err }, 'idle database connection lost'))
  // A connection in use that is cut between two statements, or in the moment it is handed out, tells it as an event,
  // which unheard would end the program. Its next statement fails anyway.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/**
 * Connections that begin with these settings, under what else is asked for: of two that say the same, Postgres takes the last. The
 * address is left as it is, since there are forms of it that pg reads and that do not survive being written anew.
 */
function clientWith(settings: Readonly<Record<string, string>>): new (config?: ClientConfig) => Client {
  const ours = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  return class extends Client {
    /** Read when it connects. The types of pg leave it out. */
    declare readonly connectionParameters: { options?: string | undefined }

    constructor(config?: ClientConfig) {
      super(config)
      this.connectionParameters.options = [...ours, this.connectionParameters.options ?? ''].join(' ').trim()
    }
  }
}

/** Where an address leads, as pg reads it: parameters, percent-encoding and the variables PGHOST, PGSSLMODE and the like included. */
export interface DatabaseAddress {
  /** A path where it is a socket of this machine. */
  readonly host: string
  readonly port: number
  readonly database: string
  /** `unverified`: encrypted, but any certificate, or one of any name, is taken. */
  readonly encryption: 'none' | 'unverified' | 'verified'
}

/** @throws where pg cannot use the address, or a file that it names. */
export function readDatabaseAddress(url: string): DatabaseAddress {
  const { host, port, database = '', ssl } = new Client({ connectionString: url })
  const mode = new URLSearchParams(/\?(.*)$/s.exec(url)?.[1]).get('sslmode') ?? process.env['PGSSLMODE'] ?? ''
  return { host, port, database, encryption: optionalModes.has(mode) ? 'none' : encryptionOf(ssl) }
}

/** In libpq these leave TLS to the server. This version of pg takes them for verify-full, and announces that a later one does not. */
const optionalModes: ReadonlySet<string> = new Set(['allow', 'prefer'])

/** The types of pg call it a boolean. It may be the options of the TLS connection, too, or a text that pg has left as it was. */
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
  /** Read when it connects. The types of pg leave it out. */
  declare readonly connectionParameters: { database?: string | undefined }
}

/** Creates the database of the address when it is missing, through the `postgres` database of the same server. Returns whether it did. */
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
    if (codeOf(error) === duplicateDatabase || codeOf(error) === uniqueViolation) return false
    throw error
  } finally {
    await client.end()
  }
}

/**
 * Whether two addresses lead to one database, however they are spelled: an advisory lock that is taken through one of them is seen
 * through the other. Postgres keeps these locks per database. They end with their transaction, so a pooler in between does no harm.
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

/** The server answers, but the database itself is gone. */
export function isDatabaseMissing(error: unknown): boolean {
  return codeOf(error) === missingDatabase
}

/**
 * The connection failed, was cut or brought no answer in time, or the server lacks what it needs (room, memory, connections), so
 * the statement may be tried again on another one.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  const code = codeOf(error)
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

/** The server has no room for what was to be written. Of a quota and of its largest file it says so in words only. */
export function isDatabaseFull(error: unknown): boolean {
  const code = codeOf(error)
  return (
    code === diskFull ||
    (code === internalError && error instanceof Error && /: (File too large|Disk quota exceeded)$/.test(error.message))
  )
}

/** The database has no such table: a read model that nobody has begun to fill. */
export function isTableMissing(error: unknown): boolean {
  return ['42P01', '3F000'].includes(codeOf(error) ?? '')
}

const featureNotSupported = '0A000'

/** A statement was prepared on tables whose columns are others by now. A pool does not keep the connection that says so. */
export function isPlanOutdated(error: unknown): boolean {
  return (
    codeOf(error) === featureNotSupported &&
    error instanceof Error &&
    'routine' in error &&
    error.routine === 'RevalidateCachedQuery'
  )
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
