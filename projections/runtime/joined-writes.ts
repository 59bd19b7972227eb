import type { Pool, QueryConfig } from 'pg'
import { prepared } from '../../platform/database/prepared.ts'
import { type Share, checkpointRows, checkpointsMove } from './checkpoint-moves.ts'
import { databaseFailure } from './database-errors.ts'
import { rowsFrom } from './row-statements.ts'

/** Most writes, and most rows of all together, of one joined statement; a longer batch gains nothing by it. */
const mostWrites = 12
const mostRows = 200
/**
 * Most texts that are prepared, those that come first; the others are parsed each time. There is one for every set of writes that
 * come together, and a long one is 0.4 MB of each connection that keeps it.
 */
const mostPrepared = 100
const preparedTexts = new Set<string>()

/**
 * Writes the shares of a small batch by one statement, which is a transaction of its own: for the one or two events of
 * most live batches, what goes to and fro would take longer than what is done. Returns the tables in which a row was
 * written; undefined where the batch is to be written step by step, and nothing is.
 *
 * A statement knows its tables from before it has the checkpoints to itself. So it writes to those copies only that it was
 * told of (`copies`): one that has been switched to since is left to the writing step by step, as is whatever is refused.
 */
export async function writeJoined(
  pool: Pool,
  shares: readonly Share[],
  copies: ReadonlyMap<string, string>,
): Promise<string[] | undefined> {
  if (!isJoinable(shares) || !shares.every(({ projector }) => copies.has(projector.name))) return undefined
  const writes = shares.flatMap((share) => share.writes.map((write) => ({ ...write, projector: share.projector.name })))
  const values: unknown[] = [
    JSON.stringify(checkpointRows(shares, copies)),
    shares.map(({ projector }) => projector.name),
  ]
  const steps: string[] = []
  const counts: string[] = []
  const conditions = ['exists (select from passed)']
  for (const [
    index,
    {
      statement: { columns, text, expected },
      parameters,
    },
  ] of writes.entries()) {
    const first = values.length + 1
    values.push(...parameters)
    const written = text(`(select u.* from ${rowsFrom(columns, first, 'u')}, passed) x`)
    const count = `(select count(*) from w${index})`
    steps.push(`w${index} as (${written.startsWith('select') ? written : `${written} returning 1`})`)
    counts.push(count)
    if (expected !== undefined) conditions.push(`${count} = ${expected === 0 ? 0 : `cardinality($${first})`}`)
  }
  // A text that is no number ends the statement, and with it all that it did.
  const statement = `with ${checkpointsMove({ ofCopies: true })}, passed as (select 1 as passed from moved having count(*) = cardinality($2::text[]))${steps.map((step) => `, ${step}`).join('')}
    select array[${counts.join(', ')}]::integer[] as counts, (case when ${conditions.join(' and ')} then '0' else 'refused' end)::integer as refused`
  try {
    const {
      rows: [row],
    } = await pool.query<{ counts: readonly number[] }>(asQuery(statement, values))
    const changed = writes
      .filter((_, index) => (row?.counts[index] ?? 0) > 0)
      .map(({ projector, table }) => `${projector}.${table}`)
    return [...new Set(changed)]
  } catch (error) {
    if (databaseFailure(error) === 'rejected') return undefined
    throw error
  }
}

function asQuery(text: string, values: readonly unknown[]): QueryConfig {
  if (!preparedTexts.has(text) && preparedTexts.size >= mostPrepared) return { text, values: [...values] }
  preparedTexts.add(text)
  return prepared(text, values)
}

/** Whether it makes no difference in which order the writes are done: each to a table of its own, which no other one reads. */
function isJoinable(shares: readonly Share[]): boolean {
  let writes = 0
  let rows = 0
  for (const share of shares) {
    const tables = share.writes.map(({ table }) => table)
    if (new Set(tables).size < tables.length) return false
    if (
      share.writes.some(({ table, statement }) =>
        statement.reads.some((read) => read !== table && tables.includes(read)),
      )
    )
      return false
    writes += tables.length
    rows += share.writes.reduce((sum, { statement }) => sum + statement.rows.length, 0)
  }
  return writes <= mostWrites && rows <= mostRows
}
