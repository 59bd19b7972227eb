import type { Pool } from '../../platform/database/database.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import type { Copy } from '../../engine/rebuild/copies.ts'
import { fill } from '../../engine/rebuild/fill.ts'
import type { Projector, Row } from '../../engine/projections/projector.ts'
import { quoted } from '../../engine/projections/row-statements.ts'
import { prepareProjector } from '../../engine/projections/schema.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { startOfLog, type Position } from '../../platform/kit/positions.ts'

/** Discards all log lines. */
export const silentLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** Deletes every row and sets the checkpoints to a position. Does not touch a projector that was never prepared. */
export async function empty(pool: Pool, projectors: readonly Projector[], at: Position = startOfLog): Promise<void> {
  const names = projectors.map(({ name }) => name)
  const { rows } = await pool.query<{ name: string }>('select name from runtime.projectors where name = any($1)', [
    names,
  ])
  const known = new Set(rows.map(({ name }) => name))
  const deletions = projectors
    .filter(({ name }) => known.has(name))
    .flatMap(({ name, tables }) => tables.map((table) => `delete from ${quoted(name)}.${quoted(table.name)};`))
  await pool.query(`begin; ${deletions.join(' ')} commit`)
  await pool.query(
    `update runtime.projectors set commit_position = $2, prepare_position = $3, status = 'rebuilding', heartbeat_at = null where name = any($1)`,
    [names, at.commit.toString(), at.prepare.toString()],
  )
}

/** Fills copies of read models as a rebuild does. Each stops at its own position. Batches have `size` events. */
export async function rebuild(
  pool: Pool,
  log: Pick<EventStore, 'readLog' | 'head'>,
  copies: readonly Projector[],
  size: number,
  upTo: (name: string) => Position,
): Promise<void> {
  const prepared = await inTransaction(pool, async (client) => {
    const all = []
    for (const projector of copies) all.push({ projector, ...(await prepareProjector(client, projector)) })
    return all
  })
  await empty(pool, copies)
  const targets = prepared.map(({ projector, copyId }) => {
    const copy: Copy = {
      serving: projector,
      projector,
      copyId,
      skipped: new Set(),
      position: startOfLog,
      isActive: true,
      failure: undefined,
    }
    return { copy, upTo: upTo(projector.name) }
  })
  await fill({ eventStore: log, pool, filter: { streamPrefixes: [] }, logger: silentLogger, batchSize: size }, targets)
  for (const { copy } of targets)
    if (copy.failure !== undefined) throw new Error(`${copy.projector.name} cannot be rebuilt: ${copy.failure.reason}`)
}

/** Rows per projector and table, in order of their keys, as Postgres formats them in JSON. */
export type Contents = Readonly<Record<string, Readonly<Record<string, readonly Row[]>>>>

interface Read {
  readonly contents: Contents
  /** The checkpoint of each projector. */
  readonly positions: ReadonlyMap<string, Position>
}

/** Reads all rows and checkpoints of the projectors at one moment, under the given names. */
export async function read(pool: Pool, projectors: ReadonlyMap<string, Projector>): Promise<Read> {
  const members = [...projectors].map(([name, projector]) => {
    const tables = projector.tables.map((table) => {
      const key = table.primaryKey.map((column) => `t.${quoted(column)}`).join(', ')
      return `'${table.name}', (select coalesce(jsonb_agg(to_jsonb(t) order by ${key}), '[]') from ${quoted(projector.name)}.${quoted(table.name)} t)`
    })
    const place = `(select jsonb_build_array(commit_position::text, prepare_position::text) from runtime.projectors where name = '${projector.name}')`
    return `'${name}', jsonb_build_object('place', ${place}, 'tables', jsonb_build_object(${tables.join(', ')}))`
  })
  const { rows } = await pool.query<{
    all: Record<string, { place: [string, string]; tables: Record<string, Row[]> }>
  }>(`select jsonb_build_object(${members.join(', ')}) as all`)
  const all = Object.entries(rows[0]?.all ?? {})
  return {
    contents: Object.fromEntries(all.map(([name, { tables }]) => [name, tables])),
    positions: new Map(
      all.map(
        ([
          name,
          {
            place: [commit, prepare],
          },
        ]) => [name, { commit: BigInt(commit), prepare: BigInt(prepare) }],
      ),
    ),
  }
}

/** A text about the first row in which two contents differ. Undefined when they are equal. */
export function firstDifference(live: Contents, rebuilt: Contents): string | undefined {
  for (const [name, tables] of Object.entries(rebuilt)) {
    for (const [table, rows] of Object.entries(tables)) {
      const others = live[name]?.[table] ?? []
      for (let index = 0; index < Math.max(rows.length, others.length); index += 1) {
        const [mine, theirs] = [JSON.stringify(rows[index]), JSON.stringify(others[index])]
        if (mine !== theirs) return `${name}.${table}, row ${index + 1}:\n  live     ${theirs}\n  rebuilt  ${mine}`
      }
    }
  }
  return undefined
}
