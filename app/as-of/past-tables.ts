import { partOf, writeRowsIn } from '../../engine/projections/batch-writer.ts'
import type { BatchPart } from '../../engine/projections/checkpoint-moves.ts'
import type { Projector } from '../../engine/projections/projector.ts'
import { quoted } from '../../engine/projections/row-statements.ts'
import { columnDefinitions } from '../../engine/projections/schema.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import type { Pool, PoolClient } from '../../platform/database/database.ts'
import { startOfLog } from '../../platform/kit/positions.ts'

/**
 * The connection on which queries of the read models find the tables of the moment, filled from events in the order of the
 * log. Handlers and statements are those of the read models. Only the names of tables differ. A table exists from the first
 * query that names it, until the end of the transaction: most answers read one of several.
 */
export function pastTables(
  client: PoolClient,
  projectors: readonly Projector[],
  events: readonly RecordedEvent[],
): PoolClient {
  const parts = projectors.map((projector) => partOf(projector, events, startOfLog, startOfLog))
  const existing = new Set<string>()
  const names = new Map(
    projectors.flatMap(({ name, tables }) =>
      tables.map((table) => [placeOf(name, table.name), `pg_temp.${ownName(name, table.name)}`] as const),
    ),
  )
  const filled = withQuery(client, (query) => (text, values) => query(renamed(text, names), values))

  async function create(text: string): Promise<void> {
    const named = placesIn(text)
    const missing = parts.map((part) => {
      const tables = groupsOf(part).filter((group) =>
        group.some((name) => named.has(placeOf(part.projector.name, name))),
      )
      return only(part, new Set(tables.flat().filter((name) => !existing.has(placeOf(part.projector.name, name)))))
    })
    const definitions = missing.flatMap(({ projector: { name, tables } }) =>
      tables.map((table) => {
        existing.add(placeOf(name, table.name))
        return `create temporary table ${ownName(name, table.name)} (${columnDefinitions(table)});`
      }),
    )
    if (definitions.length === 0) return
    await client.query(definitions.join(' '))
    await writeRowsIn(filled, missing)
  }

  // A connection runs one statement after another.
  let last: Promise<unknown> = Promise.resolve()
  return withQuery(filled, (query) => (text, values) => {
    const result = last.then(async () => {
      await create(text)
      return query(text, values)
    })
    last = result.catch(() => undefined)
    return result
  })
}

/** The part that writes these tables. */
function only({ projector, writes, ...part }: BatchPart, tables: ReadonlySet<string>) {
  return {
    ...part,
    projector: { ...projector, tables: projector.tables.filter(({ name }) => tables.has(name)) },
    writes: writes.filter(({ table }) => tables.has(table)),
  }
}

/** The tables that must be written together, because a write of one reads another. */
function groupsOf({ projector, writes }: BatchPart): readonly (readonly string[])[] {
  let groups = projector.tables.map(({ name }) => [name])
  for (const { table, statement } of writes) {
    const concerns = (group: readonly string[]): boolean =>
      group.some((name) => name === table || statement.reads.includes(name))
    groups = [...groups.filter((group) => !concerns(group)), groups.filter(concerns).flat()]
  }
  return groups
}

function placeOf(projector: string, table: string): string {
  return `${quoted(projector)}.${quoted(table)}`
}

function ownName(projector: string, table: string): string {
  return quoted(`${projector}.${table}`)
}

type Query = (text: string, values: readonly unknown[]) => unknown

/** The same connection or pool with another `query`. It prepares nothing: a prepared statement belongs to other tables. */
export function withQuery<Connection extends Pool | PoolClient>(
  connection: Connection,
  query: (original: Query) => Query,
): Connection {
  const run = query((text, values) => connection.query(text, [...values]))
  return new Proxy(connection, {
    get: (target, name) =>
      name === 'query'
        ? (
            asked: string | { readonly text: string; readonly values?: readonly unknown[] },
            values: readonly unknown[] = [],
          ) => (typeof asked === 'string' ? run(asked, values) : run(asked.text, asked.values ?? values))
        : Reflect.get(target, name),
  })
}

/** `"schema"."table"` in the text of a query, or the alias of a table and its column. */
const places = /"[a-z0-9_]+"\."[a-z0-9_]+"/g

function placesIn(text: string): ReadonlySet<string> {
  return new Set(text.match(places))
}

function renamed(text: string, names: ReadonlyMap<string, string>): string {
  return text.replaceAll(places, (name) => names.get(name) ?? name)
}
