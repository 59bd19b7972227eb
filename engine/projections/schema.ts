import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../platform/database/transaction.ts'
import { startOfLog } from '../../platform/kit/positions.ts'
import { readCheckpoints, withoutFailure, type StoredCheckpoint, type StoredStatus } from './checkpoints.ts'
import { columnType, type Column, type Projector, type Table } from './projector.ts'
import { quoted } from './row-statements.ts'

/** Serialises the creation of schemas. Any number works, if all instances use the same one. */
const schemaLock = 7_305_001

/** Tables of the schema `runtime`, which belong to no projector. */
export interface RuntimeTables {
  /** Statements `create … if not exists`. */
  readonly created: string
  /** Columns that newer versions added, by table. No other text declares them. */
  readonly laterColumns?: Readonly<Record<string, Readonly<Record<string, string>>>>
}

const engineTables: RuntimeTables = {
  created: `
    create table if not exists runtime.projectors (
      name text primary key,
      version integer not null,
      shape text not null,
      commit_position numeric(20, 0) not null,
      prepare_position numeric(20, 0) not null,
      status text not null check (status in ('running', 'failed', 'rebuilding', 'stopped')),
      failed_event_id uuid,
      failed_event_type text,
      failed_category text,
      failed_commit numeric(20, 0),
      failed_prepare numeric(20, 0),
      failed_reason text,
      heartbeat_at timestamptz,
      updated_at timestamptz not null
    );
    create table if not exists runtime.claims (
      process text not null,
      key text not null,
      step text not null,
      worker text not null,
      lease_until timestamptz not null,
      not_before timestamptz not null,
      fence_commit numeric(20, 0) not null,
      fence_prepare numeric(20, 0) not null,
      failures integer not null,
      primary key (process, key, step)
    )
  `,
  laterColumns: {
    projectors: {
      copy_id: 'uuid not null default gen_random_uuid()',
      shape_id: 'uuid generated always as (md5(shape)::uuid) stored',
    },
    claims: {
      ended_leases: `timestamptz[] not null default '{}'`,
      error_class: 'text',
      error_code: 'text',
      error_host: 'text',
      first_failed_at: 'timestamptz',
      last_failed_at: 'timestamptz',
      failed_version: 'text',
      thrown: 'integer not null default 0',
      is_parked: 'boolean not null default false',
    },
  },
}

/** An index of a later column. */
const failingClaims =
  'create index if not exists failing_claims on runtime.claims (process, not_before) where error_class is not null'

/** Creates the schema `runtime` and its tables where they are missing. Safe on several instances at once. */
export async function ensureRuntimeSchema(pool: Pool, others: readonly RuntimeTables[] = []): Promise<void> {
  const tables = [engineTables, ...others]
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [schemaLock])
    await client.query(['create schema if not exists runtime', ...tables.map(({ created }) => created)].join(';'))
    // `alter table` waits for every reader, even if there is nothing to add.
    const { rows } = await client.query<{ table_name: string; column_name: string }>(
      `select table_name, column_name from information_schema.columns where table_schema = 'runtime'`,
    )
    for (const [table, columns] of tables.flatMap(({ laterColumns = {} }) => Object.entries(laterColumns))) {
      const existing = new Set(rows.filter((row) => row.table_name === table).map((row) => row.column_name))
      const missing = Object.entries(columns).filter(([name]) => !existing.has(name))
      if (missing.length === 0) continue
      const added = missing.map(([name, definition]) => `add column ${name} ${definition}`)
      await client.query(`alter table runtime.${table} ${added.join(', ')}`)
    }
    await client.query(failingClaims)
  })
}

/** Compares the stored read model with this program's. `older` also means: same version, other tables. */
export type Fit = 'current' | 'older' | 'newer'

/** `copyId`: each copy has its own. Only a `current` read model may run. */
export type PreparedProjector = Pick<StoredCheckpoint, 'position' | 'status' | 'copyId'> & { readonly fit: Fit }

/** The declared tables, for comparison with the existing ones. */
export function shapeOf(projector: Projector): string {
  return JSON.stringify(projector.tables)
}

/**
 * Returns the projector's start position. Creates its schema if there is none. A failed projector tries its event
 * again, because a restart may bring a fixed handler. The caller holds the projector's lock, and `client` is in a
 * transaction.
 */
export async function prepareProjector(client: PoolClient, projector: Projector): Promise<PreparedProjector> {
  await client.query('select pg_advisory_xact_lock($1)', [schemaLock])
  const { name } = projector
  const stored = (await readCheckpoints(client, [name], 'for update')).get(name)
  if (stored === undefined)
    return {
      position: startOfLog,
      status: 'rebuilding',
      fit: 'current',
      copyId: await createProjector(client, projector),
    }
  const { position, status, copyId } = stored
  const fit = fitOf(stored, projector)
  if (fit === 'current' && status === 'failed')
    await client.query(`update runtime.projectors set status = 'rebuilding', ${withoutFailure} where name = $1`, [name])
  return { position, status, copyId, fit }
}

/** Compares the stored version and tables with the program's. */
export function fitOf(stored: { readonly version: number; readonly shape: string }, projector: Projector): Fit {
  if (stored.version > projector.version) return 'newer'
  return stored.version === projector.version && stored.shape === shapeOf(projector) ? 'current' : 'older'
}

/** Drops and creates the projector's schema and tables, at the start of the log. Returns the copy's id. */
export async function createProjector(
  client: PoolClient,
  projector: Projector,
  status: StoredStatus = 'rebuilding',
): Promise<string> {
  const schema = quoted(projector.name)
  await client.query(`drop schema if exists ${schema} cascade; create schema ${schema}`)
  for (const table of projector.tables) await client.query(tableDefinition(projector.name, table))
  const { rows } = await client.query<{ copy_id: string }>(
    `insert into runtime.projectors (name, version, shape, commit_position, prepare_position, status, updated_at)
     values ($1, $2, $3, 0, 0, $4, now())
     on conflict (name) do update set version = excluded.version, shape = excluded.shape, commit_position = 0, prepare_position = 0,
       status = excluded.status, copy_id = excluded.copy_id, heartbeat_at = null, updated_at = now(), ${withoutFailure}
     returning copy_id`,
    [projector.name, projector.version, shapeOf(projector), status],
  )
  const [row] = rows
  if (row === undefined) throw new TypeError(`no row of ${projector.name} was written`)
  return row.copy_id
}

/** The columns and the key of a table, as `create table` takes them. */
export function columnDefinitions(table: Table): string {
  const columns = Object.entries(table.columns).map(
    ([name, column]) => `${quoted(name)} ${columnType(column)}${nullability(column)}`,
  )
  return [...columns, `primary key (${table.primaryKey.map(quoted).join(', ')})`].join(', ')
}

function tableDefinition(schema: string, table: Table): string {
  const target = `${quoted(schema)}.${quoted(table.name)}`
  const indexes = (table.indexes ?? []).map((index) => {
    const kind = index.unique === true ? 'unique index' : 'index'
    const isJson = index.columns.every((name) => columnType(table.columns[name]) === 'jsonb')
    const columnList = index.columns
      .map((name) => (isJson ? `${quoted(name)} jsonb_path_ops` : quoted(name)))
      .join(', ')
    const [first = ''] = index.columns
    const rows = index.isSparse === true ? ` where ${quoted(first)} is not null` : ''
    return `create ${kind} on ${target} ${isJson ? 'using gin ' : ''}(${columnList})${rows};`
  })
  return `create table ${target} (${columnDefinitions(table)}); ${indexes.join(' ')}`
}

function nullability(column: Column): string {
  return typeof column === 'string' || column.nullable !== true ? ' not null' : ''
}
