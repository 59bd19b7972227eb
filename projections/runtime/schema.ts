import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../platform/transaction.ts'
import { startOfLog, type Position } from '../../streams/store/positions.ts'
import { withoutFailure, type StoredStatus } from './checkpoints.ts'
import type { Column, Projector, Table } from './projector.ts'
import { columnType, quoted } from './row-statements.ts'

/** Any number that all instances agree on: serialises the creation of schemas. */
const schemaLock = 7_305_001

const runtimeTables = `
  create schema if not exists runtime;
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
  );
`

/** Creates the runtime's own schema when it is missing; safe on several instances at once. */
export async function ensureRuntimeSchema(pool: Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [schemaLock])
    await client.query(runtimeTables)
  })
}

export interface PreparedProjector {
  readonly position: Position
  readonly status: StoredStatus
}

interface CheckpointRow {
  version: number
  shape: string
  commit_position: string
  prepare_position: string
  status: StoredStatus
}

/**
 * Makes the projector's schema ready and returns where it goes on from. One whose version or tables differ from what is
 * stored is dropped and starts anew; one that had failed tries its event again, since a start may bring the mended
 * handler. The caller holds the projector's lock, and `client` is in a transaction.
 */
export async function prepareProjector(client: PoolClient, projector: Projector): Promise<PreparedProjector> {
  const shape = JSON.stringify(projector.tables)
  await client.query('select pg_advisory_xact_lock($1)', [schemaLock])
  const stored = await client.query<CheckpointRow>('select * from runtime.projectors where name = $1 for update', [projector.name])
  const [row] = stored.rows
  const isCurrent = row !== undefined && row.version === projector.version && row.shape === shape
  if (isCurrent) {
    if (row.status === 'failed') await client.query(`update runtime.projectors set status = 'rebuilding', ${withoutFailure} where name = $1`, [projector.name])
    return { position: { commit: BigInt(row.commit_position), prepare: BigInt(row.prepare_position) }, status: row.status }
  }
  await createSchema(client, projector)
  await client.query(
    `insert into runtime.projectors (name, version, shape, commit_position, prepare_position, status, updated_at)
     values ($1, $2, $3, 0, 0, 'rebuilding', now())
     on conflict (name) do update set version = excluded.version, shape = excluded.shape, commit_position = 0, prepare_position = 0,
       status = 'rebuilding', updated_at = now(), ${withoutFailure}`,
    [projector.name, projector.version, shape],
  )
  return { position: startOfLog, status: 'rebuilding' }
}

/** Drops and creates the projector's schema with its tables, inside the caller's transaction. */
async function createSchema(client: PoolClient, projector: Projector): Promise<void> {
  const schema = quoted(projector.name)
  await client.query(`drop schema if exists ${schema} cascade; create schema ${schema}`)
  for (const table of projector.tables) await client.query(tableDefinition(projector.name, table))
}

/** Names that Postgres takes unquoted, so that queries elsewhere read plainly; `runtime` is the runtime's own. */
export function assertNames(projector: Projector): void {
  const names = [projector.name, ...projector.tables.flatMap((table) => [table.name, ...Object.keys(table.columns)])]
  const wrong = names.find((name) => !/^[a-z][a-z0-9_]{0,62}$/.test(name))
  if (wrong !== undefined) throw new TypeError(`projector ${projector.name}: ${wrong} is not a snake_case name`)
  if (['runtime', 'public', 'vault'].includes(projector.name)) throw new TypeError(`projector ${projector.name}: the name is taken`)
  for (const table of projector.tables) {
    const used = [...table.primaryKey, ...(table.indexes ?? []).flatMap((index) => index.columns)]
    const missing = used.find((name) => !(name in table.columns))
    if (missing !== undefined) throw new TypeError(`projector ${projector.name}: table ${table.name} has no column ${missing}`)
    if (table.primaryKey.length === 0) throw new TypeError(`projector ${projector.name}: table ${table.name} has no primary key`)
  }
}

function tableDefinition(schema: string, table: Table): string {
  const target = `${quoted(schema)}.${quoted(table.name)}`
  const columns = Object.entries(table.columns).map(([name, column]) => `${quoted(name)} ${columnType(column)}${nullability(column)}`)
  const key = `primary key (${table.primaryKey.map(quoted).join(', ')})`
  const indexes = (table.indexes ?? []).map((index) => {
    const kind = index.unique === true ? 'unique index' : 'index'
    const isJson = index.columns.every((name) => columnType(table.columns[name]) === 'jsonb')
    const columnList = index.columns.map((name) => (isJson ? `${quoted(name)} jsonb_path_ops` : quoted(name))).join(', ')
    return `create ${kind} on ${target} ${isJson ? 'using gin ' : ''}(${columnList});`
  })
  return `create table ${target} (${[...columns, key].join(', ')}); ${indexes.join(' ')}`
}

function nullability(column: Column): string {
  return typeof column === 'string' ? ' not null' : ''
}
