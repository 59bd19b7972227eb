import type { Pool, QueryConfig } from 'pg'
import { prepared } from '../../platform/database/prepared.ts'
import { type BatchPart, checkpointRows, checkpointsMove } from './checkpoint-moves.ts'
import { databaseFailure } from './database-errors.ts'
import { mayRunAtOnce } from './statements-at-once.ts'
import { rowsFrom } from './row-statements.ts'

/** Most writes of one joined statement, and most rows in total. A longer batch gains nothing from joining. */
const mostWrites = 12
const mostRows = 200
/**
 * Most statement texts that are prepared, on first use; others are parsed each time. There is one text per combination
 * of writes. A long text takes 0.4 MB on each connection that keeps it.
 */
const mostPrepared = 100
const preparedTexts = new Set<string>()

/**
 * Writes the parts of a small batch with one statement in its own transaction. Most live batches have one or two
 * events, so round trips would take longer than the work. Returns the tables with a written row. Returns undefined if
 * it wrote nothing and the batch needs several statements.
 *
 * A statement resolves its tables before it locks the checkpoints. So it writes only to the given copies (`copies`).
 * After a switch to another copy, or a refusal, the batch is written with several statements.
 */
export async function writeJoined(
  pool: Pool,
  parts: readonly BatchPart[],
  copies: ReadonlyMap<string, string>,
): Promise<string[] | undefined> {
  if (!isJoinable(parts) || !parts.every(({ projector }) => copies.has(projector.name))) return undefined
  const writes = parts.flatMap((part) => part.writes.map((write) => ({ ...write, projector: part.projector.name })))
  const values: unknown[] = [
    JSON.stringify(checkpointRows(parts, copies)),
    parts.map(({ projector }) => projector.name),
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
  // The cast of a text that is no number aborts the statement, and with it all its writes.
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

/** Whether the batch is small, and the order of its writes is irrelevant. */
function isJoinable(parts: readonly BatchPart[]): boolean {
  let writes = 0
  let rows = 0
  for (const part of parts) {
    writes += part.writes.length
    rows += part.writes.reduce((sum, { statement }) => sum + statement.rows.length, 0)
  }
  return writes <= mostWrites && rows <= mostRows && parts.every((part) => mayRunAtOnce(part.writes))
}
