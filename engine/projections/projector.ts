import type { Static, TSchema } from 'typebox'
import type { MemberName } from '../../platform/kit/member-names.ts'
import type { DomainEvent, RecordedEvent } from '../store/events.ts'
import type { SealedIn } from '../store/schema.ts'
import type { Sealed } from '../store/sealed.ts'

/** `bytea` is for sealed columns only. */
export type ColumnType =
  | 'uuid'
  | 'text'
  | 'integer'
  | 'bigint'
  | 'numeric'
  | 'boolean'
  | 'timestamptz'
  | 'jsonb'
  | 'bytea'
/** `values`: the texts of a text column. `schema`: the values of a jsonb column. Neither is part of the stored shape. */
export type Column =
  | ColumnType
  | {
      readonly type: ColumnType
      readonly nullable?: true
      readonly values?: readonly string[]
      readonly schema?: TSchema
    }

/**
 * A column for a personal member of an event. It holds what the event holds, unopened: files, logs and copies of the database
 * contain no personal content. `opened` opens it for an answer. Nothing compares or orders it. Null if the event has none.
 */
export function sealed<Schema extends TSchema>(schema: Schema) {
  return { type: 'bytea', nullable: true, schema } as const
}

export function columnType(column: Column | undefined): ColumnType {
  if (column === undefined) throw new TypeError('a column that its table does not have')
  return typeof column === 'string' ? column : column.type
}

/** A table of one projector's Postgres schema. Names are snake_case. */
export interface Table {
  readonly name: string
  readonly columns: Readonly<Record<string, Column>>
  readonly primaryKey: readonly string[]
  readonly indexes?: readonly {
    readonly columns: readonly string[]
    readonly unique?: boolean
    /** Rows in which the first column is null are not in it, so they cost nothing. */
    readonly isSparse?: true
  }[]
}

export type Row = Readonly<Record<string, unknown>>

/** What an `insert-select` writes for a lookup row. `uuid` is named, of version 8, as `deliveryIdOf` makes it (decision 0020). */
export type Expression =
  | { readonly column: string }
  | { readonly value: unknown }
  | { readonly concat: readonly Expression[] }
  | { readonly uuid: { readonly namespace: Expression; readonly name: Expression } }
  | { readonly json: Readonly<Record<string, Expression>> }

/** The change of a handler, as data. An `insert` of an existing key and a `patch` of a missing row stop the projector. */
export type RowChange =
  | { readonly op: 'insert' | 'upsert'; readonly table: string; readonly row: Row }
  | { readonly op: 'patch'; readonly table: string; readonly key: Row; readonly set: Row }
  | { readonly op: 'remove'; readonly table: string; readonly key: Row }
  | { readonly op: 'patch-where'; readonly table: string; readonly where: Row; readonly set: Row }
  | { readonly op: 'remove-where'; readonly table: string; readonly where: Row }
  | {
      readonly op: 'insert-select'
      readonly table: string
      readonly from: string
      readonly where: Row
      readonly columns: Readonly<Record<string, Expression>>
      /** Effect of an existing row with the same key: it stops the projector, unless this is `replace`. */
      readonly existing: 'refuse' | 'replace'
      /** No earlier event can name the rows by their key. */
      readonly isOfEvent: boolean
      /** The event may wait for others, although rows of it may be due at once. */
      readonly mayWait?: true
    }

/** Declared as a method, so that a handler of one event type fits the table of handlers without a cast. */
export type Handler = { handle(event: RecordedEvent): readonly RowChange[] }['handle']

/** One read model. Name and version are its identity. It receives the events that `handlers` names. */
export interface Projector<T extends Table = Table> {
  /** Postgres schema of its tables, snake_case, never renamed. */
  readonly name: string
  /** Raise it when a change of handlers or tables changes the rows. The read model is then filled again. */
  readonly version: number
  readonly tables: readonly T[]
  readonly handlers: Readonly<Record<string, Handler>>
  /** Decisions depend on its rows, so no event may be skipped. After a failure only a corrected handler helps. */
  readonly decisive?: boolean
  /**
   * Nobody waits for its rows, and its events are as frequent as requests. If only such projectors want the events that
   * come, they are written a few times a second. Each write moves the checkpoints of all projectors.
   */
  readonly isPatient?: true
  /** Whether something waits for these changes. Other events may be written some milliseconds later, with the next ones. */
  readonly isUrgent?: (changes: readonly RowChange[], event: Pick<RecordedEvent, 'recordedAt'>) => boolean
  /** Its handlers get personal members opened, not sealed. */
  readonly opensPersonal?: true
}

type HandlersOf<Events extends DomainEvent> = {
  readonly [Type in Events['type']]?: (event: RecordedEvent<Extract<Events, { type: Type }>>) => readonly RowChange[]
}

/** The events as they are stored: personal members stay sealed. */
export type SealedEvents<Events extends DomainEvent> = Events extends DomainEvent
  ? { readonly type: Events['type']; readonly data: SealedIn<Events['data']> }
  : never

type Definition<T extends Table> = Omit<Projector<T>, 'handlers' | 'opensPersonal'>

/** `defineProjector<Events>()({ … })`: each handler gets the exact type of its event, with personal members sealed. */
export function defineProjector<Events extends DomainEvent>() {
  return <T extends Table>(
    definition: Definition<T> & { readonly handlers: HandlersOf<SealedEvents<Events>> },
  ): Projector<T> => ({ ...definition, handlers: definedOnly(definition.handlers) })
}

type OpeningHandlersOf<Events extends DomainEvent> = {
  readonly [Type in Events['type']]?: (
    event: RecordedEvent<Extract<Events, { type: Type }>> & {
      readonly sealed: SealedIn<Extract<Events, { type: Type }>['data']>
    },
  ) => readonly RowChange[]
}

/** The same for a projector whose rows depend on the content of a personal member: `sealed` is the data as it is stored. */
export function defineOpeningProjector<Events extends DomainEvent>() {
  return <T extends Table>(
    definition: Definition<T> & { readonly handlers: OpeningHandlersOf<Events> },
  ): Projector<T> => ({ ...definition, opensPersonal: true, handlers: definedOnly(definition.handlers) })
}

function definedOnly(given: Readonly<Record<string, Handler | undefined>>): Record<string, Handler> {
  const handlers: Record<string, Handler> = {}
  for (const [type, handler] of Object.entries(given)) if (handler !== undefined) handlers[type] = handler
  return handlers
}

/** Keeps the literal types of a table, so that row changes, views and queries check their columns. */
export function defineTable<const T extends Table>(table: T): T {
  const columns = Object.fromEntries(
    Object.entries(table.columns).map(([name, column]) => [name, storedColumn(column)]),
  )
  // The type keeps what the columns are declared with. The value is the stored shape.
  return { ...table, columns }
}

/** A column in the database. The stored shape of a table is the JSON text of its columns. */
function storedColumn(column: Column): Column {
  if (typeof column === 'string') return column
  return column.nullable === true ? { type: column.type, nullable: true } : column.type
}

/** Type to write: instants as RFC 3339 text, bigint and numeric as text (or bigint), jsonb as any JSON value. */
interface ColumnValues {
  uuid: string
  text: string
  integer: number
  bigint: string | bigint
  numeric: string | number
  boolean: boolean
  timestamptz: string
  jsonb: unknown
  bytea: Sealed
}

/** Type that a query returns: the same, with bigint and numeric as text only. */
type ViewValues = Omit<ColumnValues, 'bigint' | 'numeric'> & Readonly<Record<'bigint' | 'numeric', string>>

type Columns<T extends Table> = T['columns']
type Declared<C extends Column, Values extends Record<ColumnType, unknown>> = C extends ColumnType
  ? Values[C]
  : C extends { readonly values: readonly (infer Text)[] }
    ? Text
    : C extends { readonly type: 'bytea'; readonly schema: infer Schema extends TSchema }
      ? Sealed<NonNullable<Static<Schema>>>
      : C extends { readonly schema: infer Schema extends TSchema }
        ? Static<Schema>
        : C extends { readonly type: infer Base extends ColumnType }
          ? Values[Base]
          : never
type OrNull<C extends Column> = C extends { readonly nullable: true } ? null : never
type Value<C extends Column> = Declared<C, ColumnValues> | OrNull<C>
type NullableColumn<T extends Table> = {
  [Name in keyof Columns<T>]: Columns<T>[Name] extends { readonly nullable: true } ? Name : never
}[keyof Columns<T>]

/** A row in code: `patient_id` is `patientId`. */
export type ViewOf<T extends Table> = {
  readonly [Name in keyof Columns<T> & string as MemberName<Name>]:
    | Declared<Columns<T>[Name], ViewValues>
    | OrNull<Columns<T>[Name]>
}

/** A whole row to write. An omitted nullable column is null. */
export type RowOf<T extends Table> = {
  readonly [Name in Exclude<keyof Columns<T>, NullableColumn<T>>]: Value<Columns<T>[Name]>
} & { readonly [Name in NullableColumn<T>]?: Value<Columns<T>[Name]> | undefined }

/** The primary key of a row. */
export type KeyOf<T extends Table> = { readonly [Name in T['primaryKey'][number]]: Value<Columns<T>[Name] & Column> }

/** Columns to set. An omitted or undefined column does not change. */
export type PatchOf<T extends Table> = {
  readonly [Name in Exclude<keyof Columns<T>, T['primaryKey'][number]>]?: Value<Columns<T>[Name]> | undefined
}

type BaseOf<C extends Column> = C extends { readonly type: infer Base } ? Base : C

/** Equalities (null matches null). For jsonb also containment: `{ contains }` is the operator `@>`. */
export type WhereOf<T extends Table> = {
  readonly [Name in keyof Columns<T>]?: BaseOf<Columns<T>[Name]> extends 'jsonb'
    ? { readonly contains: unknown }
    : Value<Columns<T>[Name]>
}

/**
 * Writes one row into `table` for each matching row of the lookup table `from`, which contains what the events before
 * this one have written. `isOfEvent` declares that the key contains the id of the event, so no earlier event has written
 * these rows. All such inserts of a batch are then one statement, before the changes by key.
 */
export function insertSelect<T extends Table, From extends Table>(
  table: T,
  select: {
    from: From
    where: WhereOf<From>
    columns: { readonly [Name in keyof RowOf<T>]: Expression | undefined }
    existing?: 'replace'
    isOfEvent?: true
  },
): RowChange {
  const columns: Record<string, Expression> = {}
  for (const [name, expression] of Object.entries<Expression | undefined>(select.columns)) {
    if (expression !== undefined) columns[name] = expression
  }
  const { from, where, existing = 'refuse', isOfEvent = false } = select
  return { op: 'insert-select', table: table.name, from: from.name, where, columns, existing, isOfEvent }
}
