import type { Position } from '../../platform/kit/positions.ts'
import type { Projector } from '../../projections/runtime/projector.ts'

/** A due row of a to-do list, as it is stored. */
export interface TodoRow {
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
 *   list has passed it. Without a position nothing was appended, since the stream no longer wants the step. `continues`: the
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
      readonly continues?: boolean | undefined
      readonly health?: LaneHealth | undefined
      readonly pauseMs?: number | undefined
    }
  | { readonly kind: 'wait'; readonly until: Date }
  | { readonly kind: 'retry'; readonly after: number; readonly reason: string; readonly pauseMs?: number | undefined }

export type Step<Deps> = (todo: TodoRow, deps: Deps, context: StepContext) => Promise<StepOutcome>

/** The workers of a process with lanes; they are not those that the other processes share. */
export interface LaneBudget {
  /** Steps at a time. */
  readonly slots: number
  /** Steps at a time of one lane that is well. */
  readonly perLane: number
  /** The time limit of a step, in milliseconds; its lease is longer by as much as that of every step. */
  readonly stepTimeoutMs: number
}

/** A process as its workers run it; `defineProcess` makes it. `list` (pure) says what is due when, `steps` do it. */
export interface Process<Deps> {
  readonly name: string
  /** Its tables contain `todoTable`, or `laneTodoTable` where the process has lanes. */
  readonly list: Projector
  readonly steps: Readonly<Record<string, Step<Deps>>>
  readonly lanes?: (deps: Deps) => LaneBudget
}
