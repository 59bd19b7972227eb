import type { Write } from './checkpoint-moves.ts'
import type { Table } from './projector.ts'
import type { Statement } from './row-statements.ts'
import { isComparable, isKeyValue, keyText, partText, type WhereChange } from './rows-step.ts'

/**
 * Whether the writes of one projector give the same rows as parts of one statement as one after the other. All parts of
 * a statement read the tables as they were before it, and none may change a row that another one changes.
 *
 * A part that adds or replaces a row which an earlier part changes or removes is either right or refused by Postgres,
 * which replaces no row twice in one statement. A refused batch is written again, one statement after the other.
 */
export function mayRunAtOnce(writes: readonly Write[]): boolean {
  return writes.every((later, at) =>
    writes.slice(0, at).every((earlier) => {
      if (earlier.table === later.table) return commute(earlier.statement, later.statement)
      return !later.statement.reads.includes(earlier.table)
    }),
  )
}

/** Of two statements on one table, `later` is written after `earlier`. */
function commute(earlier: Statement, later: Statement): boolean {
  const [first, second] = [earlier.effect, later.effect]
  if (first.kind === 'other' || second.kind === 'other') return false
  if (first.kind === 'rows' && second.kind === 'rows') return haveOtherKeys(first.table, earlier, later)
  // What it adds is unknown, so only a later insert is known to leave that alone.
  if (first.kind === 'insert-select') return second.kind === 'insert-select' || isInsert(later)
  if (second.kind === 'insert-select') return true
  if (first.kind === 'remove-where' && second.kind === 'remove-where') return true
  if (first.kind === 'remove-where') return isInsert(later) || matchesNone(first.table, first.changes, later)
  return second.kind === 'remove-where' && matchesNone(second.table, second.changes, earlier)
}

function isInsert({ effect }: Statement): boolean {
  return effect.kind === 'rows' && effect.op === 'insert'
}

/** A unique index beside the key could make the order of removals and inserts matter. */
function haveOtherKeys(table: Table, earlier: Statement, later: Statement): boolean {
  if (table.indexes?.some(({ unique }) => unique === true) === true) return false
  const keys = new Set(earlier.rows.map((row) => keyText(table, row, table.primaryKey)))
  return later.rows.every((row) => !keys.has(keyText(table, row, table.primaryKey)))
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
