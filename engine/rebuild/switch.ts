import { DatabaseError, type PoolClient } from 'pg'
import { isDatabaseUnavailable } from '../../platform/database/database.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import {
  readCheckpoints,
  withoutFailure,
  type StoredCheckpoint,
  type StoredStatus,
} from '../projections/checkpoints.ts'
import { databaseFailure } from '../projections/database-errors.ts'
import { quoted } from '../projections/row-statements.ts'
import { fitOf, shapeOf } from '../projections/schema.ts'
import { RebuildRefusedError, type RebuildContext } from './context.ts'
import { copyNames, dropCopies, type Copy } from './copies.ts'
import { CopyLostError, fill } from './fill.ts'
import { closeGap, gapAtLock, NotYet, readGap, type Gap } from './gap.ts'

export interface Switched {
  readonly position: Position
  readonly status: StoredStatus
  /** The version that served before. */
  readonly from: number
}

/** How long a switch waits for a lock, in milliseconds. All others queue behind it. */
const lockMs = 1_000
/**
 * How long it holds the checkpoint of the serving one, in milliseconds. Heartbeats wait for it, so this must be short.
 */
const heldMs = 2_000
const leftOverMs = 5_000
const backoff = { firstMs: 50, mostMs: 2_000 }
const mostAttempts = 60

/**
 * Replaces the serving copy by a filled one, in one transaction. The old one becomes `x__previous`. Both are at the
 * same position, so the writer of `x` continues in the new one. A copy may be ahead of one that failed or has another
 * version, never behind. If the copy has a `failure`, nothing is switched.
 */
export async function switchOver(context: RebuildContext, copy: Copy): Promise<Switched | undefined> {
  const { pool, signal } = context
  const { serving } = copy
  let from: number | undefined
  for (let attempt = 1; ; attempt += 1) {
    try {
      const stored = await servingNow(context, serving.name)
      // An earlier attempt whose answer was lost.
      if (stored.copyId === copy.copyId)
        return { position: stored.position, status: stored.status, from: from ?? stored.version }
      signal?.throwIfAborted()
      from = stored.version
      await dropLeftOver(context, serving.name)
      await fill(context, [{ copy, upTo: stored.position }])
      if (copy.failure !== undefined) return undefined
      context.onProgress?.({
        phase: 'switching',
        projector: serving.name,
        events: 0,
        position: copy.position,
        target: copy.position,
      })
      const gap = await readGap(context, copy, stored)
      const switched = await inTransaction(pool, (client) => switchIn(context, client, copy, stored, gap))
      await dropLeftOver(context, serving.name)
      return switched
    } catch (error) {
      if (!isPassing(error) || attempt >= mostAttempts) throw error
      await pause(backoffMs(backoff, attempt), signal)
    }
  }
}

/**
 * Drops the copy before the previous one. Only readers that started before the switch still use it. The drop waits
 * briefly for them.
 */
async function dropLeftOver({ pool, logger }: RebuildContext, name: string): Promise<void> {
  try {
    await inTransaction(pool, async (client) => {
      await client.query(`set local lock_timeout = ${leftOverMs}`)
      await dropCopies(client, [copyNames(name).dropped])
    })
  } catch (err) {
    logger.warn({ component: 'projections', projector: name, err }, 'the copy before the previous one is dropped later')
  }
}

function isPassing(error: unknown): boolean {
  return (
    error instanceof NotYet ||
    isDatabaseUnavailable(error) ||
    (error instanceof DatabaseError && databaseFailure(error) === 'transient')
  )
}

async function switchIn(
  context: RebuildContext,
  client: PoolClient,
  copy: Copy,
  stored: StoredCheckpoint,
  gap: Gap,
): Promise<Switched> {
  const { serving, projector } = copy
  const names = copyNames(serving.name)
  // Locks the rows of projectors first, one at a time, the serving one before its copy. No other code locks two of
  // these rows.
  await client.query(`set local lock_timeout = ${lockMs}; set local statement_timeout = ${heldMs}`)
  const row = await lockedRow(client, serving.name)
  const deadline = performance.now() + heldMs
  if (row === undefined)
    throw new RebuildRefusedError('never-filled', `${serving.name} has gone while its copy was filled`)
  const { position } = row
  // This also covers an event skipped since the skips were read: only a failed projector can skip one, and then its
  // status changes.
  if (row.status !== stored.status || row.copyId !== stored.copyId) throw new NotYet('the serving one has changed')
  const fit = fitOf(row, serving)
  if (fit === 'newer')
    throw new RebuildRefusedError(
      'newer-version',
      `${serving.name} is served in version ${row.version}, and this program has ${serving.version}`,
    )
  const own = await lockedRow(client, projector.name)
  if (own?.copyId !== copy.copyId) throw new CopyLostError(`${projector.name} no longer belongs to this process`)
  // A fill does not wait for the disk.
  if (comparePositions(own.position, copy.position) !== 0)
    throw new CopyLostError(
      `the database has lost the last writes to ${projector.name}, or another process continued it`,
    )
  try {
    const missing = await gapAtLock(context, copy, gap, position)
    await limitRest(client, deadline)
    await closeGap(client, copy, missing, position)
  } catch (error) {
    // The fill without a lock will find and report the event.
    if (isPassing(error)) throw error
    throw new NotYet('an event that cannot be taken', { cause: error })
  }
  await limitRest(client, deadline)
  const reached = comparePositions(copy.position, position) > 0 ? copy.position : position
  const isTakenUp = fit === 'older' || row.status === 'failed' || comparePositions(reached, position) > 0
  const status = isTakenUp && row.status !== 'stopped' ? 'rebuilding' : row.status
  await swapSchemas(client, serving.name, projector.name)
  await client.query('delete from runtime.projectors where name = any($1)', [[names.previous, names.dropped]])
  // The previous copy gets a new id. With its old id, a writer that missed both switches would take it for its own
  // after a rollback.
  await client.query(
    `insert into runtime.projectors (name, version, shape, commit_position, prepare_position, status, updated_at)
     select $2, version, shape, commit_position, prepare_position, 'stopped', now() from runtime.projectors where name = $1`,
    [serving.name, names.previous],
  )
  // The serving one keeps its row: a writer that waits for the lock re-reads this row.
  await client.query(
    `update runtime.projectors set version = $2, shape = $3, copy_id = $4, commit_position = $5, prepare_position = $6, status = $7,
       updated_at = now(), ${withoutFailure} where name = $1`,
    [
      serving.name,
      serving.version,
      shapeOf(serving),
      copy.copyId,
      reached.commit.toString(),
      reached.prepare.toString(),
      status,
    ],
  )
  if (projector.name !== names.previous)
    await client.query('delete from runtime.projectors where name = $1', [projector.name])
  await limitRest(client, deadline)
  return { position: reached, status, from: row.version }
}

async function lockedRow(client: PoolClient, name: string): Promise<StoredCheckpoint | undefined> {
  return (await readCheckpoints(client, [name], 'for update')).get(name)
}

/** Limits the following statements to the remaining time. */
async function limitRest(client: PoolClient, deadline: number): Promise<void> {
  const leftMs = Math.floor(deadline - performance.now())
  if (leftMs <= 0) throw new NotYet('the switch takes too long')
  await client.query(`set local statement_timeout = ${leftMs}`)
}

async function swapSchemas(client: PoolClient, name: string, copy: string): Promise<void> {
  const { previous, dropped } = copyNames(name)
  const { rows } = await client.query<{ name: string }>(
    'select nspname as name from pg_namespace where nspname = any($1)',
    [[name, previous, dropped]],
  )
  const isThere = (schema: string) => rows.some((row) => row.name === schema)
  if (isThere(dropped)) throw new NotYet('an earlier copy is still being dropped')
  const rename = (from: string, to: string) => client.query(`alter schema ${quoted(from)} rename to ${quoted(to)}`)
  if (copy === previous) {
    await rename(previous, dropped)
    await rename(name, previous)
    await rename(dropped, name)
    return
  }
  if (isThere(previous)) await rename(previous, dropped)
  if (isThere(name)) await rename(name, previous)
  await rename(copy, name)
}

async function servingNow({ pool }: RebuildContext, name: string): Promise<StoredCheckpoint> {
  const stored = (await readCheckpoints(pool, [name])).get(name)
  if (stored === undefined) throw new RebuildRefusedError('never-filled', `${name} has never been filled`)
  return stored
}
