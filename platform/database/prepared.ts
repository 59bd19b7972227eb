import { createHash } from 'node:crypto'
import type { QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { isPlanOutdated, type Pool } from './database.ts'

/**
 * A connection keeps all prepared statements, so texts beyond this number are sent unprepared. The platform has far
 * fewer.
 */
const mostNames = 500

const names = new Map<string, string>()

/**
 * A named statement: a connection parses it once, half the cost of a short one. From the sixth use on, Postgres may
 * keep one plan for all values, made for the table's size at that time. Pools with one-time plans say so in their
 * comment. Postgres notices a renamed schema, a dropped table and the like, and resolves the text again. Only other
 * result columns cause an error; see `queryPrepared`.
 */
export function prepared(text: string, values: readonly unknown[]): QueryConfig {
  const name = nameOf(text)
  return { ...(name === undefined ? {} : { name }), text, values: [...values] }
}

/** The same on any connection. A connection that prepared it with other result columns is replaced by the next one. */
export async function queryPrepared<Row extends QueryResultRow>(
  pool: Pool,
  text: string,
  values: readonly unknown[],
): Promise<QueryResult<Row>> {
  for (let left = pool.options.max; ; left -= 1) {
    try {
      return await pool.query<Row>(prepared(text, values))
    } catch (error) {
      if (left === 0 || !isPlanOutdated(error)) throw error
    }
  }
}

function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= mostNames) return known
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 24)
  names.set(text, name)
  return name
}
