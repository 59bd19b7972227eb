import type { Write } from './checkpoint-moves.ts'
import type { Row, Table } from './projector.ts'
import type { Effect, Statement } from './row-statements.ts'
import { isComparable, isKeyValue, keyText, partText, type WhereChange } from './rows-step.ts'

type EffectOf<Kind> = Extract<Effect, { readonly kind: Kind }>

/**
 * Divides the writes of one projector into waves, as few as possible. The writes of a wave may be parts of one statement,
 * and the waves, one after the other, give the same rows as the writes one after the other.
 */
export function wavesOf(writes: readonly Write[]): Write[][] {
  const waves: Write[][] = []
  const placed: { readonly write: Write; readonly wave: number }[] = []
  for (const write of writes) {
    const wave = Math.max(0, ...placed.map((earlier) => earlier.wave + distance(earlier.write, write)))
    placed.push({ write, wave })
    const found = waves[wave]
    if (found === undefined) waves.push([write])
    else found.push(write)
  }
  return waves.map(inOneOrder)
}

/**
 * Sorts the writes of a wave by table, and those of one kind that follow each other by text. As they concern other rows,
 * Postgres accepts or refuses them in any order. So batches with the same writes share a statement.
 */
function inOneOrder(wave: readonly Write[]): Write[] {
  const runs = new Map<string, { readonly kind: string; readonly number: number }>()
  const placed = wave.map((write) => {
    const last = runs.get(write.table)
    const { kind } = write.statement.effect
    const number = (last?.number ?? 0) + (last?.kind === kind ? 0 : 1)
    runs.set(write.table, { kind, number })
    return { write, number, text: write.statement.text('') }
  })
  return placed
    .sort((a, b) => inOrder(a.write.table, b.write.table) || a.number - b.number || inOrder(a.text, b.text))
    .map(({ write }) => write)
}

function inOrder(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

/** Least number of waves from the earlier write to the later one. */
function distance(earlier: Write, later: Write): number {
  if (!mayRunAtOnce(earlier, later)) return 1
  const isBound = earlier.table === later.table || earlier.statement.reads.includes(later.table)
  return isBound ? 0 : -Infinity
}

/**
 * Whether the two writes of one projector give the same rows as parts of one statement as one after the other. All parts
 * of a statement read the tables as they were before it, and none may change a row that another one changes.
 *
 * A part that adds or replaces a row which an earlier part changes or removes is either right or refused by Postgres,
 * which replaces no row twice in one statement. A refused batch is written again, one statement after the other.
 */
function mayRunAtOnce(earlier: Write, later: Write): boolean {
  if (earlier.table === later.table) return commute(earlier.statement, later.statement)
  return !later.statement.reads.includes(earlier.table)
}

/** Of two statements on one table, `later` is written after `earlier`. */
function commute(earlier: Statement, later: Statement): boolean {
  const [first, second] = [earlier.effect, later.effect]
  if (first.kind === 'other' || second.kind === 'other') return false
  // The rows that an insert adds did not exist, and contain the later patches.
  if (first.kind === 'wide')
    return (isInsert(later) && !hasUniqueIndex(first.table)) || haveOtherFamilies(first, earlier, later)
  if (second.kind === 'wide') return haveOtherFamilies(second, later, earlier)
  if (first.kind === 'rows' && second.kind === 'rows') return haveOtherKeys(first.table, earlier, later)
  if (first.kind === 'insert-select')
    return second.kind === 'insert-select' || isInsert(later) || addsOthers(first, later)
  if (second.kind === 'insert-select') return true
  if (first.kind === 'remove-where' && second.kind === 'remove-where') return true
  if (first.kind === 'remove-where') return isInsert(later) || matchesNone(first.table, first.changes, later)
  return second.kind === 'remove-where' && matchesNone(second.table, second.changes, earlier)
}

function isInsert({ effect }: Statement): boolean {
  return effect.kind === 'rows' && effect.op === 'insert'
}

/** A unique index beside the key could make the order of removals and inserts matter. */
function hasUniqueIndex(table: Table): boolean {
  return table.indexes?.some(({ unique }) => unique === true) === true
}

function haveOtherKeys(table: Table, earlier: Statement, later: Statement): boolean {
  if (hasUniqueIndex(table)) return false
  const keys = new Set(earlier.rows.map((row) => keyText(table, row, table.primaryKey)))
  return later.rows.every((row) => !keys.has(keyText(table, row, table.primaryKey)))
}

/** Whether the wide patches concern none of the other statement's rows. Both are found by their keys. */
function haveOtherFamilies({ table, where }: EffectOf<'wide'>, wide: Statement, other: Statement): boolean {
  if (hasUniqueIndex(table) || (other.effect.kind !== 'rows' && other.effect.kind !== 'wide')) return false
  if (other.effect.kind === 'wide' && other.effect.where.join() !== where.join()) return false
  const families = new Set(wide.rows.map((row) => keyText(table, row, where)))
  return other.rows.every((row) => !families.has(keyText(table, row, where)))
}

/**
 * Whether a constant in their keys tells the rows that are added from the rows that the other statement changes or
 * removes. Of the rows that are added, nothing else is known.
 */
function addsOthers({ table, changes }: EffectOf<'insert-select'>, { effect, rows }: Statement): boolean {
  if (hasUniqueIndex(table) || (effect.kind !== 'rows' && effect.kind !== 'remove-where')) return false
  const others: readonly Row[] = effect.kind === 'rows' ? rows : effect.changes.map(({ where }) => where)
  const names = table.primaryKey.filter((name) => isComparable(table, name))
  return changes.every(({ columns }) =>
    others.every((other) =>
      names.some((name) => {
        const added = columns[name]
        if (added === undefined || !('value' in added)) return false
        const [one, two] = [partText(table, { [name]: added.value }, [name]), partText(table, other, [name])]
        return one !== undefined && two !== undefined && one !== two
      }),
    ),
  )
}

/**
 * Whether the removals match no row of the statement, as it was before and as it is after. Of a stored row, only the key
 * is known.
 */
function matchesNone(table: Table, removals: readonly WhereChange[], { effect, rows }: Statement): boolean {
  if (effect.kind !== 'rows') return false
  const isWholeKnown = effect.op === 'insert'
  return removals.every(({ where }) => {
    const names = Object.keys(where)
    const isKnown = names.every(
      (name) =>
        isComparable(table, name) && isKeyValue(where[name]) && (isWholeKnown || table.primaryKey.includes(name)),
    )
    if (!isKnown) return false
    const removed = partText(table, where, names)
    return rows.every((row) => names.some((name) => row[name] === null) || partText(table, row, names) !== removed)
  })
}
