import type { PoolClient } from 'pg'
import type { ProjectionOperationOrder, RequestedProjectionOperation } from '../../contracts/operations/operations.ts'
import type { ProjectionOperation } from '../../contracts/operations/record.ts'
import type { RuntimeTables } from '../../engine/projections/schema.ts'
import { RebuildRefusedError } from '../../engine/rebuild/context.ts'
import { OperatorLocks } from '../../engine/rebuild/operator-locks.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Pool } from '../../platform/database/database.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { problem } from '../../platform/http/problems.ts'
import type { OperatorActor, ProjectionVerb } from '../../streams/operations/events.ts'
import { knownNames, projectorNamed, readProjector } from '../projections/known-projectors.ts'
import { recordAction } from './record-action.ts'

/** What operators requested of read models. */
export const projectionOperationTables: RuntimeTables = {
  created: `
    create table if not exists runtime.projection_operations (
      id uuid primary key,
      projector text not null,
      verb text not null,
      accepts_difference boolean not null,
      position text,
      actor_kind text not null,
      actor_id text,
      reason text,
      requested_at timestamptz not null,
      status text not null check (status in ('requested', 'running', 'done', 'different', 'failed')),
      progress double precision,
      detail text,
      seen_at timestamptz,
      ended_at timestamptz
    );
    create index if not exists projection_operations_of on runtime.projection_operations (projector, requested_at)
  `,
  laterColumns: { projection_operations: { copy_id: 'uuid' } },
}

/** Separates these locks from others in the same database. */
const lockClass = 7_307
/** For those that are over, in days. The newest of each read model stays. */
export const keptDays = 30

export interface OperationRow {
  readonly id: string
  readonly projector: string
  readonly verb: ProjectionVerb
  readonly accepts_difference: boolean
  readonly position: string | null
  readonly actor_kind: OperatorActor['kind']
  readonly actor_id: string | null
  readonly reason: string | null
  readonly requested_at: Date
  readonly status: ProjectionOperation['status']
  readonly progress: number | null
  readonly detail: string | null
}

function operationOf(row: OperationRow): ProjectionOperation {
  const { id, verb: action, status, progress, requested_at: requestedAt, detail } = row
  const actor = { kind: row.actor_kind, id: row.actor_id }
  return { id, action, status, progress, requested_at: requestedAt.toISOString(), actor, detail }
}

/** The newest operation of each read model. */
export async function newestOperations(pool: Pool): Promise<ReadonlyMap<string, ProjectionOperation>> {
  const { rows } = await pool.query<OperationRow>(
    'select distinct on (projector) * from runtime.projection_operations order by projector, requested_at desc, id',
  )
  return new Map(rows.map((row) => [row.projector, operationOf(row)]))
}

type Written = Pick<ProjectionOperationOrder, 'id' | 'projector' | 'projection' | 'actor' | 'reason'> & {
  readonly requestedAt: Date
}

/** One transaction holds the lock of the read model, and the event comes before its commit, as for a retry. */
export async function requestOperation(
  { pool, store, now }: { readonly pool: Pool; readonly store: EventStore; readonly now: () => Date },
  order: ProjectionOperationOrder,
): Promise<RequestedProjectionOperation> {
  const { id, projector, projection, reason, actor, context } = order
  if (!knownNames.includes(projector)) throw problem('not-found')
  return inTransaction(pool, async (client) => {
    const known = await lockedOperation(client, projector, id)
    if (known?.id === id) {
      const { verb, acceptsDifference, position } = projection
      const isSame =
        known.projector === projector &&
        known.verb === verb &&
        known.accepts_difference === acceptsDifference &&
        known.position === position &&
        known.reason === reason
      if (!isSame) throw problem('idempotency-key-reused')
      return { operation: operationOf(known), recorded: undefined }
    }
    if (known !== undefined) throw problem('projection-busy')
    await requireUnlocked(pool, projector)
    if (projection.verb === 'skip') await requireFailedAt(pool, projector, projection.position)
    const requestedAt = now()
    const row = await writeOperation(client, { ...order, requestedAt })
    const subject = { kind: 'projection', id: projector }
    const action = `projection.${projection.verb}` as const
    const at = requestedAt.toISOString()
    const recorded = await recordAction(
      store,
      { actionId: id, action, actor, subject, reason, count: 1, retried: null, projection, at },
      context,
    )
    return { operation: operationOf(row), recorded }
  })
}

/** The operation with this id, or the one that is not over. Nobody else requests one until the commit. */
export async function lockedOperation(
  client: PoolClient,
  projector: string,
  id: string,
): Promise<OperationRow | undefined> {
  await client.query('select pg_advisory_xact_lock($1, hashtext($2))', [lockClass, projector])
  const { rows } = await client.query<OperationRow>(
    `select * from runtime.projection_operations
     where id = $1 or (projector = $2 and status in ('requested', 'running')) order by (id = $1) desc limit 1`,
    [id, projector],
  )
  return rows[0]
}

export async function writeOperation(
  client: PoolClient,
  { id, projector, projection, actor, reason, requestedAt }: Written,
): Promise<OperationRow> {
  const { verb, acceptsDifference, position } = projection
  const { rows } = await client.query<OperationRow>(
    `insert into runtime.projection_operations
       (id, projector, verb, accepts_difference, position, actor_kind, actor_id, reason, requested_at, status)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'requested') returning *`,
    [id, projector, verb, acceptsDifference, position, actor.kind, actor.id, reason, requestedAt],
  )
  const [row] = rows
  if (row === undefined) throw new TypeError('an operation was not written')
  return row
}

/** A command of an operator, or a newer program, may work on the copies. @throws Problem */
async function requireUnlocked(pool: Pool, projector: string): Promise<void> {
  const locks = await OperatorLocks.open({ pool })
  try {
    await locks.take(projector)
  } catch (error) {
    throw error instanceof RebuildRefusedError ? problem('projection-busy') : error
  } finally {
    await locks.close()
  }
}

/** @throws Problem */
async function requireFailedAt(pool: Pool, projector: string, position: string | null): Promise<void> {
  if (projectorNamed(projector).decisive === true) throw problem('skip-refused')
  const { status, version = 0, failure, copies } = await readProjector(pool, projector)
  const newer = copies.filter((copy) => copy.kind === 'next' && copy.version > version)
  const failures = [status === 'failed' ? failure : undefined, ...newer.map((copy) => copy.failure)]
  if (!failures.some((one) => one?.position === position)) throw problem('projection-not-there')
}
