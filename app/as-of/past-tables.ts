import { partOf, writeRowsIn } from '../../engine/projections/batch-writer.ts'
import type { Projector } from '../../engine/projections/projector.ts'
import { quoted } from '../../engine/projections/row-statements.ts'
import { columnDefinitions } from '../../engine/projections/schema.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import type { Pool, PoolClient } from '../../platform/database/database.ts'
import { startOfLog } from '../../platform/kit/positions.ts'

/**
 * Creates the tables of projectors for this transaction, and fills them from events in the order of the log. Handlers and
 * statements are those of the read models. Only the names of tables differ. Returns the connection on which queries of the
 * read models find these tables.
 */
export async function fillPastTables(
  client: PoolClient,
  projectors: readonly Projector[],
  events: readonly RecordedEvent[],
): Promise<PoolClient> {
  const names = new Map<string, string>()
  const definitions = projectors.flatMap(({ name, tables }) =>
    tables.map((table) => {
      const own = quoted(`${name}.${table.name}`)
      names.set(`${quoted(name)}.${quoted(table.name)}`, `pg_temp.${own}`)
      return `create temporary table ${own} (${columnDefinitions(table)});`
    }),
  )
  await client.query(definitions.join(' '))
  const past = withQuery(client, (query) => (text, values) => query(renamed(text, names), values))
  await writeRowsIn(
    past,
    projectors.map((projector) => partOf(projector, events, startOfLog, startOfLog)),
  )
  return past
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

function renamed(text: string, names: ReadonlyMap<string, string>): string {
  return text.replaceAll(/"[a-z0-9_]+"\."[a-z0-9_]+"/g, (name) => names.get(name) ?? name)
}
