import knex, { type Knex } from 'knex'
import type { Pool } from '../platform/database/database.ts'
import { queryPrepared } from '../platform/database/prepared.ts'
import type { CursorPlace, PageRequest } from '../platform/http/cursors.ts'
import { problem } from '../platform/http/problems.ts'
import { memberName, namePairsOf } from '../platform/kit/member-names.ts'
import { tenantOfFact, type TenantId } from '../platform/kit/tenants.ts'
import type { Column, Projector, Table, ViewOf } from '../projections/runtime/projector.ts'

/** Builds the text of queries. It has no connections: the pool of the project runs the text. */
const builder = knex({ client: 'pg' })

declare const valueOf: unique symbol
declare const memberOf: unique symbol

/** A column in a query, with the type of its values and its member in a view. */
export type ColumnName<Value = unknown, Member extends string = string> = string & {
  readonly [valueOf]?: Value
  readonly [memberOf]?: Member
}

/** A value that the database computes. */
export type Computed<Value> = Knex.Raw & { readonly [valueOf]?: Value }

/**
 * The part of knex's builder that queries use. Every method changes and returns the same query. Unlike the builder, it is no
 * promise: only `viewsOf` and `viewByIds` run it.
 */
export interface Rows<View> {
  where<Value>(column: ColumnName<Value>, value: NoInfer<NonNullable<Value>>): Rows<View>
  whereRaw(sql: string, bindings: readonly Binding[]): Rows<View>
  join(table: string, first: ColumnName, second: ColumnName): Rows<View>
  joinRaw(sql: string, bindings: readonly Binding[]): Rows<View>
  leftJoin(table: string, first: ColumnName, second: ColumnName): Rows<View>
  distinctOn(column: ColumnName): Rows<View>
  orderByRaw(sql: string, bindings: readonly Binding[]): Rows<View>
  limit(count: number): Rows<View>
  select<More extends object>(columns: Selected<More>): Rows<View & More>
  toSQL(): { toNative(): { readonly sql: string; readonly bindings: readonly unknown[] } }
  readonly [valueOf]?: View
}

type Selected<View> = {
  readonly [Member in keyof View]: ColumnName<View[Member]> | Computed<View[Member]>
}
type Binding = string | number | Date | null | readonly string[] | Rows<object>

/** The columns of a table in a query, by their members in its view: `d.patientId` is `d.patient_id`. */
export function columnsOf<T extends Table>(table: T, alias: string) {
  const names = namePairsOf(table.columns).map(({ name, member }) => [member, `${alias}.${name}`])
  // The members and types are those of the table's view.
  return Object.fromEntries(names) as {
    readonly [Member in keyof ViewOf<T> & string]: ColumnName<ViewOf<T>[Member], Member>
  }
}

/** A table of a projector in a join. */
export function tableOf(projector: Projector, table: Table, alias: string): string {
  return `${projector.name}.${table.name} as ${alias}`
}

/** A raw expression: `??` stands for a column, `?` for a value. The type is the author's word for what it returns. */
export function computed<Value>(sql: string, bindings: readonly Binding[] = []): Computed<Value> {
  // knex takes its own queries as bindings, which is what `Rows` are.
  return builder.raw(sql, [...bindings] as Knex.RawBinding[])
}

type OwnedTable = Table & { readonly columns: { readonly org_id: Column } }

/** Begins a query for the rows of one organisation, with all columns of the table under their members. */
export function rowsOfTenant<T extends OwnedTable>(
  projector: Projector,
  table: T,
  alias: string,
  tenant: TenantId,
): Rows<ViewOf<T>> {
  return rowsOf(tableOf(projector, table, alias), columnsOf(table, alias)).where(`${alias}.org_id`, tenant)
}

/** The same for a route whose tenancy is optional. Null: the rows of every organisation, and of none. */
export function rowsWithin<T extends OwnedTable>(
  projector: Projector,
  table: T,
  alias: string,
  tenant: TenantId | null,
): Rows<ViewOf<T>> {
  if (tenant !== null) return rowsOfTenant(projector, table, alias, tenant)
  return rowsOf(tableOf(projector, table, alias), columnsOf(table, alias))
}

/** Begins a query for rows of every organisation: for what is no tenant's secret. */
export function rowsOf<View extends object>(table: string, columns: Selected<View>): Rows<View> {
  return narrowed(builder.from(table).select(columns))
}

/** Begins a query over an expression that is built of other queries. `selected` names what it takes of it, like `latest.*`. */
export function rowsFrom<View>(source: Computed<View>, ...selected: readonly string[]): Rows<View> {
  return narrowed(builder.from(source).select(...selected))
}

/** knex's own types follow neither the columns nor the views of tables. */
function narrowed<View>(query: Knex.QueryBuilder): Rows<View> {
  return query as Rows<View>
}

/**
 * The one row of a query, where `viewByIds` does not fit because the tenant may be null.
 * @throws Problem `not-found`
 */
export async function oneView<View extends object>(pool: Pool, rows: Rows<View>): Promise<View> {
  const [view] = await viewsOf(pool, rows.limit(1))
  if (view === undefined) throw problem('not-found')
  return view
}

/** All rows of a query. Lists are planned for their filters each time. */
export async function viewsOf<View extends object>(pool: Pool, rows: Rows<View>): Promise<View[]> {
  const { sql, bindings } = rows.toSQL().toNative()
  const found = await pool.query<View>(sql, [...bindings])
  return found.rows.map((row) => viewOf(row))
}

/**
 * A query for one row by ids, the tenant's first. Its text is built at the first use, and every connection prepares it once: this
 * saves a quarter of a GET.
 *
 * The query throws Problem `not-found` where no row matches: missing and foreign rows are answered alike.
 */
export function viewByIds<Ids extends readonly string[], View extends object>(
  build: (tenant: TenantId, ...ids: Ids) => Rows<View>,
) {
  let compiled: { readonly text: string; readonly valuesOf: (given: readonly string[]) => unknown[] } | undefined

  /** The ids as they are bound at the first use: markers that no query contains as a constant. */
  const markers = Array.from({ length: build.length }, (_, place) => `:${place}`)

  function compile() {
    const [tenant = '', ...ids] = markers
    // One marker for each id.
    const { sql, bindings } = build(tenantOfFact(tenant), ...(ids as readonly string[] as Ids))
      .toSQL()
      .toNative()
    const places = bindings.map((bound) => markers.findIndex((marker) => marker === bound))
    const valuesOf = (given: readonly string[]) =>
      places.map((place, index) => (place === -1 ? bindings[index] : given[place]))
    return { text: sql, valuesOf }
  }

  return async (pool: Pool, tenant: TenantId, ...ids: Ids): Promise<View> => {
    compiled ??= compile()
    const [row] = (await queryPrepared<View>(pool, compiled.text, compiled.valuesOf([tenant, ...ids]))).rows
    if (row === undefined) throw problem('not-found')
    return viewOf(row)
  }
}

/** The row of a query as its view. The type of a query is that of the view, in which instants are text. */
function viewOf<View extends object>(row: View): View {
  for (const name in row) {
    const value: unknown = row[name]
    if (value instanceof Date) Reflect.set(row, name, value.toISOString())
  }
  return row
}

/** The rows behind a place, and how many of them. */
export type Behind = Pick<PageRequest, 'after' | 'fetch'>

/** The order of a list: what its rows are compared by, all in one direction, and their place in it for cursors. */
export interface SortOrder<Member extends string> {
  readonly page: <View>(rows: Rows<View>, page: Behind) => Rows<View>
  readonly placeOf: (view: { readonly [Name in Member]: string | number | null }) => CursorPlace
}

type SortKey<Member extends string> =
  | ColumnName<unknown, Member>
  | { readonly column: ColumnName<unknown, Member>; readonly ifNull: number }

/** The last key tells apart rows of which the others are equal. */
export function sortOrder<Member extends string>(
  direction: 'asc' | 'desc',
  ...keys: readonly SortKey<Member>[]
): SortOrder<Member> {
  const columns = keys.map((key) => (typeof key === 'string' ? { column: key, ifNull: undefined } : key))
  const names = columns.map(({ ifNull }) => (ifNull === undefined ? '??' : `coalesce(??, ${ifNull})`))
  const comparison = `(${names.join(', ')}) ${direction === 'asc' ? '>' : '<'} (${names.map(() => '?').join(', ')})`
  const members = columns.map(({ column, ifNull }) => ({ member: memberOfColumn(column), ifNull }))
  return {
    page(rows, { after, fetch }) {
      if (after !== null) rows.whereRaw(comparison, [...columns.map(({ column }) => column), ...after])
      rows.orderByRaw(
        names.map((name) => `${name} ${direction}`).join(', '),
        columns.map(({ column }) => column),
      )
      return rows.limit(fetch)
    },
    placeOf: (view) => members.map(({ member, ifNull }) => view[member] ?? ifNull ?? null),
  }
}

function memberOfColumn<Member extends string>(column: ColumnName<unknown, Member>): Member {
  // As `columnsOf` has named it.
  return memberName(column.slice(column.indexOf('.') + 1)) as Member
}
