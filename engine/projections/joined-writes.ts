import type { Pool, PoolClient } from 'pg'
import { prepared } from '../../platform/database/prepared.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { type BatchPart, type Write, checkpointRows } from './checkpoint-moves.ts'
import { columnArrays, type ColumnList } from './column-arrays.ts'
import { databaseFailure } from './database-errors.ts'
import { byTable, JoinedTexts, rowsPlace, type Slot, type TextOptions } from './joined-texts.ts'
import type { Row } from './projector.ts'
import { wavesOf } from './statements-at-once.ts'

/** Most writes of a joined batch, and most rows in total. A longer batch gains nothing from joining. */
const mostWrites = 100
const mostRows = 400
const texts = new JoinedTexts()

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
  /** What a joined batch writes beside its parts. They contain only writes whose rows the batch leaves as they write them. */
  readonly addTo?: ((parts: readonly BatchPart[]) => Addition | undefined) | undefined
  /** Gets the writes of a joined batch that touched no row. */
  readonly empty?: Set<Write>
}

interface PlacedWrite {
  readonly slot: Slot
  readonly parameters: readonly string[]
  /** Undefined for an addition. */
  readonly write?: Write
}

/** The answer of a joined statement, for each of its writes. */
interface Answer {
  readonly touched: readonly { readonly write: PlacedWrite; readonly count: number }[]
  readonly added: readonly string[]
}

/**
 * Writes the parts of a batch with as few statements as the order of its writes allows, mostly one, which is its own
 * transaction. Most live batches have few events, so round trips would take longer than the work. Returns the tables
 * with a written row. Returns undefined if it wrote nothing and the batch needs one statement for each write.
 *
 * A statement resolves its tables before it locks the checkpoints. So it writes only to the given copies (`copies`).
 * After a switch to another copy, or a refusal, the batch is written with one statement for each write.
 */
export async function writeJoined(
  pool: Pool,
  parts: readonly BatchPart[],
  copies: ReadonlyMap<string, string>,
  { addTo = () => undefined, empty }: JoinedOptions = {},
): Promise<string[] | undefined> {
  if (!isSmall(parts) || !parts.every(({ projector }) => copies.has(projector.name))) return undefined
  const names = parts.map(({ projector }) => projector.name)
  const checkpoints = [JSON.stringify(checkpointRows(parts, copies)), names]
  const wavesByPart = parts.map(({ writes }) => wavesOf(writes))
  const waves = Array.from({ length: Math.max(1, ...wavesByPart.map(({ length }) => length)) }, (_, wave) =>
    parts.flatMap(({ projector }, part) =>
      (wavesByPart[part]?.[wave] ?? []).map((write) => placed(projector.name, write)),
    ),
  )
  const addition = addTo(parts.map((part, index) => ({ ...part, writes: lastingWrites(wavesByPart[index] ?? []) })))
  if (addition !== undefined) waves.at(-1)?.push(placedAddition(addition))
  let added: readonly string[] | undefined
  try {
    const write = async (client: Pick<PoolClient, 'query'>): Promise<Answer[]> => {
      const answers: Answer[] = []
      for (const [index, wave] of waves.entries()) {
        const options = { movesCheckpoints: index === 0, projectors: new Set(names) }
        answers.push(await writeAtOnce(client, wave, index === 0 ? checkpoints : [], options))
      }
      return answers
    }
    const answers = waves.length === 1 ? await write(pool) : await inTransaction(pool, write)
    added = answers.flatMap((answer) => answer.added)
    const changed = new Set<string>()
    for (const { write: touching, count } of answers.flatMap(({ touched }) => touched)) {
      if (touching.write === undefined) continue
      if (count > 0) changed.add(`${touching.slot.projector}.${touching.write.table}`)
      else empty?.add(touching.write)
    }
    return [...changed]
  } catch (error) {
    if (databaseFailure(error) === 'rejected') return undefined
    throw error
  } finally {
    addition?.settle(added)
  }
}

/** Writes one statement. A statement without checkpoints runs in the transaction of the one that has moved them. */
async function writeAtOnce(
  client: Pick<PoolClient, 'query'>,
  wave: readonly PlacedWrite[],
  checkpoints: readonly unknown[],
  options: TextOptions,
): Promise<Answer> {
  const writes = wave.toSorted((a, b) => byTable(a.slot, b.slot))
  const { text, slots, places, isPrepared } = texts.for(
    writes.map(({ slot }) => slot),
    options,
  )
  const writeAt = new Map(writes.map((write, index) => [places[index], write]))
  const rows = slots.flatMap(({ columns }, place) => writeAt.get(place)?.parameters ?? columns.map(() => '{}'))
  const values = [...checkpoints, ...rows]
  const {
    rows: [row],
  } = await client.query<{ counts: readonly number[]; added: readonly string[] }>(
    isPrepared ? prepared(text, values) : { text, values },
  )
  const touched = writes.map((write, index) => ({ write, count: row?.counts[places[index] ?? -1] ?? 0 }))
  return { touched, added: row?.added ?? [] }
}

function placed(projector: string, write: Write): PlacedWrite {
  const { columns, expected } = write.statement
  const text = write.statement.text(rowsPlace)
  const expects = expected === undefined ? 'any' : expected === 0 ? 'none' : 'each'
  const slot = { projector, table: write.table, columns, text, expects, id: `${expects} ${text}` } as const
  return { slot, parameters: write.parameters, write }
}

function placedAddition({ columns, rows, text: textOf }: Addition): PlacedWrite {
  const text = textOf(rowsPlace)
  const slot = { projector: '', table: '', columns, text, expects: 'any', isAddition: true, id: text } as const
  return { slot, parameters: columnArrays(columns, rows) }
}

/** The writes to tables that no later wave writes. Its waves may remove the rows of others. */
function lastingWrites(waves: readonly (readonly Write[])[]): Write[] {
  return waves.flatMap((wave, index) => {
    const later = new Set(waves.slice(index + 1).flatMap((writes) => writes.map(({ table }) => table)))
    return wave.filter(({ table }) => !later.has(table))
  })
}

function isSmall(parts: readonly BatchPart[]): boolean {
  let writes = 0
  let rows = 0
  for (const part of parts) {
    writes += part.writes.length
    rows += part.writes.reduce((sum, { statement }) => sum + statement.rows.length, 0)
  }
  return writes <= mostWrites && rows <= mostRows
}
