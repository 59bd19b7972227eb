import { createRequire } from 'node:module'
import type { Knex } from 'knex'
import type * as library from 'knex'
import type { Pool } from '../../platform/database/database.ts'
import { queryPrepared } from '../../platform/database/prepared.ts'
import { greatestPageBytes, type CursorPlace, type PageRequest, type PageRows } from '../../platform/http/cursors.ts'
import { problem } from '../../platform/http/problems.ts'
import { atFirstUse } from '../../platform/kit/at-first-use.ts'
import { memberName, namePairsOf } from '../../platform/kit/member-names.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import { Sealed, type SealedText } from '../store/sealed.ts'
import {
  columnType,
  type Column,
  type ColumnType,
  type Projector,
  type Table,
  type ViewOf,
} from '../projections/projector.ts'

const load = createRequire(import.meta.url)

/**
 * Builds the text of queries. It has no connections: the pool runs the text. It is loaded for the first query, because
 * its 330 modules take a ninth of a start.
 */
const builder = atFirstUse(() => {
  const { knex } = load('knex') as typeof library
  return knex({ client: 'pg' })
})

declare const valueOf: unique symbol
declare const memberOf: unique symbol
declare const sealedOf: unique symbol

/** A column in a query, with the type of its values and its member in a view. */
type ColumnName<Value = unknown, Member extends string = string> = string & {
  readonly [valueOf]?: Value
  readonly [memberOf]?: Member
}

/** A value that the database computes. */
export type Computed<Value> = Knex.Raw & { readonly [valueOf]?: Value }

/**
 * The part of knex's builder that queries use. Every method changes and returns the same query. Unlike the builder it is not a
 * promise. Only `viewsOf` and `viewByIds` run it.
 */
export interface Rows<View> {
  where<Value>(column: ColumnName<Value>, value: NoInfer<NonNullable<Value>>): Rows<View>
  whereRaw(sql: string, bindings: readonly Binding[]): Rows<View>
  /** `rows.join(...on(table, { … }))` */
  join(table: string, on: Readonly<Record<string, string>>): Rows<View>
  leftJoin(table: string, on: Readonly<Record<string, string>>): Rows<View>
  distinctOn(column: ColumnName): Rows<View>
  groupBy(column: ColumnName): Rows<View>
  orderByRaw(sql: string, bindings: readonly Binding[]): Rows<View>
  limit(count: number): Rows<View>
  select<More extends object>(columns: Selected<More>): Rows<View & More>
  toSQL(): { toNative(): { readonly sql: string; readonly bindings: readonly unknown[] } }
  readonly [valueOf]?: View
}

type Selected<View> = {
  readonly [Member in keyof View]: ColumnIn<View[Member], string> | Computed<View[Member]>
}
type Binding = string | number | Date | null | readonly string[] | Rows<object> | Computed<unknown>

/** A sealed column can only be selected: no condition and no order takes it, because nobody can compare its values. */
interface SealedColumn<Value = unknown, Member extends string = string> {
  readonly [sealedOf]: Value
  readonly [memberOf]: Member
}

type ColumnIn<Value, Member extends string> =
  NonNullable<Value> extends Sealed ? SealedColumn<Value, Member> : ColumnName<Value, Member>

type ColumnsOf<T extends Table> = {
  readonly [Member in keyof ViewOf<T> & string]: ColumnIn<ViewOf<T>[Member], Member>
}

const source = Symbol('source')

/** A table in a query: its columns by their members in its view. `d.patientId` is `d.patient_id`. */
export type TableIn<T extends Table> = ColumnsOf<T> & {
  readonly [source]: {
    readonly table: T
    readonly alias: string
    readonly from: string
    readonly columns: ColumnsOf<T>
  }
}

/** A table of a projector in a query, under an alias. */
export function tableOf<Tables extends Table, T extends Tables>(
  projector: Projector<Tables>,
  table: T,
  alias: string,
): TableIn<T> {
  const names = namePairsOf(table.columns).map(({ name, member }) => [member, `${alias}.${name}`])
  // The members and types are those of the table's view.
  const columns = Object.fromEntries(names) as ColumnsOf<T>
  const from = `${projector.name}.${table.name} as ${alias}`
  return { ...columns, [source]: { table, alias, from, columns } }
}

/** All columns of a table, for `select`. */
export function columnsOf<T extends Table>(table: TableIn<T>): ColumnsOf<T> {
  return table[source].columns
}

/** The columns of a table that equal columns of other tables. */
type On<T extends Table> = { readonly [Member in keyof ViewOf<T>]?: ColumnName<ViewOf<T>[Member] | null> }

/** A join: `rows.join(...on(i, { ownerId: o.ownerId }))`. */
export function on<T extends Table>(table: TableIn<T>, equal: On<T>): [string, Readonly<Record<string, string>>] {
  return [table[source].from, Object.fromEntries(pairsOf(table, equal))]
}

/** The same as a condition: `rows.whereRaw(...matching(i, { ownerId: o.ownerId }))`. */
export function matching<T extends Table>(table: TableIn<T>, equal: On<T>): [string, string[]] {
  const pairs = pairsOf(table, equal)
  return [pairs.map(() => '?? = ??').join(' and '), pairs.flat()]
}

function pairsOf<T extends Table>(table: TableIn<T>, equal: On<T>): [string, string][] {
  return Object.entries<string | undefined>(equal).map(([member, other]) => {
    if (other === undefined) throw new TypeError(`${member} of ${table[source].from} equals no column`)
    return [columnOf(table, member), other]
  })
}

/** A condition that is left out, because the table lacks its member, would find the rows of everyone. */
function columnOf<T extends Table>({ [source]: { columns, from } }: TableIn<T>, member: string): string {
  const column: unknown = Reflect.get(columns, member)
  if (typeof column !== 'string') throw new TypeError(`${from} has no member ${member}`)
  return column
}

/** Values of columns. An undefined one is no condition. */
export type Filters<T extends Table> = {
  readonly [Member in keyof ViewOf<T> as NonNullable<ViewOf<T>[Member]> extends Sealed ? never : Member]?:
    | NonNullable<ViewOf<T>[Member]>
    | undefined
}

/** Only the rows with these values of a table. */
export function filtered<View, T extends Table>(rows: Rows<View>, table: TableIn<T>, given: Filters<T>): Rows<View> {
  for (const [member, value] of Object.entries<unknown>(given)) {
    const column = columnOf(table, member)
    if (value !== undefined && value !== null) rows.where<unknown>(column, value)
  }
  return rows
}

/** The columns of a query inside another one: `latest('textVersionId')` is `latest.textVersionId`. */
export function membersOf<View>(alias: string) {
  return <Member extends keyof View & string>(member: Member): ColumnName<View[Member], Member> => `${alias}.${member}`
}

/** A raw expression: `??` stands for a column, `?` for a value. The compiler does not check its result type. */
export function computed<Value>(sql: string, bindings: readonly Binding[] = []): Computed<Value> {
  // knex accepts its own queries as bindings, and `Rows` are such queries.
  return builder().raw(sql, [...bindings] as Knex.RawBinding[])
}

/** A sealed column for `childrenOf`, because JSON holds no bytes. `fromText` of `opened.ts` reverses it. */
export function asText<Content>(column: SealedColumn<Sealed<Content> | null>): Computed<SealedText<Content> | null> {
  // At run time it is a name as all columns.
  return computed(`encode(??, 'base64')`, [column as unknown as string])
}

interface Children<T extends Table, Joined extends Table, View, Given extends keyof View> {
  readonly on: On<T>
  readonly join?: readonly [TableIn<Joined>, On<Joined>]
  readonly where?: (rows: Rows<object>) => Rows<object>
  readonly select: { readonly [Member in keyof View]: ColumnName<View[Member]> | Computed<View[Member]> }
  /** Rows without a value of these are left out. */
  readonly given?: readonly (Given & string)[]
  readonly orderBy: readonly ColumnName[]
}

type WithGiven<View, Given> = {
  readonly [Member in keyof View]: Member extends Given ? NonNullable<View[Member]> : View[Member]
}

/**
 * The rows of another table that belong to a row, as one value of it. One statement reads both, so both are of the same moment.
 * The values have the types of a view.
 */
export function childrenOf<
  T extends Table,
  View extends object,
  Given extends keyof View = never,
  Joined extends Table = T,
>(
  table: TableIn<T>,
  { on: equal, join, where = (rows) => rows, select, given = [], orderBy }: Children<T, Joined, View, Given>,
): Computed<readonly WithGiven<View, Given>[]> {
  const types = new Map([...typesOf(table), ...(join === undefined ? [] : typesOf(join[0]))])
  const values = Object.entries<ColumnName | Computed<unknown>>(select)
  const pairs = values.map(([member, value]) => `'${member}', ${inJson(value, types)}`)
  const children = computed<readonly View[]>(
    `coalesce(jsonb_agg(jsonb_build_object(${pairs.join(', ')}) order by ${orderBy.map(() => '??').join(', ')}), '[]')`,
    [...values.map(([, value]) => value), ...orderBy],
  )
  const rows = where(rowsOf(table, { children })).whereRaw(...matching(table, equal))
  if (join !== undefined) rows.join(...on(...join))
  for (const [, value] of values.filter(([member]) => given.some((name) => name === member)))
    rows.whereRaw('?? is not null', [value])
  return computed('(?)', [rows])
}

function typesOf<T extends Table>({ [source]: { table, alias } }: TableIn<T>): [string, ColumnType][] {
  return Object.entries<Column>(table.columns).map(([name, column]) => [`${alias}.${name}`, columnType(column)])
}

/** A value as a member of JSON. Postgres writes instants and large numbers there in other forms than in a view. */
function inJson(value: ColumnName | Computed<unknown>, types: ReadonlyMap<string, ColumnType>): string {
  if (typeof value !== 'string') return '?'
  const type = types.get(value)
  if (type === undefined) throw new TypeError(`${value} is not a column of the children`)
  if (type === 'timestamptz') return `to_char(?? at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  return type === 'bigint' || type === 'numeric' ? '??::text' : '??'
}

type OwnedTable = Table & { readonly columns: { readonly org_id: Column } }

/** Begins a query for the rows of one organisation, with all columns of the table under their members. */
export function rowsOfTenant<T extends OwnedTable>(table: TableIn<T>, tenant: TenantId): Rows<ViewOf<T>> {
  return rowsOf(table).where(`${table[source].alias}.org_id`, tenant)
}

/** The same for a route whose tenancy is optional. Null: the rows of every organisation, and of none. */
export function rowsWithin<T extends OwnedTable>(table: TableIn<T>, tenant: TenantId | null): Rows<ViewOf<T>> {
  return tenant === null ? rowsOf(table) : rowsOfTenant(table, tenant)
}

/** The rows of one organisation, and of the platform, which have none. Null: the rows of every organisation. */
export function rowsWithPlatform<T extends OwnedTable>(table: TableIn<T>, tenant: TenantId | null): Rows<ViewOf<T>> {
  const owner = `${table[source].alias}.org_id`
  return tenant === null ? rowsOf(table) : rowsOf(table).whereRaw('(?? = ? or ?? is null)', [owner, tenant, owner])
}

/** Begins a query for rows of every organisation. Only for data that is public among tenants. */
export function rowsOf<T extends Table>(table: TableIn<T>): Rows<ViewOf<T>>
export function rowsOf<T extends Table, View extends object>(table: TableIn<T>, columns: Selected<View>): Rows<View>
export function rowsOf<T extends Table>(table: TableIn<T>, columns: Selected<object> = columnsOf(table)): Rows<object> {
  return narrowed(builder().from(table[source].from).select(columns))
}

/** Begins a query over an expression that contains other queries. `selected` names its columns, like `latest.*`. */
export function rowsFrom<View>(source: Computed<View>, ...selected: readonly string[]): Rows<View> {
  return narrowed(
    builder()
      .from(source)
      .select(...selected),
  )
}

/** knex's own types do not follow the columns and views of tables. */
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

/** Runs a query and returns all rows. Postgres plans it each time, for its filters. */
export async function viewsOf<View extends object>(pool: Pool, rows: Rows<View>): Promise<View[]> {
  const { sql, bindings } = rows.toSQL().toNative()
  const found = await pool.query<View>(sql, [...bindings])
  return found.rows.map((row) => viewOf(row))
}

/**
 * A query for one row by ids, the tenant's first. Its text is built at the first use, and each connection prepares it once. This
 * saves a quarter of a GET.
 *
 * The query throws Problem `not-found` if no row matches. So missing and foreign rows give the same answer.
 */
export function viewByIds<Ids extends readonly string[], View extends object>(
  build: (tenant: TenantId, ...ids: Ids) => Rows<View>,
) {
  let compiled: { readonly text: string; readonly valuesOf: (given: readonly string[]) => unknown[] } | undefined

  /** Placeholders for the ids while the text is built. No query contains them as a constant. */
  const markers = Array.from({ length: build.length }, (_, place) => `:${place}`)

  function compile() {
    const [tenant = '', ...ids] = markers
    // One placeholder for each id.
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

/** Converts a row to its view. The type of a query is that of the view, with instants as text and bytes as what they seal. */
function viewOf<View extends object>(row: View): View {
  for (const name in row) {
    const value: unknown = row[name]
    if (value instanceof Date) Reflect.set(row, name, value.toISOString())
    else if (value instanceof Uint8Array) Reflect.set(row, name, Sealed.from(value))
  }
  return row
}

/**
 * A page of a list: the rows behind a place, up to the limit and to the bytes of a page, but at least one. Postgres measures
 * the rows as JSON and stops at the first one that does not fit, so neither side reads or holds the others.
 */
export async function pageOf<View extends object, Member extends string>(
  pool: Pool,
  order: SortOrder<Member>,
  rows: Rows<View>,
  { after, limit }: PageRequest,
): Promise<PageRows<View>> {
  const measured = computed<View>(
    `(select page.*, lead(true, 1, false) over () as "isFollowed", row_number() over () as "rowNumber",
       sum(octet_length(row_to_json(page)::text)) over (rows unbounded preceding) as "bytesSoFar"
     from (?) as page) as measured`,
    [order.page(rows, { after, limit: limit + 1 })],
  )
  const counted = rowsFrom(measured, 'measured.*').select({
    // A count can only grow. So Postgres, from version 15 on, ends the query where the condition on it fails.
    tooMany: computed<string>(
      'count(case when "rowNumber" > 1 and "bytesSoFar" > ? then 1 end) over (rows unbounded preceding)',
      [greatestPageBytes],
    ),
  })
  const fitting = rowsFrom(computed<View & { readonly isFollowed: boolean }>('(?) as counted', [counted]), 'counted.*')
  const found = await viewsOf(pool, fitting.whereRaw('"tooMany" < 1', []).limit(limit))
  const hasMore = found.at(-1)?.isFollowed ?? false
  for (const view of found) for (const name of measures) Reflect.deleteProperty(view, name)
  return { rows: found, hasMore }
}

const measures = ['isFollowed', 'rowNumber', 'bytesSoFar', 'tooMany']

/** The order of a list: its sort keys, all in one direction, and the place of a row for cursors. */
export interface SortOrder<Member extends string> {
  readonly page: <View>(rows: Rows<View>, page: PageRequest) => Rows<View>
  readonly placeOf: (view: { readonly [Name in Member]: string | number | null }) => CursorPlace
}

type SortKey<Member extends string> =
  | ColumnName<unknown, Member>
  | { readonly column: ColumnName<unknown, Member>; readonly ifNull: number }

/** The last key is unique, so the order is total. */
export function sortOrder<Member extends string>(
  direction: 'asc' | 'desc',
  ...keys: readonly SortKey<Member>[]
): SortOrder<Member> {
  const columns = keys.map((key) => (typeof key === 'string' ? { column: key, ifNull: undefined } : key))
  const names = columns.map(({ ifNull }) => (ifNull === undefined ? '??' : `coalesce(??, ${ifNull})`))
  const comparison = `(${names.join(', ')}) ${direction === 'asc' ? '>' : '<'} (${names.map(() => '?').join(', ')})`
  const members = columns.map(({ column, ifNull }) => ({ member: memberOfColumn(column), ifNull }))
  return {
    page(rows, { after, limit }) {
      if (after !== null) rows.whereRaw(comparison, [...columns.map(({ column }) => column), ...after])
      rows.orderByRaw(
        names.map((name) => `${name} ${direction}`).join(', '),
        columns.map(({ column }) => column),
      )
      return rows.limit(limit)
    },
    placeOf: (view) => members.map(({ member, ifNull }) => view[member] ?? ifNull ?? null),
  }
}

function memberOfColumn<Member extends string>(column: ColumnName<unknown, Member>): Member {
  // The member name from `columnsOf`.
  return memberName(column.slice(column.indexOf('.') + 1)) as Member
}
