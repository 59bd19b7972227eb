import type { Pool } from '../platform/database/database.ts'
import { queryPrepared } from '../platform/database/prepared.ts'
import { problem } from '../platform/http/problems.ts'

/** The rows of a query. The row type is the author's word for what the SQL selects. */
export async function rowsOf<Row extends object>(pool: Pool, text: string, values: readonly unknown[]): Promise<Row[]> {
  const { rows } = await pool.query<Row>(text, [...values])
  return rows
}

/**
 * The one row of a query by id. These are prepared, which saves a quarter of a GET; lists are planned for their filters each time.
 *
 * @throws Problem `not-found`: missing and foreign are answered alike
 */
export async function rowOf<Row extends object>(pool: Pool, text: string, values: readonly unknown[]): Promise<Row> {
  const {
    rows: [row],
  } = await queryPrepared<Row>(pool, text, values)
  if (row === undefined) throw problem('not-found')
  return row
}

/** What a query found, with the revision of its stream that the row shows. */
export type Found<View> = View & { readonly revision: bigint }
