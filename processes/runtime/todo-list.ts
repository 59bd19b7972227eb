import type { Static, TObject } from 'typebox'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import {
  defineTable,
  insert,
  insertSelect,
  patch,
  patchWhere,
  remove,
  removeWhere,
  upsert,
  type Expression,
  type RowChange,
  type RowOf,
  type Table,
  type WhereOf,
} from '../../projections/runtime/projector.ts'
import { parseOwnedStream } from '../../streams/aggregate.ts'
import type { RecordedEvent } from '../../streams/store/events.ts'
import { memberOf } from '../adapters/outside-answers.ts'
import { causeOf } from './step-identity.ts'

/** The to-do list of a process: which step is due for which key, and when. */
export const todoTable = defineTable({
  name: 'todo',
  columns: {
    key: 'text',
    step: 'text',
    org_id: { type: 'text', nullable: true },
    due_at: 'timestamptz',
    payload: 'jsonb',
  },
  primaryKey: ['key', 'step'],
  indexes: [{ columns: ['due_at'] }],
})

/**
 * The to-do list of a process whose steps call many receivers, each of which may hang. `lane` names the receiver of a row.
 * Lanes share the workers, so a receiver that does not answer holds up no other.
 */
export const laneTodoTable = defineTable({
  name: 'todo',
  columns: { ...todoTable.columns, lane: 'text' },
  primaryKey: ['key', 'step'],
  indexes: [{ columns: ['lane', 'due_at'] }],
})

/** The lane of rows whose steps call no receiver: it has no limit but the workers, and no pause. */
export const freeLane = '-'

/** What the list needs of the declaration of a step. */
export interface ListedStep {
  readonly payload: TObject
  readonly hasLane: boolean
}
type ListedSteps = Readonly<Record<string, ListedStep>>
type PayloadOf<Step extends ListedStep> = Readonly<Static<Step['payload']>>

/** A column of a lookup table, as it stands at the event's place in `$all`. */
export class LookupColumn<Value> {
  readonly name: string
  declare readonly value: Value

  constructor(name: string) {
    this.name = name
  }
}

type Given<Value> = Value | LookupColumn<Value>
/** Several parts are joined. */
type Key = Given<string> | readonly Given<string>[]
type ColumnsOf<From extends Table> = <Name extends keyof RowOf<From> & string>(
  name: Name,
) => LookupColumn<RowOf<From>[Name]>

/** When a row is due, and what its step is given. */
type Due<Step extends ListedStep, Text = string, Payload = PayloadOf<Step>> = {
  /** RFC 3339. */
  readonly at: string
  /** A row of the same key and step stops the list, unless it is to be replaced. */
  readonly existing?: 'replace'
} & (keyof PayloadOf<Step> extends never ? unknown : { readonly payload: Payload }) &
  (Step['hasLane'] extends true ? { readonly lane: Text } : unknown)

/** The same for each row of a lookup, of which it may use columns. */
type DueOfEach<Step extends ListedStep> = Due<
  Step,
  Given<string>,
  { readonly [Member in keyof PayloadOf<Step>]: Given<PayloadOf<Step>[Member]> }
>

/** Rows of one step: all members that are given must match. */
export interface RowsOf<Step extends ListedStep> {
  readonly key?: string
  readonly orgId?: TenantId
  readonly at?: string
  /** Of a step without lanes `freeLane`, which the index finds. */
  readonly lane?: string
  readonly payload?: Partial<PayloadOf<Step>>
}

interface AnyDue<Text> {
  readonly at: string
  readonly existing?: 'replace'
  readonly lane?: Text
  readonly payload?: object
}

/**
 * The changes that an event makes to the to-do list of a process. A row contains the event as its cause, and the
 * organisation of the event.
 */
export class TodoList<Steps extends ListedSteps> {
  readonly #event: RecordedEvent
  readonly #hasLanes: boolean

  constructor(event: RecordedEvent, hasLanes: boolean) {
    this.#event = event
    this.#hasLanes = hasLanes
  }

  /** The organisation of the event: the name of an owned stream contains it, an event of a channel has a member for it. */
  get orgId(): TenantId {
    const { stream, data } = this.#event
    if (stream.includes('-')) return parseOwnedStream(stream).orgId
    const orgId = memberOf(data, 'orgId') ?? memberOf(data, 'org_id')
    if (typeof orgId !== 'string') throw new TypeError(`an event of ${stream} names no organisation`)
    return tenantOfFact(orgId)
  }

  schedule<Name extends keyof Steps & string>(step: Name, key: string, due: Due<Steps[Name]>): RowChange {
    const { at, existing, lane, payload }: AnyDue<string> = due
    const row = {
      key,
      step,
      org_id: this.orgId,
      due_at: at,
      payload: { cause: causeOf(this.#event), ...payload },
      ...this.#lane(lane ?? freeLane),
    }
    return existing === 'replace' ? upsert(todoTable, row) : insert(todoTable, row)
  }

  /** One row for each row of the lookup that matches, if there are any. The organisation is that of the lookup's row. */
  scheduleForEach<Name extends keyof Steps & string, From extends Table>(
    step: Name,
    lookup: From,
    where: WhereOf<From>,
    due: (column: ColumnsOf<From>) => DueOfEach<Steps[Name]> & { readonly key: Key },
  ): RowChange {
    const each = due((name) => new LookupColumn(name))
    return this.#insertSelect(step, lookup, where, each.key, each)
  }

  /** Each row of one step that matches becomes a row of another step, with the same key. */
  replaceWhere<From extends keyof Steps & string, To extends keyof Steps & string>(
    from: From,
    where: RowsOf<Steps[From]>,
    to: To,
    due: (replaced: LookupColumn<PayloadOf<Steps[From]>>) => DueOfEach<Steps[To]>,
  ): RowChange[] {
    const rows = this.#rows(from, where)
    const each = due(new LookupColumn('payload'))
    return [this.#insertSelect(to, todoTable, rows, new LookupColumn('key'), each), removeWhere(todoTable, rows)]
  }

  /** Changes when a row is due. The row must exist. */
  move(step: keyof Steps & string, key: string, at: string): RowChange {
    return patch(todoTable, { key, step }, { due_at: at })
  }

  /** Changes when rows are due, if there are any that match. */
  moveWhere<Name extends keyof Steps & string>(step: Name, where: RowsOf<Steps[Name]>, at: string): RowChange {
    return patchWhere(todoTable, this.#rows(step, where), { due_at: at })
  }

  /** Removes the row of a step, or those of all steps, if there are any. */
  clear(key: string, step?: keyof Steps & string): RowChange {
    return step === undefined ? removeWhere(todoTable, { key }) : remove(todoTable, { key, step })
  }

  clearWhere<Name extends keyof Steps & string>(step: Name, where: RowsOf<Steps[Name]>): RowChange {
    return removeWhere(todoTable, this.#rows(step, where))
  }

  #insertSelect<From extends Table>(
    step: string,
    from: From,
    where: WhereOf<From>,
    key: Key,
    { at, existing, lane, payload }: AnyDue<Given<string>>,
  ): RowChange {
    const columns = {
      key: Array.isArray(key) ? { concat: key.map(expressionOf) } : expressionOf(key),
      step: { value: step },
      org_id: { column: 'org_id' },
      due_at: { value: at },
      payload: payloadOf({ cause: causeOf(this.#event), ...payload }),
      ...this.#lane(expressionOf(lane ?? freeLane)),
    }
    return insertSelect(todoTable, { from, where, columns, ...(existing === undefined ? {} : { existing }) })
  }

  #rows(step: string, { key, orgId, at, lane, payload }: RowsOf<ListedStep>): WhereOf<typeof todoTable> {
    return {
      ...(key === undefined ? {} : { key }),
      step,
      ...(orgId === undefined ? {} : { org_id: orgId }),
      ...(at === undefined ? {} : { due_at: at }),
      ...(lane === undefined ? {} : { lane }),
      ...(payload === undefined ? {} : { payload: { contains: payload } }),
    }
  }

  #lane<Value>(lane: Value): { readonly lane?: Value } {
    return this.#hasLanes ? { lane } : {}
  }
}

function expressionOf(given: unknown): Expression {
  return given instanceof LookupColumn ? { column: given.name } : { value: given }
}

function payloadOf(payload: object): Expression {
  const members = Object.entries<unknown>({ ...payload })
  if (!members.some(([, given]) => given instanceof LookupColumn)) return { value: payload }
  return { json: Object.fromEntries(members.map(([name, given]) => [name, expressionOf(given)])) }
}
