import type { Pool, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { prepared } from '../../platform/database/prepared.ts'
import { categoryOf } from '../store/catalogue.ts'
import type { EventHead } from '../store/errors.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { Projector } from './projector.ts'

/** `rebuilding`: catching up after a rebuild, a failure or a stop. */
export type StoredStatus = 'running' | 'failed' | 'rebuilding' | 'stopped'

/** The event at which a projector stopped, and the reason; none of its content. */
export interface ProjectionFailure {
  readonly eventId: string
  readonly eventType: string
  readonly category: string
  readonly position: Position
  readonly reason: string
}

/** The row of one projector in `runtime.projectors`. */
export interface StoredCheckpoint {
  readonly name: string
  readonly version: number
  /** JSON of the declared tables. */
  readonly shape: string
  readonly copyId: string
  readonly position: Position
  readonly status: StoredStatus
  /** Milliseconds since the last heartbeat of its instance, by the database's clock; null if there was none. */
  readonly heartbeatAgeMs: number | null
  /** Milliseconds since its checkpoint last moved. */
  readonly idleMs: number
}

type CheckpointRow = Omit<StoredCheckpoint, 'position'> & { readonly commit: string; readonly prepare: string }

/** A pool, one of its connections, or the connection of the locks. */
interface Queries {
  query<Row extends QueryResultRow>(statement: QueryConfig): Promise<QueryResult<Row>>
}

/** Reads the checkpoints of the named projectors. Skips projectors that no instance has ever prepared. */
export async function readCheckpoints(
  database: Queries,
  names: readonly string[],
  lock: '' | 'for update' = '',
): Promise<Map<string, StoredCheckpoint>> {
  const text = `select name, version, shape, copy_id as "copyId", commit_position::text as commit, prepare_position::text as prepare, status,
       (extract(epoch from clock_timestamp() - heartbeat_at) * 1000)::float8 as "heartbeatAgeMs",
       (extract(epoch from clock_timestamp() - updated_at) * 1000)::float8 as "idleMs"
     from runtime.projectors where name = any($1) ${lock}`
  const { rows } = await database.query<CheckpointRow>(prepared(text, [names]))
  return new Map(
    rows.map(({ commit, prepare, ...row }) => [
      row.name,
      { ...row, position: { commit: BigInt(commit), prepare: BigInt(prepare) } },
    ]),
  )
}

/** The state that an operator requested for a projector, and its serving version. */
export interface Wanted {
  readonly status: StoredStatus
  readonly version: number
}

/**
 * Locks projectors in the order of their names, for a statement that changes `where name in (select name from held)`.
 * Every change of several projectors starts this way. In the order of a query plan, two changes could deadlock.
 */
export function heldByName(names: string): string {
  return `held as (select name from runtime.projectors where name = any(${names}) order by name for no key update)`
}

/** Writes this instance's heartbeat for these projectors. Returns the requested state of each. */
export async function beat(
  database: Queries,
  runs: readonly { readonly projector: Pick<Projector, 'name'> }[],
): Promise<Map<string, Wanted>> {
  const names = runs.map(({ projector }) => projector.name)
  const text = `with ${heldByName('$1')}
     update runtime.projectors set heartbeat_at = clock_timestamp() where name in (select name from held) returning name, status, version`
  const { rows } = await database.query<Wanted & { readonly name: string }>({ text, values: [names] })
  return new Map(rows.map(({ name, ...wanted }) => [name, wanted]))
}

/** A projector that has caught up on this instance. */
export interface CaughtUp {
  readonly name: string
  readonly copyId: string
  readonly position: Position
}

/**
 * Ends `rebuilding` for projectors that have caught up. Returns the names of those that are not `rebuilding` now. A
 * projector stays `rebuilding` if its copy changed meanwhile, or if it was put back.
 */
export async function markCaughtUp(pool: Pool, reached: readonly CaughtUp[]): Promise<Set<string>> {
  const json = reached.map(({ name, copyId, position }) => ({
    name,
    copy_id: copyId,
    commit_position: position.commit.toString(),
    prepare_position: position.prepare.toString(),
  }))
  const { rows } = await pool.query<{ name: string }>(
    `with ${heldByName('$2')}, reached as (
       select * from json_to_recordset($1::json) as x(name text, copy_id uuid, commit_position numeric, prepare_position numeric)
     ), marked as (
       update runtime.projectors p set status = 'running', updated_at = clock_timestamp() from reached x
       where p.name in (select name from held) and p.name = x.name and p.copy_id = x.copy_id and p.status = 'rebuilding'
         and (p.commit_position, p.prepare_position) >= (x.commit_position, x.prepare_position)
       returning p.name
     )
     select name from marked union select name from runtime.projectors where name in (select name from reached) and status <> 'rebuilding'`,
    [JSON.stringify(json), reached.map(({ name }) => name)],
  )
  return new Set(rows.map(({ name }) => name))
}

/** Assignments that clear an earlier failure. */
export const withoutFailure = `failed_event_id = null, failed_event_type = null, failed_category = null, failed_commit = null,
  failed_prepare = null, failed_reason = null`

/** False if another copy serves now, or if the checkpoint has passed the event. Then nothing is recorded. */
export async function recordFailure(
  pool: Pool,
  name: string,
  copyId: string,
  failure: ProjectionFailure,
): Promise<boolean> {
  const { eventId, eventType, category, position, reason } = failure
  const { commit, prepare } = position
  const { rowCount } = await pool.query(
    `update runtime.projectors set status = 'failed', failed_event_id = $3, failed_event_type = $4, failed_category = $5,
       failed_commit = $6, failed_prepare = $7, failed_reason = $8, updated_at = clock_timestamp()
     where name = $1 and copy_id = $2 and (commit_position, prepare_position) < ($6::numeric, $7::numeric)`,
    [name, copyId, eventId, eventType, category, commit.toString(), prepare.toString(), reason],
  )
  return rowCount === 1
}

export function failureOf(head: EventHead, reason: string): ProjectionFailure {
  return { eventId: head.id, eventType: head.type, category: categoryOf(head.stream), position: head.position, reason }
}
