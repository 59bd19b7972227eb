import type { Static, TObject } from 'typebox'
import { noOrganisation, tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import { namePairsOf } from '../../platform/kit/member-names.ts'
import type { Expression, RowChange, Table, WhereOf } from '../projections/projector.ts'
import {
  columnsIn,
  insertRow,
  patchRow,
  patchRows,
  removeRow,
  removeRows,
  upsertRow,
  type InsertOf,
  type Members,
} from '../projections/row-changes.ts'
import { isOwnedStream, parseOwnedStream } from '../aggregates/aggregate.ts'
import type { RecordedEvent } from '../store/events.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'
import { causeOf } from './step-identity.ts'
import { noConcurrencyKey, type keyedTodoTable, type TodoTable } from './todo-tables.ts'

export interface ListedStep {
  readonly payload: TObject
  readonly isKeyed: boolean
}
export type ListedSteps = Readonly<Record<string, ListedStep>>
type PayloadOf<Step extends ListedStep> = Readonly<Static<Step['payload']>>

/** A column of a lookup table, with its value at the event's place in `$all`. */
class LookupColumn<Value> {
  readonly name: string
  declare readonly value: Value

  constructor(name: string) {
    this.name = name
  }
}

type Given<Value> =
  | Value
  | LookupColumn<Value>
  | (Value extends object ? { readonly [Member in keyof Value]: Given<Value[Member]> } : never)
/** Several parts are joined. */
type Key = Given<string> | readonly Given<string>[]
type ColumnsOf<From extends Table> = <Name extends keyof InsertOf<From> & string>(
  member: Name,
) => LookupColumn<InsertOf<From>[Name]>

/** When a row is due, and the payload of its step. */
type Due<Step extends ListedStep, Text = string, Payload = PayloadOf<Step>> = {
  /** RFC 3339. */
  readonly at: string
  /** A row of the same key and step stops the list, unless it is replaced. */
  readonly existing?: 'replace'
} & (keyof PayloadOf<Step> extends never ? unknown : { readonly payload: Payload }) &
  (Step['isKeyed'] extends true ? { readonly concurrencyKey: Text } : unknown)

/** The same for each row of a lookup, with columns of it. */
type DueOfEach<Step extends ListedStep> = Due<
  Step,
  Given<string>,
  { readonly [Member in keyof PayloadOf<Step>]: Given<PayloadOf<Step>[Member]> }
> & {
  /** Organisation of the row, if it is not that of the lookup's row. */
  readonly orgId?: TenantId
  /** Most events find no row in the lookup, so they may wait some milliseconds for others. */
  readonly mayWait?: true
}

/** Rows of one step: all given members must match. */
interface RowsOf<Step extends ListedStep> {
  readonly key?: string
  readonly orgId?: TenantId
  readonly at?: string
  /** For a step without keys `noConcurrencyKey`: then the index finds the rows. */
  readonly concurrencyKey?: string
  readonly payload?: Partial<PayloadOf<Step>>
}

interface AnyDue<Text> {
  readonly at: string
  readonly existing?: 'replace' | 'refuse'
  readonly concurrencyKey?: Text
  readonly payload?: object
  readonly orgId?: TenantId
  readonly mayWait?: true
}

/** The changes that an event makes to a to-do list. Each row contains the event as its cause, and its organisation. */
export class TodoList<Steps extends ListedSteps> {
  readonly #event: RecordedEvent
  readonly #table: TodoTable

  constructor(event: RecordedEvent, table: TodoTable) {
    this.#event = event
    this.#table = table
  }

  /**
   * The organisation of the event: the name of an owned stream contains it, another event has a member for it. An event
   * of a user or of the installation may have none.
   */
  get orgId(): TenantId {
    const { stream, data } = this.#event
    if (isOwnedStream(stream)) return parseOwnedStream(stream).orgId
    const orgId = memberOf(data, 'organisationId') ?? memberOf(data, 'orgId') ?? memberOf(data, 'org_id') ?? undefined
    if (orgId === undefined && stream.includes('-')) return noOrganisation
    if (typeof orgId !== 'string') throw new TypeError(`an event of ${stream} names no organisation`)
    return tenantOfFact(orgId)
  }

  schedule<Name extends keyof Steps & string>(step: Name, key: string, due: Due<Steps[Name]>): RowChange {
    const { at, existing, concurrencyKey: lane = noConcurrencyKey, payload }: AnyDue<string> = due
    const caused = { cause: causeOf(this.#event), ...payload }
    const row = { key, step, orgId: this.orgId, dueAt: at, payload: caused, lane }
    return existing === 'replace' ? upsertRow(this.#table, row) : insertRow(this.#table, row)
  }

  /** One row for each row of the lookup that matches, with its organisation unless another one is given. */
  scheduleForEach<Name extends keyof Steps & string, From extends Table>(
    step: Name,
    lookup: From,
    where: Members<WhereOf<From>>,
    due: (column: ColumnsOf<From>) => DueOfEach<Steps[Name]> & { readonly key: Key },
  ): RowChange {
    const each = due((member) => new LookupColumn(columnOf(lookup, member)))
    return this.#insertSelect(step, lookup, columnsIn(lookup, where), each.key, each)
  }

  /** Turns each matching row of one step into a row of another step, with the same key. */
  replaceWhere<From extends keyof Steps & string, To extends keyof Steps & string>(
    from: From,
    where: RowsOf<Steps[From]>,
    to: To,
    due: (replaced: LookupColumn<PayloadOf<Steps[From]>>) => DueOfEach<Steps[To]>,
  ): RowChange[] {
    const rows = rowsOf(from, where)
    const each = due(new LookupColumn('payload'))
    return [
      this.#insertSelect(to, this.#table, columnsIn(this.#table, rows), new LookupColumn('key'), each),
      removeRows(this.#table, rows),
    ]
  }

  /** Changes when a row is due. The row must exist. */
  move(step: keyof Steps & string, key: string, at: string): RowChange {
    return patchRow(this.#table, { key, step, dueAt: at })
  }

  /** Changes when the matching rows are due. There may be none. */
  moveWhere<Name extends keyof Steps & string>(step: Name, where: RowsOf<Steps[Name]>, at: string): RowChange {
    return patchRows(this.#table, rowsOf(step, where), { dueAt: at })
  }

  /** Removes the row of a step, or the rows of all steps. There may be none. */
  clear(key: string, step?: keyof Steps & string): RowChange {
    return step === undefined ? removeRows(this.#table, { key }) : removeRow(this.#table, { key, step })
  }

  clearWhere<Name extends keyof Steps & string>(step: Name, where: RowsOf<Steps[Name]>): RowChange {
    return removeRows(this.#table, rowsOf(step, where))
  }

  #insertSelect(
    step: string,
    from: Table,
    where: Readonly<Record<string, unknown>>,
    key: Key,
    {
      at,
      existing = 'refuse',
      concurrencyKey: lane = noConcurrencyKey,
      payload,
      orgId,
      mayWait,
    }: AnyDue<Given<string>>,
  ): RowChange {
    return {
      op: 'insert-select',
      table: this.#table.name,
      from: from.name,
      where,
      columns: {
        key: Array.isArray(key) ? { concat: key.map(expressionOf) } : expressionOf(key),
        step: { value: step },
        org_id: orgId === undefined ? { column: 'org_id' } : { value: orgId },
        due_at: { value: at },
        payload: expressionOf({ cause: causeOf(this.#event), ...payload }),
        ...('lane' in this.#table.columns ? { lane: expressionOf(lane) } : {}),
      },
      existing,
      isOfEvent: false,
      ...(mayWait === undefined ? {} : { mayWait }),
    }
  }
}

function rowsOf(
  step: string,
  { at, payload, concurrencyKey, ...where }: RowsOf<ListedStep>,
): Members<WhereOf<typeof keyedTodoTable>> {
  return {
    ...where,
    step,
    ...(concurrencyKey === undefined ? {} : { lane: concurrencyKey }),
    ...(at === undefined ? {} : { dueAt: at }),
    ...(payload === undefined ? {} : { payload: { contains: payload } }),
  }
}

function columnOf({ name, columns }: Table, member: string): string {
  const column = namePairsOf(columns).find((pair) => pair.member === member)
  if (column === undefined) throw new TypeError(`table ${name} has no column for ${member}`)
  return column.name
}

function expressionOf(given: unknown): Expression {
  if (given instanceof LookupColumn) return { column: given.name }
  if (!hasColumn(given)) return { value: given }
  return { json: Object.fromEntries(Object.entries(Object(given)).map(([name, part]) => [name, expressionOf(part)])) }
}

function hasColumn(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false
  return given instanceof LookupColumn || Object.values(given).some(hasColumn)
}
