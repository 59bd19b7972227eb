import type { Pool, PoolClient } from 'pg'
import { prepared } from '../../platform/database/prepared.ts'
import { categoryOf } from '../../streams/store/catalogue.ts'
import type { EventHead } from '../../streams/store/errors.ts'
import type { Position } from '../../platform/kit/positions.ts'

/** `rebuilding`: on its way to the head, after a rebuild, a failure or a stop. */
export type StoredStatus = 'running' | 'failed' | 'rebuilding' | 'stopped'

/** The event at which a projector stopped, and why; nothing of its content. */
export interface ProjectionFailure {
  readonly eventId: string
  readonly eventType: string
  readonly category: string
  readonly position: Position
  readonly reason: string
}

/** What `runtime.projectors` says of one projector. */
export interface StoredCheckpoint {
  readonly name: string
  readonly version: number
  /** Of the tables as they were declared, JSON. */
  readonly shape: string
  readonly copyId: string
  readonly position: Position
  readonly status: StoredStatus
  /** Milliseconds since its instance last said that it is alive, by the database's clock; null when none ever has. */
  readonly heartbeatAgeMs: number | null
  /** Milliseconds since its checkpoint last moved. */
  readonly idleMs: number
}

interface CheckpointRow {
  name: string
  version: number
  shape: string
  copy_id: string
  commit_position: string
  prepare_position: string
  status: StoredStatus
  heartbeat_age_ms: number | null
  idle_ms: number
}

/** Reads the checkpoints of the named projectors; one that no instance has ever prepared is not among them. */
export async function readCheckpoints(
  database: Pool | PoolClient,
  names: readonly string[],
): Promise<Map<string, StoredCheckpoint>> {
  const text = `select name, version, shape, copy_id, commit_position::text, prepare_position::text, status,
       (extract(epoch from clock_timestamp() - heartbeat_at) * 1000)::float8 as heartbeat_age_ms,
       (extract(epoch from clock_timestamp() - updated_at) * 1000)::float8 as idle_ms
     from runtime.projectors where name = any($1)`
  const { rows } = await database.query<CheckpointRow>(prepared(text, [names]))
  return new Map(
    rows.map((row) => [
      row.name,
      {
        name: row.name,
        version: row.version,
        shape: row.shape,
        copyId: row.copy_id,
        position: { commit: BigInt(row.commit_position), prepare: BigInt(row.prepare_position) },
        status: row.status,
        heartbeatAgeMs: row.heartbeat_age_ms,
        idleMs: row.idle_ms,
      },
    ]),
  )
}

/** What an operator wants of a projector, and which version of it serves. */
export interface Wanted {
  readonly status: StoredStatus
  readonly version: number
}

/**
 * Locks projectors one after the other, in the order of their names, for a statement that changes `where name in (select name
 * from held)`. Whatever changes several at once begins so: in the order of a plan, two of them could wait for each other.
 */
export function heldByName(names: string): string {
  return `held as (select name from runtime.projectors where name = any(${names}) order by name for no key update)`
}

/** Says that this instance runs these projectors, and returns what is wanted of each. */
export async function beat(client: PoolClient, names: readonly string[]): Promise<Map<string, Wanted>> {
  const { rows } = await client.query<Wanted & { readonly name: string }>(
    `with ${heldByName('$1')}
     update runtime.projectors set heartbeat_at = clock_timestamp() where name in (select name from held) returning name, status, version`,
    [names],
  )
  return new Map(rows.map(({ name, ...wanted }) => [name, wanted]))
}

/** A projector that this instance has brought to the head. */
export interface CaughtUp {
  readonly name: string
  readonly copyId: string
  readonly position: Position
}

/**
 * Ends `rebuilding` for projectors that have caught up; the names of those that are not `rebuilding` now. One whose copy
 * was changed meanwhile, or that was put back, is not what this instance knows, and stays `rebuilding`.
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

/** Stops a projector on every instance until `requestResume`; false when there is none of that name. */
export async function requestStop(pool: Pool, name: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update runtime.projectors set status = 'stopped', updated_at = clock_timestamp() where name = $1`,
    [name],
  )
  return rowCount === 1
}

/** Assignments that forget an earlier failure. */
export const withoutFailure = `failed_event_id = null, failed_event_type = null, failed_category = null, failed_commit = null,
  failed_prepare = null, failed_reason = null`

/** What was let go on. */
export interface Resumed {
  readonly isServing: boolean
  /** Of the copy that a newer program could not fill, and fills anew from now on. */
  readonly nextVersion: number | undefined
}

/**
 * Lets a stopped or failed projector go on with the event after its checkpoint. The row of a copy that another version, or
 * one with other tables, could not fill is deleted: whoever fills it begins with an empty one. Undefined where there was neither.
 */
export async function requestResume(database: Pool | PoolClient, name: string): Promise<Resumed | undefined> {
  const { rows } = await database.query<{ is_serving: boolean; next_version: number | null }>(
    `with next as (
       delete from runtime.projectors n using runtime.projectors x
       where n.name = $2 and n.status = 'failed' and x.name = $1 and (n.version <> x.version or n.shape <> x.shape) returning n.version
     ), serving as (
       update runtime.projectors set status = 'rebuilding', updated_at = clock_timestamp(), ${withoutFailure}
       where name = $1 and status in ('stopped', 'failed') returning name
     )
     select exists (select from serving) as is_serving, (select version from next) as next_version`,
    [name, nextCopyOf(name)],
  )
  const [row] = rows
  if (row === undefined || (!row.is_serving && row.next_version === null)) return undefined
  return { isServing: row.is_serving, nextVersion: row.next_version ?? undefined }
}

/** The copy of a read model that is filled to take its place. */
export function nextCopyOf(name: string): string {
  return `${name}__next`
}

/** False when another copy serves by now, or the event has been passed: nothing is recorded then. */
export async function recordFailure(
  pool: Pool,
  name: string,
  copyId: string,
  failure: ProjectionFailure,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update runtime.projectors set status = 'failed', failed_event_id = $3, failed_event_type = $4, failed_category = $5,
       failed_commit = $6, failed_prepare = $7, failed_reason = $8, updated_at = clock_timestamp()
     where name = $1 and copy_id = $2 and (commit_position, prepare_position) < ($6::numeric, $7::numeric)`,
    [
      name,
      copyId,
      failure.eventId,
      failure.eventType,
      failure.category,
      failure.position.commit.toString(),
      failure.position.prepare.toString(),
      failure.reason,
    ],
  )
  return rowCount === 1
}

export function failureOf(head: EventHead, reason: string): ProjectionFailure {
  return { eventId: head.id, eventType: head.type, category: categoryOf(head.stream), position: head.position, reason }
}
