import { namePairsOf, type MemberName } from '../../platform/kit/member-names.ts'
import type { KeyOf, PatchOf, Row, RowChange, RowOf, Table, WhereOf } from './projector.ts'

/** Columns by the members that hold their values. */
export type Members<Columns> = {
  readonly [Name in keyof Columns as Name extends string ? MemberName<Name> : never]: Columns[Name]
}

/** A whole row to write, by members; a nullable column that is left out is null. */
export type InsertOf<T extends Table> = Members<RowOf<T>>

/** The primary key of a row, and the columns to set. A column that is left out or undefined stays as it is. */
export type ChangeOf<T extends Table> = Members<KeyOf<T>> & Members<PatchOf<T>>

/**
 * Writes a row that must not exist yet. An event may be spread into the values: members without a column are ignored. Spread
 * only the event that describes the row.
 */
export function insertRow<T extends Table>(table: T, values: InsertOf<T>): RowChange {
  return { op: 'insert', table: table.name, row: columnsIn(table, values) }
}

/** Writes a row, replacing a whole existing one. */
export function upsertRow<T extends Table>(table: T, values: InsertOf<T>): RowChange {
  return { op: 'upsert', table: table.name, row: columnsIn(table, values) }
}

/** Sets columns of the row with this primary key, which must exist. An event may be spread into the values as for `insertRow`. */
export function patchRow<T extends Table>(table: T, values: ChangeOf<T>): RowChange {
  const key: Record<string, unknown> = {}
  const set: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(columnsIn(table, values))) {
    if (table.primaryKey.includes(name)) key[name] = value
    else set[name] = value
  }
  return { op: 'patch', table: table.name, key, set }
}

/** Removes the row with this primary key if it is there. */
export function removeRow<T extends Table>(table: T, values: Members<KeyOf<T>>): RowChange {
  return { op: 'remove', table: table.name, key: keyIn(table, columnsIn(table, values)) }
}

/** Sets columns of every row that matches; none is fine. */
export function patchRows<T extends Table>(table: T, where: Members<WhereOf<T>>, set: Members<PatchOf<T>>): RowChange {
  return { op: 'patch-where', table: table.name, where: columnsIn(table, where), set: columnsIn(table, set) }
}

/** Removes every row that matches; none is fine. */
export function removeRows<T extends Table>(table: T, where: Members<WhereOf<T>>): RowChange {
  return { op: 'remove-where', table: table.name, where: columnsIn(table, where) }
}

function keyIn(table: Table, row: Row): Row {
  return Object.fromEntries(table.primaryKey.map((name) => [name, row[name]]))
}

/** The columns of a table that these values have members for. */
export function columnsIn(table: Table, values: Row): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const { name, member } of namePairsOf(table.columns)) {
    const value = values[member]
    if (value !== undefined) row[name] = value
  }
  return row
}
