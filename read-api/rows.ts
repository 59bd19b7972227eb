import { isPlanOutdated, type Pool } from '../platform/database.ts'
import { problem } from '../platform/problems.ts'

/** The rows of a query. The row type is the author's word for what the SQL selects. */
export async function rowsOf<Row extends object>(pool: Pool, text: string, values: readonly unknown[]): Promise<Row[]> {
  const { rows } = await pool.query<Row>(text, [...values])
  return rows
}

/** Under its name a connection prepares a query by id once, which saves a quarter of a GET. Lists are planned for their filters each time. */
const names = new Map<string, string>()

/**
 * The one row of a query by id. A connection that prepared it before the table was switched for one of another shape is
 * given up for the next one.
 *
 * @throws Problem `not-found`: missing and foreign are answered alike
 */
export async function rowOf<Row extends object>(pool: Pool, text: string, values: readonly unknown[]): Promise<Row> {
  const name = nameOf(text)
  for (let left = pool.options.max; ; left -= 1) {
    try {
      const { rows: [row] } = await pool.query<Row>({ name, text, values: [...values] })
      if (row === undefined) throw problem('not-found')
      return row
    } catch (error) {
      if (left === 0 || !isPlanOutdated(error)) throw error
    }
  }
}

function nameOf(text: string): string {
  const known = names.get(text)
  if (known !== undefined) return known
  const name = `query-${names.size}`
  names.set(text, name)
  return name
}

/** What a query found, with the revision of its stream that the row shows. */
export type Found<View> = View & { readonly revision: bigint }
