import type { Pool, QueryConfig } from 'pg'
import { prepared } from '../../platform/database/prepared.ts'
import { type BatchPart, type Write, checkpointRows, checkpointsMove } from './checkpoint-moves.ts'
import { databaseFailure } from './database-errors.ts'
import { mayRunAtOnce } from './statements-at-once.ts'
import { columnArrays, type ColumnList } from './column-arrays.ts'
import type { Row } from './projector.ts'
import { rowsFrom } from './row-statements.ts'

/** Most writes of one joined statement, and most rows in total. A longer batch gains nothing from joining. */
const mostWrites = 20
const mostRows = 200
/**
 * Most statement texts that are prepared, on first use; others are parsed each time. There is one text per combination
 * of writes. A long text takes 0.4 MB on each connection that keeps it.
 */
const mostPrepared = 100
const preparedTexts = new Set<string>()

/** Rows that a joined statement adds to a table of others. */
export interface Addition {
  readonly columns: ColumnList
  readonly rows: readonly Row[]
  /** The text of an `insert` of rows from `source`. It returns the texts of what it has added. */
  readonly text: (source: string) => string
  /** Called once. Undefined: nothing may be added, or the answer was lost. */
  readonly settle: (added: readonly string[] | undefined) => void
}

export interface JoinedOptions {
  /** What a joined statement writes beside its parts. */
  readonly addTo?: ((parts: readonly BatchPart[]) => Addition | undefined) | undefined
}

/**
 * Writes the parts of a small batch with one statement in its own transaction. Most live batches have one or two
 * events, so round trips would take longer than the work. Returns the writes that touched a row. Returns undefined if
 * it wrote nothing and the batch needs several statements.
 *
 * A statement resolves its tables before it locks the checkpoints. So it writes only to the given copies (`copies`).
 * After a switch to another copy, or a refusal, the batch is written with several statements.
 */
export async function writeJoined(
  pool: Pool,
  parts: readonly BatchPart[],
  copies: ReadonlyMap<string, string>,
  { addTo = () => undefined }: JoinedOptions = {},
): Promise<Set<Write> | undefined> {
  if (!isJoinable(parts) || !parts.every(({ projector }) => copies.has(projector.name))) return undefined
  const writes = parts.flatMap((part) => part.writes)
  const values: unknown[] = [
    JSON.stringify(checkpointRows(parts, copies)),
    parts.map(({ projector }) => projector.name),
  ]
  const steps: string[] = []
  const counts: string[] = []
  const conditions = ['exists (select from passed)']
  for (const [index, { statement, parameters }] of writes.entries()) {
    const { columns, text, expected } = statement
    const first = values.length + 1
    values.push(...parameters)
    const written = text(`(select u.* from ${rowsFrom(columns, first, 'u')}, passed) x`)
    const count = `(select count(*) from w${index})`
    steps.push(`w${index} as (${written.startsWith('select') ? written : `${written} returning 1`})`)
    counts.push(count)
    if (expected !== undefined) conditions.push(`${count} = ${expected === 0 ? 0 : `cardinality($${first})`}`)
  }
  const addition = addTo(parts)
  const added = addition === undefined ? "'{}'::text[]" : addedBy(addition, values, steps)
  // The cast of a text that is no number aborts the statement, and with it all its writes.
  const statement = `with ${checkpointsMove({ ofCopies: true })}, passed as (select 1 as passed from moved having count(*) = cardinality($2::text[]))${steps.map((step) => `, ${step}`).join('')}
    select array[${counts.join(', ')}]::integer[] as counts, ${added} as added, (case when ${conditions.join(' and ')} then '0' else 'refused' end)::integer as refused`
  let wasAdded: readonly string[] | undefined
  try {
    const {
      rows: [row],
    } = await pool.query<{ counts: readonly number[]; added: readonly string[] }>(asQuery(statement, values))
    wasAdded = row?.added
    return new Set(writes.filter((_, index) => (row?.counts[index] ?? 0) > 0))
  } catch (error) {
    if (databaseFailure(error) === 'rejected') return undefined
    throw error
  } finally {
    addition?.settle(wasAdded)
  }
}

/** Adds the step of an addition, and its values. Returns the expression for what it has added. */
function addedBy({ columns, rows, text }: Addition, values: unknown[], steps: string[]): string {
  const source = rowsFrom(columns, values.length + 1, 'u')
  values.push(...columnArrays(columns, rows))
  steps.push(`added as (${text(`(select u.* from ${source}, passed) x`)})`)
  return 'array(select added from added)'
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
