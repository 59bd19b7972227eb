import type { ColumnType, Row, RowChange, Table } from './projector.ts'
import { storableText } from './storable-json.ts'

/** A row after all changes of a batch. `before`: its required state in the table. `values`: key and set columns. */
export interface FoldedRow {
  readonly before: 'absent' | 'present' | 'any'
  readonly after: 'whole' | 'partial' | 'gone'
  readonly values: Row
}

export type WhereChange = Extract<RowChange, { op: 'patch-where' | 'remove-where' | 'insert-select' }>

export type RemoveWhere = Extract<WhereChange, { op: 'remove-where' }>

/** Columns to set in every row with these members of its key; there may be no such row. */
export interface WidePatch {
  readonly where: readonly string[]
  /** Members of the key and set columns. */
  readonly values: Row
}

/** A handler contradicts the stored rows. The message contains table and rule, never a value. */
export class RowConflictError extends Error {
  override readonly name = 'RowConflictError'
}

/** The row changes of one table between two changes that depend on other rows. */
export class RowsStep {
  readonly kind = 'rows'
  readonly table: Table
  readonly rows = new Map<string, FoldedRow>()
  /** Written before the rows. The rows already contain these values. */
  readonly wide = new Map<string, WidePatch>()
  /** Written after the rows, by shape. They match no row that changed after them. */
  readonly removals = new Map<string, RemoveWhere[]>()
  /** The values in the removals' conditions, by their columns. */
  readonly #removed = new Map<string, { readonly names: readonly string[]; readonly texts: Set<string> }>()
  /** The key members in the wide patches' conditions, and the rows by these. */
  #members: readonly string[] = []
  readonly #family = new Map<string, Set<string>>()

  constructor(table: Table) {
    this.table = table
  }

  /** Whether every pending change names its row by the whole key. */
  get isByKeyOnly(): boolean {
    return this.wide.size === 0 && this.removals.size === 0
  }

  fold(key: string, row: Row, next: (values: Row, found: FoldedRow | undefined) => FoldedRow): void {
    const found = this.rows.get(key)
    this.rows.set(key, next(row, found))
    if (found === undefined && this.#members.length > 0) this.#addToFamily(key, row)
  }

  /**
   * Whether a change may run before the removals: none may match the row, before or after the change.
   * `mayReplace`: the change contains the whole row and may overwrite an old one. An insert may not do this if its own
   * event removes rows: the removals run last, so Postgres would still find the old row and refuse the insert. After a
   * refused batch, each event is written alone.
   */
  takes(key: string, values: Row, mayReplace: boolean): boolean {
    if (this.#removed.size === 0) return true
    const found = this.rows.get(key)
    const { primaryKey } = this.table
    if (found === undefined || found.after === 'gone') {
      return this.#isKept(mayReplace ? values : Object.fromEntries(primaryKey.map((name) => [name, values[name]])))
    }
    return this.#isKept(found.values) && this.#isKept({ ...found.values, ...values })
  }

  remove(change: RemoveWhere): void {
    const names = Object.keys(change.where).toSorted()
    const shape = names.join()
    const removed = this.#removed.get(shape) ?? { names, texts: new Set<string>() }
    this.#removed.set(shape, { names, texts: removed.texts.add(partText(this.table, change.where, names) ?? '') })
    const where = Object.fromEntries(names.map((name) => [name, change.where[name]]))
    const changes = this.removals.get(shape)
    if (changes === undefined) this.removals.set(shape, [{ ...change, where }])
    else changes.push({ ...change, where })
  }

  /** True if no removal can match the row. */
  #isKept(values: Row): boolean {
    return [...this.#removed.values()].every(({ names, texts }) => {
      if (names.some((name) => values[name] === null)) return true
      const text = partText(this.table, values, names)
      return text !== undefined && !texts.has(text)
    })
  }

  /** Wide patches with different members may match the same rows, so their order would matter. */
  takesWide(members: readonly string[]): boolean {
    return this.#removed.size === 0 && (this.#members.length === 0 || this.#members.join() === members.join())
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

/** One text for each combination of values of these key members. */
export function keyText(table: Table, row: Row, members: readonly string[]): string {
  const parts = members.map((name) => {
    const value = row[name]
    if (!isKeyValue(value)) throw new RowConflictError(`a change of ${table.name} leaves out its key ${name}`)
    return table.columns[name] === 'uuid' ? String(value).toLowerCase() : String(value)
  })
  return parts.length === 1 ? (parts[0] ?? '') : JSON.stringify(parts)
}

export function isKeyValue(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** Columns whose values are equal exactly if their texts are equal. */
export function isComparable(table: Table, name: string): boolean {
  return ['uuid', 'text', 'integer', 'boolean'].includes(typeOf(table, name) ?? '')
}

function typeOf({ columns }: Table, name: string): ColumnType | undefined {
  const column = columns[name]
  return typeof column === 'object' ? column.type : column
}

/** One text for each combination of values of comparable columns; undefined if a value is unknown. */
export function partText(table: Table, row: Row, names: readonly string[]): string | undefined {
  const parts: string[] = []
  for (const name of names) {
    const value = row[name]
    if (!isKeyValue(value)) return undefined
    parts.push(typeOf(table, name) === 'uuid' ? String(value).toLowerCase() : storableText(String(value)))
  }
  return JSON.stringify(parts)
}
