import type { Row, RowChange, Table } from './projector.ts'

/** A row after all changes of a batch. `before`: what must be true of it in the table; `values`: key and set columns. */
export interface FoldedRow {
  readonly before: 'absent' | 'present' | 'any'
  readonly after: 'whole' | 'partial' | 'gone'
  readonly values: Row
}

export type WhereChange = Extract<RowChange, { op: 'patch-where' | 'remove-where' | 'insert-select' }>

/** One table's share of a batch, to be written in this order. */
export type PlanStep =
  | { readonly kind: 'rows'; readonly table: Table; readonly rows: Map<string, FoldedRow> }
  | {
      readonly kind: 'where'
      readonly table: Table
      /** The table that the condition reads: the lookup table of an `insert-select`, else the table itself. */
      readonly source: Table
      readonly shape: string
      readonly changes: WhereChange[]
    }

/** A handler contradicts what is there; the message names table and rule, never a value. */
export class RowConflictError extends Error {
  override readonly name = 'RowConflictError'
}

/**
 * Folds the row changes of a batch per row, so that each table is written once however many events touched it. Changes
 * that read other rows (`…-where`, `insert-select`) keep their place between the changes of the tables they concern.
 */
export class RowPlan {
  readonly steps: PlanStep[] = []
  readonly #tables: ReadonlyMap<string, Table>
  readonly #lastStep = new Map<string, PlanStep>()

  constructor(tables: ReadonlyMap<string, Table>) {
    this.#tables = tables
  }

  add(change: RowChange): void {
    const table = this.#table(change.table)
    switch (change.op) {
      case 'insert':
      case 'upsert':
        return this.#fold(table, change.row, (row, found) => wholeRow(table, change.op, row, found))
      case 'patch':
        return this.#fold(table, { ...definedOnly(change.set), ...change.key }, (set, found) => patchedRow(table, set, found))
      case 'remove':
        return this.#fold(table, change.key, removedRow)
      case 'patch-where':
      case 'remove-where':
      case 'insert-select':
        return this.#addWhere(table, change)
    }
  }

  #fold(table: Table, values: Row, next: (values: Row, found: FoldedRow | undefined) => FoldedRow): void {
    const row = storableRow(table, values)
    const last = this.#lastStep.get(table.name)
    const step = last?.kind === 'rows' ? last : { kind: 'rows' as const, table, rows: new Map<string, FoldedRow>() }
    const key = keyText(table, row)
    step.rows.set(key, next(row, step.rows.get(key)))
    if (step !== last) this.#append(step, [table.name])
  }

  #addWhere(table: Table, change: WhereChange): void {
    const source = change.op === 'insert-select' ? this.#table(change.from) : table
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
  if (op === 'insert' && found.after !== 'gone') throw new RowConflictError(`insert of an existing row of ${table.name}`)
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

/** Refuses columns that the table does not have, and turns what JSON cannot carry into what Postgres reads back exactly. */
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

function keyText(table: Table, row: Row): string {
  const parts = table.primaryKey.map((name) => {
    const value = row[name]
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      throw new RowConflictError(`a change of ${table.name} leaves out its key ${name}`)
    }
    return table.columns[name] === 'uuid' ? String(value).toLowerCase() : String(value)
  })
  return parts.length === 1 ? (parts[0] ?? '') : JSON.stringify(parts)
}

/** What such a change writes depends on those before it, so it needs a statement of its own. */
function dependsOnOrder(change: WhereChange): boolean {
  return change.op === 'patch-where' || (change.op === 'insert-select' && change.existing === 'replace')
}

/** Two changes of one shape differ only in values that a record set can carry. */
function shapeOf(change: WhereChange): string {
  const where = Object.entries(change.where).map(([name, value]) => [name, value === null])
  const written = change.op === 'insert-select' ? [change.from, change.columns, change.existing] : []
  return JSON.stringify([change.op, change.table, where, written], (name, value: unknown) => (name === 'value' ? 0 : value))
}
