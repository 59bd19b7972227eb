import type { Row, RowChange, Table } from './projector.ts'
import {
  isComparable,
  isKeyValue,
  keyText,
  RowConflictError,
  RowsStep,
  type FoldedRow,
  type RemoveWhere,
  type WhereChange,
} from './rows-step.ts'

interface WhereStep {
  readonly kind: 'where'
  readonly table: Table
  /** The table that the condition reads: the lookup table of an `insert-select`, else the table itself. */
  readonly source: Table
  readonly shape: string
  readonly changes: WhereChange[]
}

/** One table's part of a batch. The steps are written in this order. */
export type PlanStep = RowsStep | WhereStep

/**
 * Folds the changes of a batch per row. Each table is written once, however many events change it. Changes that read
 * other rows (`…-where`, `insert-select`) keep their order relative to the changes of their tables.
 */
export class RowPlan {
  readonly steps: PlanStep[] = []
  readonly #tables: ReadonlyMap<string, Table>
  readonly #lastStep = new Map<string, PlanStep>()
  /** Tables in which the current event removed rows by columns outside the key. Any of their rows may be gone. */
  readonly #thinned = new Set<string>()

  constructor(tables: readonly Table[]) {
    this.#tables = new Map(tables.map((table) => [table.name, table]))
  }

  /** Adds the changes of one event, in order. */
  add(changes: readonly RowChange[]): void {
    this.#thinned.clear()
    for (const change of changes) this.#add(change)
  }

  #add(change: RowChange): void {
    const table = this.#table(change.table)
    switch (change.op) {
      case 'insert':
      case 'upsert':
        return this.#fold(
          table,
          change.row,
          (row, found) => wholeRow(table, change.op, row, found),
          change.op === 'upsert' || !this.#thinned.has(table.name),
        )
      case 'patch':
        return this.#fold(table, { ...definedOnly(change.set), ...change.key }, (set, found) =>
          patchedRow(table, set, found),
        )
      case 'remove':
        return this.#fold(table, change.key, removedRow)
      case 'patch-where':
        return this.#addWidePatch(table, change) ? undefined : this.#addWhere(table, change)
      case 'remove-where':
        return this.#addRemoval(table, change) ? undefined : this.#addWhere(table, change)
      case 'insert-select':
        return this.#addWhere(table, change)
    }
  }

  #fold(
    table: Table,
    values: Row,
    next: (values: Row, found: FoldedRow | undefined) => FoldedRow,
    mayReplace = false,
  ): void {
    const row = storableRow(table, values)
    const key = keyText(table, row, table.primaryKey)
    const step = this.#rowsStep(table)
    if (step.takes(key, row, mayReplace)) step.fold(key, row, next)
    else this.#newRowsStep(table).fold(key, row, next)
  }

  /**
   * Adds a removal. A removal that names one row by its key is folded like any other change. A removal by other values
   * joins the earlier changes of rows and runs after them. A later change joins too if it certainly touches none of the
   * removed rows. Returns false if the removal needs a statement of its own: a change that reads other rows comes just
   * before it, or the table has a unique index whose values other rows may take over.
   */
  #addRemoval(table: Table, change: RemoveWhere): boolean {
    const names = Object.keys(change.where)
    if (!names.every((name) => isComparable(table, name) && isKeyValue(change.where[name]))) return false
    if (names.length === table.primaryKey.length && table.primaryKey.every((name) => names.includes(name))) {
      this.#fold(table, change.where, removedRow)
      return true
    }
    const last = this.#lastStep.get(table.name)
    if (
      names.length === 0 ||
      !(last instanceof RowsStep) ||
      table.indexes?.some(({ unique }) => unique === true) === true
    )
      return false
    last.remove(change)
    if (!names.every((name) => table.primaryKey.includes(name))) this.#thinned.add(table.name)
    return true
  }

  /**
   * A patch whose condition names only members of the key (such as a child table's parent) touches exactly those rows.
   * It is folded into them, and one statement covers many parents. False for other patches.
   */
  #addWidePatch(table: Table, { where, set }: Extract<WhereChange, { op: 'patch-where' }>): boolean {
    const members = Object.keys(where).toSorted()
    const values = definedOnly(set)
    const isOfKey =
      members.length > 0 && members.every((name) => table.primaryKey.includes(name) && isKeyValue(where[name]))
    if (!isOfKey || table.primaryKey.some((name) => name in values)) return false
    const step = this.#rowsStep(table)
    if (!step.takesWide(members)) return false
    step.patchWide(members, storableRow(table, where), storableRow(table, values))
    return true
  }

  #rowsStep(table: Table): RowsStep {
    const last = this.#lastStep.get(table.name)
    return last instanceof RowsStep ? last : this.#newRowsStep(table)
  }

  #newRowsStep(table: Table): RowsStep {
    const step = new RowsStep(table)
    this.#append(step, [table.name])
    return step
  }

  #addWhere(table: Table, change: WhereChange): void {
    const source = change.op === 'insert-select' ? this.#table(change.from) : table
    if (change.op === 'insert-select' && change.isOfEvent && this.#addAhead(table, source, change)) return
    const concerned = [...new Set([table.name, source.name])]
    const last = this.#lastStep.get(table.name)
    const shape = shapeOf(change)
    const isMergeable =
      !dependsOnOrder(change) &&
      last?.kind === 'where' &&
      last.shape === shape &&
      concerned.every((name) => this.#lastStep.get(name) === last)
    if (isMergeable) last.changes.push(change)
    else this.#append({ kind: 'where', table, source, shape, changes: [change] }, concerned)
  }

  /**
   * Moves an insert before the pending changes by key, or joins the insert that is already there. No earlier event may
   * name its rows. False if another change of either table is in between.
   */
  #addAhead(table: Table, source: Table, change: WhereChange): boolean {
    const rows = this.#lastStep.get(table.name)
    if (table === source || !(rows instanceof RowsStep) || !rows.isByKeyOnly) return false
    const place = this.steps.indexOf(rows)
    const ofSource = this.#lastStep.get(source.name)
    if (ofSource !== undefined && this.steps.indexOf(ofSource) > place) return false
    const shape = shapeOf(change)
    const before = this.steps
      .slice(0, place)
      .findLast((step) => step.table === table || (step.kind === 'where' && step.source === table))
    if (before !== undefined && before === ofSource && before.kind === 'where' && before.shape === shape)
      before.changes.push(change)
    else {
      const step: PlanStep = { kind: 'where', table, source, shape, changes: [change] }
      this.steps.splice(place, 0, step)
      this.#lastStep.set(source.name, step)
    }
    return true
  }

  #append(step: PlanStep, concerned: readonly string[]): void {
    this.steps.push(step)
    for (const name of concerned) this.#lastStep.set(name, step)
  }

  #table(name: string): Table {
    const table = this.#tables.get(name)
    if (table === undefined) throw new RowConflictError(`table ${name} is not one of the projector's`)
    return table
  }
}

function wholeRow(table: Table, op: 'insert' | 'upsert', values: Row, found: FoldedRow | undefined): FoldedRow {
  if (found === undefined) return { before: op === 'insert' ? 'absent' : 'any', after: 'whole', values }
  if (op === 'insert' && found.after !== 'gone')
    throw new RowConflictError(`insert of an existing row of ${table.name}`)
  return { before: found.before, after: 'whole', values }
}

function patchedRow(table: Table, values: Row, found: FoldedRow | undefined): FoldedRow {
  if (found === undefined) return { before: 'present', after: 'partial', values }
  if (found.after === 'gone') throw new RowConflictError(`patch of a missing row of ${table.name}`)
  return { ...found, values: { ...found.values, ...values } }
}

function removedRow(values: Row, found: FoldedRow | undefined): FoldedRow {
  return { before: found?.before ?? 'any', after: 'gone', values }
}

/** Refuses columns that the table does not have. Postgres reads a bigint from its text. */
function storableRow(table: Table, values: Row): Row {
  const row: Record<string, unknown> = {}
  for (const name in values) {
    if (!(name in table.columns)) throw new RowConflictError(`${table.name} has no column ${name}`)
    const value = values[name]
    row[name] = typeof value === 'bigint' ? value.toString() : value
  }
  return row
}

function definedOnly(set: Row): Row {
  const defined: Record<string, unknown> = {}
  for (const name in set) if (set[name] !== undefined) defined[name] = set[name]
  return defined
}

/** The result of such a change depends on earlier ones, so it needs its own statement. */
function dependsOnOrder(change: WhereChange): boolean {
  return change.op === 'patch-where' || (change.op === 'insert-select' && change.existing === 'replace')
}

/** Two changes of one shape differ only in values that a record set can hold. */
function shapeOf(change: WhereChange): string {
  const where = Object.entries(change.where).map(([name, value]) => [name, value === null])
  const written = change.op === 'insert-select' ? [change.from, change.columns, change.existing] : []
  return JSON.stringify([change.op, change.table, where, written], (name, value: unknown) =>
    name === 'value' ? 0 : value,
  )
}
