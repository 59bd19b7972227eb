import { createHash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { prepared } from '../../platform/prepared.ts'
import { inTransaction } from '../../platform/transaction.ts'
import type { RecordedEvent } from '../../streams/store/events.ts'
import type { Position } from '../../streams/store/positions.ts'
import { heldByName } from './checkpoints.ts'
import type { Handler, Projector, Table } from './projector.ts'
import { RowPlan } from './row-plan.ts'
import { RowConflictError } from './rows-step.ts'
import { columnArrays } from './column-arrays.ts'
import { statementsOf, type Statement } from './row-statements.ts'

/** One projector's part of a batch: its writes, and the move of its checkpoint, exclusive to inclusive. */
export interface Share {
  readonly projector: Projector
  readonly writes: readonly Write[]
  readonly from: Position
  readonly to: Position
}

interface Write {
  readonly table: string
  readonly statement: Statement
  /** The statement's parameters, in order. */
  readonly parameters: readonly string[]
}

/** The checkpoints of these projectors are not where this instance left them: another one has taken over. */
export class CheckpointLostError extends Error {
  override readonly name = 'CheckpointLostError'
  readonly projectors: readonly string[]

  constructor(projectors: readonly string[]) {
    super(`checkpoint moved by another instance: ${projectors.join(', ')}`)
    this.projectors = projectors
  }
}

/** What the projector does with an event of this type; undefined when it does not listen to it. */
export function handlerOf(projector: Projector, type: string): Handler | undefined {
  return Object.hasOwn(projector.handlers, type) ? projector.handlers[type] : undefined
}

/** Folds what the projector makes of the events and prepares its writes. Throws what a handler throws. */
export function shareOf(projector: Projector, events: readonly RecordedEvent[], from: Position, to: Position): Share {
  const plan = new RowPlan(tablesOf(projector))
  for (const event of events) {
    const handler = handlerOf(projector, event.type)
    if (handler !== undefined) plan.add(handler(event))
  }
  const writes = plan.steps.flatMap((step) =>
    statementsOf(projector.name, step).map((statement) => ({ table: step.table.name, statement, parameters: columnArrays(statement.columns, statement.rows) })),
  )
  return { projector, writes, from, to }
}

/**
 * Writes the shares of one batch and moves their checkpoints, all in one transaction. The checkpoints go first: they
 * lock out an instance that lost its advisory lock with a batch still in flight. Returns the tables in which a row was
 * written, `schema.table`.
 */
export async function writeShares(pool: Pool, shares: readonly Share[], { isLossHarmless = false }: WriteOptions = {}): Promise<string[]> {
  if (shares.length === 0) return []
  return inTransaction(pool, async (client) => {
    if (isLossHarmless) await client.query('set local synchronous_commit = off')
    return writeSharesIn(client, shares)
  })
}

export interface WriteOptions {
  /** A crash of the database may take the last of these writes with it, rows and checkpoint together. */
  readonly isLossHarmless?: boolean
}

/** The same inside the caller's transaction. */
export async function writeSharesIn(client: PoolClient, shares: readonly Share[]): Promise<string[]> {
  await advanceCheckpoints(client, shares)
  const changed = new Set<string>()
  for (const { projector, writes } of shares) {
    for (const write of writes) if ((await run(client, write)) > 0) changed.add(`${projector.name}.${write.table}`)
  }
  return [...changed]
}

/**
 * A copy that takes the place of the serving one stands at the same position: the writer goes on in it without noticing,
 * provided that version and tables are its own.
 */
async function advanceCheckpoints(client: PoolClient, shares: readonly Share[]): Promise<void> {
  const rows = shares
    .map(({ projector, from, to }) => ({
      name: projector.name,
      version: projector.version,
      shape_id: shapeIdOf(projector),
      from_commit: from.commit.toString(),
      from_prepare: from.prepare.toString(),
      to_commit: to.commit.toString(),
      to_prepare: to.prepare.toString(),
    }))
  const text = `with ${heldByName('$2')}
     update runtime.projectors p set commit_position = x.to_commit, prepare_position = x.to_prepare, updated_at = now()
     from json_to_recordset($1::json) as x(name text, version integer, shape_id uuid, from_commit numeric, from_prepare numeric, to_commit numeric, to_prepare numeric)
     where p.name in (select name from held) and p.name = x.name and p.version = x.version and p.shape_id = x.shape_id and p.commit_position = x.from_commit and p.prepare_position = x.from_prepare
     returning p.name`
  const moved = await client.query<{ name: string }>(prepared(text, [JSON.stringify(rows), rows.map(({ name }) => name)]))
  if (moved.rows.length === rows.length) return
  const held = new Set(moved.rows.map(({ name }) => name))
  throw new CheckpointLostError(rows.map(({ name }) => name).filter((name) => !held.has(name)))
}

/**
 * Returns how many rows were written. Only what reads no table is prepared: a plan that a connection keeps is right for its
 * tables as large as they were, and one that was made while they were empty reads through all of them once they have grown.
 */
async function run(client: PoolClient, { table, statement: { text, expected, readsTables }, parameters }: Write): Promise<number> {
  const query = readsTables ? { text, values: [...parameters] } : prepared(text, parameters)
  const rows = (await client.query(query)).rowCount ?? 0
  if (expected === undefined || rows === expected) return rows
  throw new RowConflictError(`${expected === 0 ? 'insert of an existing' : 'patch of a missing'} row of ${table}`)
}

const shapeIds = new WeakMap<readonly Table[], string>()

/** What `shape_id` of the projector's row must be. */
export function shapeIdOf({ tables }: Projector): string {
  const known = shapeIds.get(tables)
  if (known !== undefined) return known
  const id = createHash('md5').update(JSON.stringify(tables)).digest('hex')
  shapeIds.set(tables, id)
  return id
}

const tableMaps = new WeakMap<Projector, ReadonlyMap<string, Table>>()

function tablesOf(projector: Projector): ReadonlyMap<string, Table> {
  const known = tableMaps.get(projector)
  if (known !== undefined) return known
  const tables = new Map(projector.tables.map((table) => [table.name, table]))
  tableMaps.set(projector, tables)
  return tables
}
