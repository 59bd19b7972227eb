import { requestResume } from '../../engine/rebuild/resume.ts'
import { RebuildRefusedError, type RebuildContext } from '../../engine/rebuild/context.ts'
import { copyNames } from '../../engine/rebuild/copies.ts'
import { rebuild, verify, type Unable } from '../../engine/rebuild/rebuild.ts'
import { rollback } from '../../engine/rebuild/rollback.ts'
import type { Comparison } from '../../engine/rebuild/content.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { createPool, isDatabaseUnavailable, type Pool } from '../../platform/database/database.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { formatPosition, parsePosition } from '../../platform/kit/positions.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { operatorActionsProjector } from '../../projections/operations/operator-actions.projector.ts'
import type { OperatorActor, ProjectionOrder } from '../../streams/operations/events.ts'
import { becomeOf } from '../projections/going-on.ts'
import { projectorNamed } from '../projections/known-projectors.ts'
import { projectedStreams } from '../projections/projected-streams.ts'
import { skipFailedEvent, skippedIn } from '../projections/skip.ts'
import { filledLists } from './filled-lists.ts'
import { keptDays, lockedOperation, writeOperation, type OperationRow } from './projection-operations.ts'
import { repeat, type Repeating } from './repeating.ts'

/** In milliseconds. */
const turnEveryMs = 1_000
const beatEveryMs = 2_000
/** An operation whose process shows no sign of life for so long is carried out by another one. In seconds. */
const abandonedAfterSeconds = 15
/** A request whose process died is looked for so long, and as seldom. */
const lostForMinutes = 10
const lookEveryTurns = 10
/** Filling, indexing and comparing a large read model takes long statements. In milliseconds. */
const statementTimeoutMs = 3_600_000

interface ProjectionWorkerOptions {
  readonly pool: Pool
  readonly databaseUrl: string
  readonly store: EventStore
  readonly logger: Logger
  readonly everyMs?: number
}

interface Ended {
  readonly status: 'done' | 'different' | 'failed'
  readonly detail: string | null
}

/** Carries out what operators requested for read models, one at a time. Each projector process does. */
export function workOnProjections(options: ProjectionWorkerOptions): Repeating {
  const { pool, logger, everyMs = turnEveryMs } = options
  let turn = 0
  const work = async (signal: AbortSignal): Promise<void> => {
    if (turn % lookEveryTurns === 0) await takeLostOperations(pool)
    turn += 1
    const row = await begun(pool)
    if (row === undefined) return
    const seen = setInterval(() => void beat(pool, row).catch(() => undefined), beatEveryMs)
    try {
      const ended = await carriedOut(options, row, signal).catch((error: unknown): Ended => {
        // A database without a free connection, or away, is no result: the operation waits for it.
        if (signal.aborted || isDatabaseUnavailable(error)) throw error
        if (error instanceof RebuildRefusedError) return { status: 'failed', detail: error.reason }
        logger.error(
          { component: 'projections', projector: row.projector, err: error },
          'an operation on a read model failed',
        )
        return { status: 'failed', detail: error instanceof Error ? error.constructor.name : null }
      })
      await pool.query(
        `update runtime.projection_operations set status = $2, detail = $3, ended_at = clock_timestamp() where id = $1`,
        [row.id, ended.status, ended.detail],
      )
    } catch (error) {
      // The next process begins it anew.
      await pool.query(`update runtime.projection_operations set status = 'requested', progress = null where id = $1`, [
        row.id,
      ])
      throw error
    } finally {
      clearInterval(seen)
    }
  }
  return repeat({ everyMs, work, logger, component: 'operations on read models' })
}

/** Takes the oldest operation that nobody works on. */
async function begun(pool: Pool): Promise<OperationRow | undefined> {
  const { rows } = await pool.query<OperationRow>(
    `update runtime.projection_operations set status = 'running', seen_at = clock_timestamp() where id = (
       select id from runtime.projection_operations where status = 'requested'
         or (status = 'running' and seen_at < clock_timestamp() - make_interval(secs => ${abandonedAfterSeconds}))
       order by requested_at limit 1 for update skip locked)
     returning *`,
  )
  if (rows.length > 0)
    await pool.query(
      `delete from runtime.projection_operations o where ended_at < now() - make_interval(days => ${keptDays})
         and exists (select from runtime.projection_operations n where n.projector = o.projector and n.requested_at > o.requested_at)`,
    )
  return rows[0]
}

async function beat(pool: Pool, { id }: OperationRow, progress: number | null = null): Promise<void> {
  await pool.query(
    'update runtime.projection_operations set seen_at = clock_timestamp(), progress = coalesce($2, progress) where id = $1',
    [id, progress],
  )
}

async function carriedOut(
  { databaseUrl, store, logger, pool: shared }: ProjectionWorkerOptions,
  row: OperationRow,
  signal: AbortSignal,
): Promise<Ended> {
  const pool = createPool({ url: databaseUrl, max: 8, statementTimeoutMs, name: 'platform operations', logger })
  let shownMs = 0
  const context: RebuildContext = {
    eventStore: store,
    pool,
    logger,
    filter: { streamPrefixes: projectedStreams },
    skips: skippedIn(store),
    signal,
    onProgress({ position, target }) {
      if (performance.now() < shownMs + beatEveryMs) return
      shownMs = performance.now()
      const part = target.commit === 0n ? 1 : Number((position.commit * 1_000n) / target.commit) / 1_000
      void beat(shared, row, Math.min(1, part)).catch(() => undefined)
    },
  }
  try {
    return await outcomeOf(context, store, row)
  } finally {
    await pool.end()
  }
}

async function outcomeOf(context: RebuildContext, store: EventStore, row: OperationRow): Promise<Ended> {
  const { pool } = context
  const { projector: name, verb, accepts_difference: acceptDifference } = row
  const projector = projectorNamed(name)
  switch (verb) {
    case 'rebuild': {
      const [outcome] = await rebuild(context, [projector], { acceptDifference })
      if (outcome?.kind === 'switched') return done
      return outcome?.kind === 'differs' ? different(outcome.comparison) : unable(outcome)
    }
    case 'verify': {
      const [outcome] = await verify(context, [projector])
      if (outcome === undefined || !('comparison' in outcome)) return unable(outcome)
      return outcome.kind === 'equal' ? done : different(outcome.comparison)
    }
    case 'rollback': {
      const outcome = await rollback(context, projector, await copyToPutBack(pool, row))
      return outcome.kind === 'switched' ? done : unable(outcome)
    }
    case 'retry': {
      const resumed = await requestResume(pool, name)
      if (resumed === undefined) return done
      return (await becomeOf(pool, name, resumed)).isDone ? done : { status: 'failed', detail: 'failed-again' }
    }
    case 'skip': {
      const position = parsePosition(row.position ?? '')
      if (position === undefined) return { status: 'failed', detail: 'no-position' }
      const by = row.actor_id ?? row.actor_kind
      const { isDone } = await skipFailedEvent(pool, store, { name, position, reason: row.reason ?? '', by })
      return isDone ? done : { status: 'failed', detail: 'failed-again' }
    }
  }
}

/** Kept before the rollback. A process that takes it over then knows whether it was carried out. */
async function copyToPutBack(pool: Pool, { id, projector }: OperationRow): Promise<string | undefined> {
  const { rows } = await pool.query<{ copy_id: string | null }>(
    `update runtime.projection_operations set copy_id = coalesce(copy_id, (select copy_id from runtime.projectors where name = $2))
     where id = $1 returning copy_id`,
    [id, copyNames(projector).previous],
  )
  return rows[0]?.copy_id ?? undefined
}

const done: Ended = { status: 'done', detail: null }

function different({ difference }: Comparison): Ended {
  return { status: 'different', detail: difference?.table ?? null }
}

function unable(outcome: Unable | undefined): Ended {
  if (outcome === undefined) return { status: 'failed', detail: null }
  if (outcome.kind === 'refused') return { status: 'failed', detail: outcome.reason }
  const { eventType, position } = outcome.failure
  return { status: 'failed', detail: `${eventType} at ${formatPosition(position)}` }
}

interface LostRow {
  readonly action_id: string
  readonly subject_id: string
  readonly actor_kind: OperatorActor['kind']
  readonly actor_id: string | null
  readonly reason: string | null
  readonly at: Date
  readonly projection: ProjectionOrder
}

/** Requests that were recorded, and whose process died before it wrote them down. */
export async function takeLostOperations(pool: Pool): Promise<void> {
  if (!(await filledLists(pool))(operatorActionsProjector)) return
  const { rows } = await pool.query<LostRow>(
    `select * from operator_actions.actions a where at > now() - make_interval(mins => ${lostForMinutes}) and projection is not null
       and not exists (select from runtime.projection_operations o where o.id = a.action_id) order by at limit 100`,
  )
  for (const { action_id: id, subject_id: projector, reason, at: requestedAt, projection, ...row } of rows)
    await inTransaction(pool, async (client) => {
      if ((await lockedOperation(client, projector, id)) !== undefined) return
      const actor = { kind: row.actor_kind, id: row.actor_id }
      await writeOperation(client, { id, projector, projection, actor, reason, requestedAt })
    })
}
