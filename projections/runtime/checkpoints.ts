import type { Pool, PoolClient } from 'pg'
import { categoryOf } from '../../streams/store/catalogue.ts'
import type { EventHead } from '../../streams/store/errors.ts'
import type { Position } from '../../streams/store/positions.ts'

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
  commit_position: string
  prepare_position: string
  status: StoredStatus
  heartbeat_age_ms: number | null
  idle_ms: number
}

/** Reads the checkpoints of the named projectors; one that no instance has ever prepared is not among them. */
export async function readCheckpoints(database: Pool | PoolClient, names: readonly string[]): Promise<Map<string, StoredCheckpoint>> {
  const { rows } = await database.query<CheckpointRow>(
    `select name, version, commit_position::text, prepare_position::text, status,
       (extract(epoch from clock_timestamp() - heartbeat_at) * 1000)::float8 as heartbeat_age_ms,
       (extract(epoch from clock_timestamp() - updated_at) * 1000)::float8 as idle_ms
     from runtime.projectors where name = any($1)`,
    [names],
  )
  return new Map(
    rows.map((row) => [
      row.name,
      {
        name: row.name,
        version: row.version,
        position: { commit: BigInt(row.commit_position), prepare: BigInt(row.prepare_position) },
        status: row.status,
        heartbeatAgeMs: row.heartbeat_age_ms,
        idleMs: row.idle_ms,
      },
    ]),
  )
}

/** Says that this instance runs these projectors, and returns what an operator wants of each. */
export async function beat(client: PoolClient, names: readonly string[]): Promise<Map<string, StoredStatus>> {
  const { rows } = await client.query<{ name: string; status: StoredStatus }>(
    'update runtime.projectors set heartbeat_at = clock_timestamp() where name = any($1) returning name, status',
    [names],
  )
  return new Map(rows.map(({ name, status }) => [name, status]))
}

/** Ends `rebuilding` for projectors that have caught up. */
export async function markCaughtUp(pool: Pool, names: readonly string[]): Promise<void> {
  await pool.query(`update runtime.projectors set status = 'running', updated_at = clock_timestamp() where name = any($1) and status = 'rebuilding'`, [names])
}

/** Stops a projector on every instance until `requestResume`; false when there is none of that name. */
export async function requestStop(pool: Pool, name: string): Promise<boolean> {
  const { rowCount } = await pool.query(`update runtime.projectors set status = 'stopped', updated_at = clock_timestamp() where name = $1`, [name])
  return rowCount === 1
}

/** Assignments that forget an earlier failure. */
export const withoutFailure = `failed_event_id = null, failed_event_type = null, failed_category = null, failed_commit = null,
  failed_prepare = null, failed_reason = null`

/** Lets a stopped or failed projector go on with the event after its checkpoint. */
export async function requestResume(pool: Pool, name: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update runtime.projectors set status = 'rebuilding', updated_at = clock_timestamp(), ${withoutFailure}
     where name = $1 and status in ('stopped', 'failed')`,
    [name],
  )
  return rowCount === 1
}

export async function recordFailure(pool: Pool, name: string, failure: ProjectionFailure): Promise<void> {
  await pool.query(
    `update runtime.projectors set status = 'failed', failed_event_id = $2, failed_event_type = $3, failed_category = $4,
       failed_commit = $5, failed_prepare = $6, failed_reason = $7, updated_at = clock_timestamp() where name = $1`,
    [
      name,
      failure.eventId,
      failure.eventType,
      failure.category,
      failure.position.commit.toString(),
      failure.position.prepare.toString(),
      failure.reason,
    ],
  )
}

export function failureOf(head: EventHead, reason: string): ProjectionFailure {
  return { eventId: head.id, eventType: head.type, category: categoryOf(head.stream), position: head.position, reason }
}
