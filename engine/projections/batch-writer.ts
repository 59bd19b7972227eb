import type { PoolClient } from 'pg'
import { prepared } from '../../platform/database/prepared.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import type { RecordedEvent } from '../store/events.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { type BatchPart, type Write, checkpointRows, checkpointsMove } from './checkpoint-moves.ts'
import { writeJoined, type JoinedOptions } from './joined-writes.ts'
import type { Handler, Projector } from './projector.ts'
import { RowPlan } from './row-plan.ts'
import { RowConflictError } from './rows-step.ts'
import { columnArrays } from './column-arrays.ts'
import { rowsFrom, statementsOf } from './row-statements.ts'
import { createPool, type Pool, type PoolOptions } from '../../platform/database/database.ts'

/** The checkpoints of these projectors differ from what this instance wrote: another instance has taken over. */
export class CheckpointLostError extends Error {
  override readonly name = 'CheckpointLostError'
  readonly projectors: readonly string[]

  constructor(projectors: readonly string[]) {
    super(`checkpoint moved by another instance: ${projectors.join(', ')}`)
    this.projectors = projectors
  }
}

/** The projector's handler for an event of this type; undefined if it does not listen to it. */
export function handlerOf(projector: Projector, type: string): Handler | undefined {
  return Object.hasOwn(projector.handlers, type) ? projector.handlers[type] : undefined
}

/** The event as the projector's handlers get it. */
export function asHandled({ opensPersonal }: Projector, event: RecordedEvent): RecordedEvent {
  const sealed = event.sealed ?? event.data
  return opensPersonal === true ? { ...event, sealed } : event.sealed === undefined ? event : { ...event, data: sealed }
}

/** Folds the projector's row changes for the events and prepares its writes. Throws the error of a handler. */
export function partOf(
  projector: Projector,
  events: readonly RecordedEvent[],
  from: Position,
  to: Position,
): BatchPart {
  const plan = new RowPlan(projector.tables)
  for (const event of events) {
    const handler = handlerOf(projector, event.type)
    if (handler !== undefined) plan.add(handler(asHandled(projector, event)))
  }
  const writes = plan.steps.flatMap((step) =>
    statementsOf(projector.name, step).map((statement) => ({
      table: step.table.name,
      statement,
      parameters: columnArrays(statement.columns, statement.rows),
    })),
  )
  return { projector, writes, from, to }
}

/**
 * Writes the parts of one batch and moves their checkpoints in one transaction. The checkpoints move first: this locks
 * out an instance that lost its advisory lock during a batch. Returns the writes that touched a row.
 */
export async function writeBatch(
  pool: Pool,
  parts: readonly BatchPart[],
  { isLossHarmless = false, copies, ...joining }: WriteOptions = {},
): Promise<Set<Write>> {
  if (parts.length === 0) return new Set()
  const joined = copies === undefined ? undefined : await writeJoined(pool, parts, copies, joining)
  if (joined !== undefined) return joined
  return inTransaction(pool, async (client) => {
    if (isLossHarmless) await client.query('set local synchronous_commit = off')
    return writeBatchIn(client, parts, copies)
  })
}

export interface WriteOptions extends JoinedOptions {
  /** A crash of the database may lose the last of these writes, rows and checkpoint together. */
  readonly isLossHarmless?: boolean
  /** Ids of the copies of the last write, by projector, kept between writes. Without it, nothing is joined. */
  readonly copies?: Map<string, string> | undefined
}

/** The same inside the caller's transaction. */
export async function writeBatchIn(
  client: PoolClient,
  parts: readonly BatchPart[],
  copies?: Map<string, string>,
): Promise<Set<Write>> {
  await moveCheckpoints(client, parts, copies)
  return writeRowsIn(client, parts)
}

/** Writes the rows alone. The caller's tables have no checkpoints. */
export async function writeRowsIn(client: Pick<PoolClient, 'query'>, parts: readonly BatchPart[]): Promise<Set<Write>> {
  const touched = new Set<Write>()
  for (const write of parts.flatMap(({ writes }) => writes)) if ((await run(client, write)) > 0) touched.add(write)
  return touched
}

async function moveCheckpoints(
  client: PoolClient,
  parts: readonly BatchPart[],
  copies: Map<string, string> | undefined,
): Promise<void> {
  const names = parts.map(({ projector }) => projector.name)
  const text = `with ${checkpointsMove()} select name, copy_id from moved`
  const { rows } = await client.query<{ name: string; copy_id: string }>(
    prepared(text, [JSON.stringify(checkpointRows(parts)), names]),
  )
  for (const { name, copy_id: id } of rows) copies?.set(name, id)
  if (rows.length === names.length) return
  const moved = new Set(rows.map(({ name }) => name))
  throw new CheckpointLostError(names.filter((name) => !moved.has(name)))
}

/** Returns the number of written rows. A prepared statement that reads would keep its plan for an empty table. */
async function run(
  client: Pick<PoolClient, 'query'>,
  { table, statement: { text, columns, expected, reads }, parameters }: Write,
): Promise<number> {
  const whole = text(rowsFrom(columns))
  const query = reads.length > 0 ? { text: whole, values: [...parameters] } : prepared(whole, parameters)
  const rows = (await client.query(query)).rowCount ?? 0
  if (expected === undefined || rows === expected) return rows
  throw new RowConflictError(`${expected === 0 ? 'insert of an existing' : 'patch of a missing'} row of ${table}`)
}

/**
 * Connections for the batches of projectors. Prepared statements are planned once, for tables of any size: from the
 * given rows to the rows of a named index. A free planner may choose a full scan while a table is empty, and keep that
 * plan after the table has grown.
 */
export function createWritePool(options: Pick<PoolOptions, 'url' | 'max' | 'logger'>): Pool {
  const settings = {
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
  }
  return createPool({ max: 4, ...options, name: 'projections', settings })
}
