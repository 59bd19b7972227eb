import { isDeepStrictEqual } from 'node:util'
import {
  columnType,
  type Expression,
  type Projector,
  type Row,
  type RowChange,
  type Table,
} from '../../engine/projections/projector.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import type { Rows } from './given-projector.ts'

/**
 * The rows of a projector after these events, computed without Postgres. `insert-selects.int.test.ts` compares them with
 * those of a real Postgres.
 */
export function rowsInMemory({ tables, handlers }: Projector, events: readonly RecordedEvent[]): Rows {
  const rows = new Map(tables.map((table) => [table.name, new TableRows(table)]))
  const named = (name: string): TableRows => {
    const found = rows.get(name)
    if (found === undefined) throw new TypeError(`no table ${name}`)
    return found
  }
  for (const event of events)
    for (const change of handlers[event.type]?.(event) ?? []) apply(change, named(change.table), named)
  return Object.fromEntries([...rows].map(([name, table]) => [name, table.all()]))
}

function apply(change: RowChange, table: TableRows, named: (name: string) => TableRows): void {
  switch (change.op) {
    case 'insert':
    case 'upsert':
      return table.write(change.row, { mayReplace: change.op === 'upsert' })
    case 'patch':
      return table.patch(change.key, change.set, { mustExist: true })
    case 'patch-where':
      return table.patch(change.where, change.set, { mustExist: false })
    case 'remove':
      return table.remove(change.key)
    case 'remove-where':
      return table.remove(change.where)
    case 'insert-select':
      for (const source of named(change.from).matching(change.where)) {
        const row = Object.entries(change.columns).map(([name, expression]) => [name, valueOf(expression, source)])
        table.write(Object.fromEntries(row), { mayReplace: change.existing === 'replace' })
      }
  }
}

class TableRows {
  readonly #table: Table
  readonly #rows = new Map<string, Row>()

  constructor(table: Table) {
    this.#table = table
  }

  /** Ordered by primary key. */
  all(): Row[] {
    return [...this.#rows].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row)
  }

  matching(where: Row): Row[] {
    return this.all().filter((row) =>
      Object.entries(where).every(([name, wanted]) =>
        columnType(this.#table.columns[name]) === 'jsonb'
          ? contains(row[name], Object(wanted).contains)
          : row[name] === this.#stored(name, wanted),
      ),
    )
  }

  write(row: Row, { mayReplace }: { readonly mayReplace: boolean }): void {
    const key = this.#keyOf(row)
    if (!mayReplace && this.#rows.has(key)) throw new Error(`a row of ${this.#table.name} exists: ${key}`)
    const names = Object.keys(this.#table.columns)
    this.#rows.set(key, Object.fromEntries(names.map((name) => [name, this.#stored(name, row[name])])))
  }

  patch(where: Row, set: Row, { mustExist }: { readonly mustExist: boolean }): void {
    const found = this.matching(where)
    if (mustExist && found.length === 0) throw new Error(`no row of ${this.#table.name}: ${JSON.stringify(where)}`)
    const defined = Object.entries(set).filter(([, value]) => value !== undefined)
    for (const row of found) this.write({ ...row, ...Object.fromEntries(defined) }, { mayReplace: true })
  }

  remove(where: Row): void {
    for (const row of this.matching(where)) this.#rows.delete(this.#keyOf(row))
  }

  #keyOf(row: Row): string {
    return this.#table.primaryKey.map((name) => String(row[name])).join(' ')
  }

  /** As a query returns it, with instants as RFC 3339. */
  #stored(name: string, value: unknown): unknown {
    if (value === null || value === undefined) return null
    const isInstant = typeof value === 'string' && columnType(this.#table.columns[name]) === 'timestamptz'
    return isInstant ? new Date(value).toISOString() : value
  }
}

/** Containment of JSON values as `@>` defines it. */
function contains(whole: unknown, part: unknown): boolean {
  if (Array.isArray(part))
    return Array.isArray(whole) && part.every((item) => whole.some((member) => contains(member, item)))
  if (typeof part !== 'object' || part === null) return isDeepStrictEqual(whole, part)
  const members = new Map(Object.entries(Object(whole)))
  return Object.entries(part).every(([name, value]) => members.has(name) && contains(members.get(name), value))
}

function valueOf(expression: Expression, source: Row): unknown {
  if ('column' in expression) return source[expression.column]
  if ('value' in expression) return expression.value
  if ('concat' in expression) return expression.concat.map((part) => valueOf(part, source)).join('')
  if ('json' in expression)
    return Object.fromEntries(Object.entries(expression.json).map(([name, part]) => [name, valueOf(part, source)]))
  throw new TypeError('a to-do list derives no UUID')
}
