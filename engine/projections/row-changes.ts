import { namePairsOf, type MemberName } from '../../platform/kit/member-names.ts'
import type { KeyOf, PatchOf, Row, RowChange, RowOf, Table, WhereOf } from './projector.ts'

/** Columns by the members with their values. */
export type Members<Columns> = {
  readonly [Name in keyof Columns as Name extends string ? MemberName<Name> : never]: Columns[Name]
}

/** A whole row to write, by members. An omitted nullable column is null. */
export type InsertOf<T extends Table> = Members<RowOf<T>>

/** The primary key of a row, and the columns to set. An omitted or undefined column does not change. */
export type ChangeOf<T extends Table> = Members<KeyOf<T>> & Members<PatchOf<T>>

/**
 * Writes a row that must not exist yet. An event may be spread into the values: members without a column are ignored. Spread
 * only the event that describes the row.
 */
export function insertRow<T extends Table>(table: T, values: InsertOf<T>): RowChange {
  return { op: 'insert', table: table.name, row: columnsIn(table, values) }
}

/** Writes a row. Replaces an existing one completely. */
export function upsertRow<T extends Table>(table: T, values: InsertOf<T>): RowChange {
  return { op: 'upsert', table: table.name, row: columnsIn(table, values) }
}

/** Sets columns of an existing row by its primary key. An event may be spread into the values as for `insertRow`. */
export function patchRow<T extends Table>(table: T, values: ChangeOf<T>): RowChange {
  const key: Record<string, unknown> = {}
  const set: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(columnsIn(table, values))) {
    if (table.primaryKey.includes(name)) key[name] = value
    else set[name] = value
  }
  return { op: 'patch', table: table.name, key, set }
}

/** Removes the row with this primary key, if it exists. */
export function removeRow<T extends Table>(table: T, values: Members<KeyOf<T>>): RowChange {
  return { op: 'remove', table: table.name, key: keyIn(table, columnsIn(table, values)) }
}

/** Sets columns of every matching row. There may be none. */
export function patchRows<T extends Table>(table: T, where: Members<WhereOf<T>>, set: Members<PatchOf<T>>): RowChange {
  return { op: 'patch-where', table: table.name, where: columnsIn(table, where), set: columnsIn(table, set) }
}

/** Removes every matching row. There may be none. */
export function removeRows<T extends Table>(table: T, where: Members<WhereOf<T>>): RowChange {
  return { op: 'remove-where', table: table.name, where: columnsIn(table, where) }
}

function keyIn(table: Table, row: Row): Row {
  return Object.fromEntries(table.primaryKey.map((name) => [name, row[name]]))
}

/** The columns of a table for which the values have members. */
export function columnsIn(table: Table, values: Row): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const { name, member } of namePairsOf(table.columns)) {
    const value = values[member]
    if (value !== undefined) row[name] = value
  }
  return row
}
