import { createHash } from 'node:crypto'
import type { QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { isPlanOutdated, type Pool } from './database.ts'

/** Every connection keeps what it has prepared: more texts than these are sent as they are. The platform has fewer by far. */
const mostNames = 500

const names = new Map<string, string>()

/**
 * A statement under a name, by which a connection parses it once: half of what a short one costs. From its sixth use on
 * Postgres may keep one plan for all values, made for the table as it was then; pools whose plans are made once say so for themselves.
 * A renamed schema, a dropped table and the like are noticed, and the text means what it then means; only other columns
 * in its result end it, see `queryPrepared`.
 */
export function prepared(text: string, values: readonly unknown[]): QueryConfig {
  const name = nameOf(text)
  return { ...(name === undefined ? {} : { name }), text, values: [...values] }
}

/** The same on any connection. One that prepared it for a result of other columns is given up for the next one. */
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
