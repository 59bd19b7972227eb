import type { Row, RowChange, Table } from './projector.ts'

/** A row after all changes of a batch. `before`: what must be true of it in the table; `values`: key and set columns. */
export interface FoldedRow {
  readonly before: 'absent' | 'present' | 'any'
  readonly after: 'whole' | 'partial' | 'gone'
  readonly values: Row
}

export type WhereChange = Extract<RowChange, { op: 'patch-where' | 'remove-where' | 'insert-select' }>

/** Columns to set in every row that has these members of its key; any number, none too. */
export interface WidePatch {
  readonly where: readonly string[]
  /** Members of the key and set columns. */
  readonly values: Row
}

/** One table's share of a batch, to be written in this order. */
export type PlanStep =
  | {
      readonly kind: 'rows'
      readonly table: Table
      readonly rows: Map<string, FoldedRow>
      /** Written before the rows, which hold already what it sets in them. */
      readonly wide: ReadonlyMap<string, WidePatch>
    }
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
  readonly #lastStep = new Map<string, Step>()

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
        return this.#addWidePatch(table, change) ? undefined : this.#addWhere(table, change)
      case 'remove-where':
      case 'insert-select':
        return this.#addWhere(table, change)
    }
  }

  #fold(table: Table, values: Row, next: (values: Row, found: FoldedRow | undefined) => FoldedRow): void {
    const row = storableRow(table, values)
    this.#rowsStep(table).fold(keyText(table, row, table.primaryKey), row, next)
  }

  /**
   * One that names its rows by members of their key alone, as a child table's by its parent, concerns none but those: so it
   * is folded into them, and many parents' make one statement. False for any other.
   */
  #addWidePatch(table: Table, { where, set }: Extract<WhereChange, { op: 'patch-where' }>): boolean {
    const members = Object.keys(where).toSorted()
    const values = definedOnly(set)
    const isOfKey = members.length > 0 && members.every((name) => table.primaryKey.includes(name) && isKeyValue(where[name]))
    if (!isOfKey || table.primaryKey.some((name) => name in values)) return false
    const step = this.#rowsStep(table)
    if (!step.takesWide(members)) return false
    step.patchWide(members, storableRow(table, where), storableRow(table, values))
    return true
  }

  #rowsStep(table: Table): RowsStep {
    const last = this.#lastStep.get(table.name)
    if (last instanceof RowsStep) return last
    const step = new RowsStep(table)
    this.#append(step, [table.name])
    return step
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

  #append(step: Step, concerned: readonly string[]): void {
    this.steps.push(step)
    for (const name of concerned) this.#lastStep.set(name, step)
  }

  #table(name: string): Table {
    const table = this.#tables.get(name)
    if (table === undefined) throw new RowConflictError(`table ${name} is not one of the projector's`)
    return table
  }
}

type Step = RowsStep | Extract<PlanStep, { kind: 'where' }>

/** The changes of one table's rows between two that depend on other rows. */
class RowsStep {
  readonly kind = 'rows'
  readonly table: Table
  readonly rows = new Map<string, FoldedRow>()
  readonly wide = new Map<string, WidePatch>()
  /** The members of the key that the wide patches name, and the rows by these. */
  #members: readonly string[] = []
  readonly #family = new Map<string, Set<string>>()

  constructor(table: Table) {
    this.table = table
  }

  fold(key: string, row: Row, next: (values: Row, found: FoldedRow | undefined) => FoldedRow): void {
    const found = this.rows.get(key)
    this.rows.set(key, next(row, found))
    if (found === undefined && this.#members.length > 0) this.#addToFamily(key, row)
  }

  /** Wide patches that name different members may concern the same rows: their order would count. */
  takesWide(members: readonly string[]): boolean {
    return this.#members.length === 0 || this.#members.join() === members.join()
  }

  patchWide(members: readonly string[], where: Row, set: Row): void {
    if (this.#members.length === 0) {
      this.#members = members
      for (const [key, { values }] of this.rows) this.#addToFamily(key, values)
    }
    const part = keyText(this.table, where, members)
    for (const key of this.#family.get(part) ?? []) {
      const row = this.rows.get(key)
      if (row !== undefined && row.after !== 'gone') this.rows.set(key, { ...row, values: { ...row.values, ...set } })
    }
    this.wide.set(part, { where: members, values: { ...this.wide.get(part)?.values, ...where, ...set } })
  }

  #addToFamily(key: string, row: Row): void {
    const part = keyText(this.table, row, this.#members)
    const family = this.#family.get(part)
    if (family === undefined) this.#family.set(part, new Set([key]))
    else family.add(key)
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

/** One text for each combination of values of these members of the key. */
function keyText(table: Table, row: Row, members: readonly string[]): string {
  const parts = members.map((name) => {
    const value = row[name]
    if (!isKeyValue(value)) throw new RowConflictError(`a change of ${table.name} leaves out its key ${name}`)
    return table.columns[name] === 'uuid' ? String(value).toLowerCase() : String(value)
  })
  return parts.length === 1 ? (parts[0] ?? '') : JSON.stringify(parts)
}

function isKeyValue(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
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
