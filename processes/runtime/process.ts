import type { Position } from '../../platform/kit/positions.ts'
import { defineTable, type Projector } from '../../projections/runtime/projector.ts'

/**
 * The to-do list of a process: which step is due for which key, and when. The list's projector writes it from events;
 * a process's list may have lookup tables beside it.
 */
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
 * The to-do list of a process whose steps call many receivers, each of which may hang: `lane` is whom a row is for. The
 * workers are shared out among lanes, so that one that does not answer holds up no other.
 */
export const laneTodoTable = defineTable({
  name: 'todo',
  columns: { ...todoTable.columns, lane: 'text' },
  primaryKey: ['key', 'step'],
  indexes: [{ columns: ['lane', 'due_at'] }],
})

/** The lane of rows whose steps call nobody outside: it has no limit but the workers, and no pause. */
export const freeLane = '-'

/** A due row of the list. `payload` is what the list's projector put there. */
export interface Todo {
  readonly key: string
  readonly step: string
  readonly orgId: string | null
  readonly dueAt: Date
  readonly payload: unknown
}

/** What a step may use of its surroundings while it runs. */
export interface StepContext {
  now(): Date
  /** Aborted when the step's time limit has passed or the worker stops; hand it to every outside call. */
  readonly signal: AbortSignal
  /** RFC 3339: the end of this attempt's lease, for the event that opens an attempt. */
  readonly leaseUntil: string
}

/** What a call said of the lane's receiver: it took the call, it answered otherwise, or it could not be reached. */
export type LaneHealth = 'good' | 'bad' | 'unreachable'

/**
 * How a step ended.
 * - `done`: the streams say so. `position` is that of the step's last append: the row is claimable again only once the
 *   list has passed it. Without a position nothing was appended, since the stream no longer wants the step. `goesOn`: the
 *   row wants the step again at once, which needs no news of the list: it is run again under the same claim, with its
 *   whole time limit and a lease that covers it, unless the workers stop or the claim is lost.
 * - `wait`: another attempt's lease is open until then.
 * - `retry`: something in between is away (event store, open circuit); not one of the step's tries, and in no stream.
 *   Milliseconds; `reason` is a code, never text from outside.
 *
 * `health` and `pauseMs` (the receiver asked for it, or its circuit is open) are for the row's lane; without them the
 * step says nothing of it. Lanes whose receivers are unreachable time after time pause by themselves.
 */
export type StepOutcome =
  | {
      readonly kind: 'done'
      readonly position?: Position | undefined
      readonly goesOn?: boolean | undefined
      readonly health?: LaneHealth | undefined
      readonly pauseMs?: number | undefined
    }
  | { readonly kind: 'wait'; readonly until: Date }
  | { readonly kind: 'retry'; readonly after: number; readonly reason: string; readonly pauseMs?: number | undefined }

export type Step<Deps> = (todo: Todo, deps: Deps, context: StepContext) => Promise<StepOutcome>

/** The workers of a process with lanes; they are not those that the other processes share. */
export interface LaneBudget {
  /** Steps at a time. */
  readonly slots: number
  /** Steps at a time of one lane that is well. */
  readonly perLane: number
  /** The time limit of a step, in milliseconds; its lease is longer by as much as that of every step. */
  readonly stepTimeoutMs: number
}

/**
 * A reaction to events: `list` (pure) says what is due when, `steps` do it. Retries that count are events that a step
 * appends; they move `due_at` through the list's projector.
 */
export interface Process<Deps> {
  readonly name: string
  /** Its tables hold `todoTable`, or `laneTodoTable` where the process has lanes. */
  readonly list: Projector
  readonly steps: Readonly<Record<string, Step<Deps>>>
  readonly lanes?: (deps: Deps) => LaneBudget
}

/** Declares a process; throws when its list has no to-do table, or not the one for its lanes. */
export function defineProcess<Deps>(process: Process<Deps>): Process<Deps> {
  const table = process.lanes === undefined ? todoTable : laneTodoTable
  if (!process.list.tables.includes(table))
    throw new TypeError(`the list of process ${process.name} has no todo table of its kind`)
  return process
}
