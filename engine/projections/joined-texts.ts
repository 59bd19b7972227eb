import { checkpointsMove } from './checkpoint-moves.ts'
import type { ColumnList } from './column-arrays.ts'
import { rowsFrom } from './row-statements.ts'

/** In the text of a slot: where its rows come. */
export const rowsPlace = '$rows'

/** A write in the text of a joined statement, without its rows, as it is kept. Its parameters are one array per column. */
export interface Slot {
  readonly projector: string
  readonly table: string
  /** The text of the write, with `rowsPlace` for the source of its rows `x`. */
  readonly text: string
  readonly columns: ColumnList
  /** How many rows it must touch: none, one for each given row, or any number. */
  readonly expects: 'none' | 'each' | 'any'
  /** It adds rows to a table of others, and returns their texts. */
  readonly isAddition?: boolean
  /** Equal for writes that differ only in their rows. */
  readonly id: string
}

/** A joined statement. It may have slots without rows beside those of a batch. */
export interface JoinedText {
  readonly text: string
  readonly slots: readonly Slot[]
  readonly isPrepared: boolean
}

export interface PlacedText extends JoinedText {
  /** The slot of each write. */
  readonly places: readonly number[]
}

export interface TextOptions {
  /** Whether the statement moves the checkpoints first: $1 and $2. Then it writes only if all of them have moved. */
  readonly movesCheckpoints: boolean
  /** The projectors of the batch. A slot without rows belongs to one of them, too: the others' tables may be gone. */
  readonly projectors: ReadonlySet<string>
}

/**
 * Most statements that are prepared, on first use; others are parsed each time. A write takes up to 0.02 MB on each
 * connection that keeps it. Small batches have few combinations of writes. Nearly each large one has a combination of
 * its own. So large batches share statements that have all writes of earlier ones. The first batch that no statement
 * covers adds one, then the second, the fourth, the eighth and so on: meanwhile, most writes have been seen.
 */
const mostSmall = 120
const mostLarge = 10
const smallSlots = 10
const largeSlots = 150
/** A small batch takes a statement of large ones only if few of its writes are without rows. */
const mostSlotsPerWrite = 4

/** The statements of large batches that move the checkpoints, or of those that do not. */
interface Shared {
  readonly texts: JoinedText[]
  /** All writes of large batches. */
  seen: readonly Slot[]
  /** How many batches no statement covered. */
  misses: number
}

/** The joined statements that connections keep prepared. */
export class JoinedTexts {
  readonly #small = new Map<string, JoinedText>()
  readonly #first: Shared = { texts: [], seen: [], misses: 0 }
  readonly #later: Shared = { texts: [], seen: [], misses: 0 }

  /**
   * A statement for writes that may run at once, sorted by table. Those of one table keep their order, in which Postgres
   * refuses what it would refuse step by step.
   */
  for(writes: readonly Slot[], options: TextOptions): PlacedText {
    const isSmall = writes.length <= smallSlots
    const key = isSmall ? [options.movesCheckpoints, ...writes.map(({ id }) => id)].join('\n') : ''
    const known = this.#small.get(key)
    if (known !== undefined) return { ...known, places: [...writes.keys()] }
    if (isSmall && this.#small.size < mostSmall) {
      const added = joinedText(writes, options, true)
      this.#small.set(key, added)
      return { ...added, places: [...writes.keys()] }
    }
    const large = this.#largeFor(writes, options)
    const places = large === undefined ? undefined : placesIn(large.slots, writes)
    if (large !== undefined && places !== undefined) return { ...large, places }
    return { ...joinedText(writes, options, false), places: [...writes.keys()] }
  }

  #largeFor(writes: readonly Slot[], options: TextOptions): JoinedText | undefined {
    const shared = options.movesCheckpoints ? this.#first : this.#later
    const isOfBatch = (slots: readonly Slot[]) =>
      slots.every(({ projector, isAddition }) => isAddition === true || options.projectors.has(projector))
    const found = shared.texts.find(({ slots }) => isOfBatch(slots) && placesIn(slots, writes) !== undefined)
    if (writes.length <= smallSlots)
      return found !== undefined && found.slots.length <= writes.length * mostSlotsPerWrite ? found : undefined
    if (found !== undefined || shared.texts.length >= mostLarge) return found
    const seen = merged(
      shared.seen.filter((slot) => isOfBatch([slot])),
      writes,
    )
    shared.seen = seen.length <= largeSlots ? seen : writes
    shared.misses += 1
    if (!Number.isInteger(Math.log2(shared.misses))) return undefined
    const added = joinedText(shared.seen, options, true)
    shared.texts.push(added)
    return added
  }
}

/** The places of the writes among the slots, in order; undefined if one has none. Both are sorted by table. */
function placesIn(slots: readonly Slot[], writes: readonly Slot[]): number[] | undefined {
  const places: number[] = []
  for (const { id } of writes) {
    const after = places.at(-1) ?? -1
    const place = slots.findIndex((slot, index) => index > after && slot.id === id)
    if (place < 0) return undefined
    places.push(place)
  }
  return places
}

/** Slots for each of two lists, both sorted by table. Those of one table keep the order of both. */
function merged(one: readonly Slot[], other: readonly Slot[]): Slot[] {
  const tableOf = ({ projector, table }: Slot) => `${projector}\n${table}`
  const [ofOne, ofOther] = [Map.groupBy(one, tableOf), Map.groupBy(other, tableOf)]
  const slots = [...new Set([...ofOne.keys(), ...ofOther.keys()])].flatMap((table) => {
    const left = [...(ofOne.get(table) ?? [])]
    const both = (ofOther.get(table) ?? []).flatMap((slot) => {
      const place = left.findIndex(({ id }) => id === slot.id)
      return place < 0 ? [slot] : left.splice(0, place + 1)
    })
    return [...both, ...left]
  })
  return slots.sort(byTable)
}

function joinedText(slots: readonly Slot[], { movesCheckpoints }: TextOptions, isPrepared: boolean): JoinedText {
  const steps = movesCheckpoints
    ? [
        checkpointsMove({ ofCopies: true }),
        'passed as (select 1 as passed from moved having count(*) = cardinality($2::text[]))',
      ]
    : []
  const conditions = [movesCheckpoints ? 'exists (select from passed)' : 'true']
  const counts: string[] = []
  const added: string[] = []
  let next = movesCheckpoints ? 3 : 1
  for (const [index, { columns, text, expects, isAddition }] of slots.entries()) {
    const rows = rowsFrom(columns, next, 'u')
    const source = movesCheckpoints ? `(select u.* from ${rows}, passed) x` : `(select u.* from ${rows}) x`
    const written = text.replace(rowsPlace, () => source)
    const returns = written.startsWith('select') || isAddition === true ? '' : ' returning 1'
    steps.push(`w${index} as (${written}${returns})`)
    const count = `(select count(*) from w${index})`
    counts.push(count)
    if (isAddition === true) added.push(`array(select added from w${index})`)
    if (expects !== 'any') conditions.push(`${count} = ${expects === 'none' ? 0 : `cardinality($${next})`}`)
    next += columns.length
  }
  // The cast of a text that is no number aborts the statement, and with it all its writes.
  const text = `with ${steps.join(', ')}
    select array[${counts.join(', ')}]::integer[] as counts, ${["'{}'::text[]", ...added].join(' || ')} as added,
      (case when ${conditions.join(' and ')} then '0' else 'refused' end)::integer as refused`
  return { text, slots, isPrepared }
}

/** The order of the slots of a statement, in which Postgres runs them: claims after the rows that they are for. */
export function byTable(one: Slot, other: Slot): number {
  const additions = Number(one.isAddition ?? false) - Number(other.isAddition ?? false)
  return additions || compare(one.projector, other.projector) || compare(one.table, other.table)
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}
