import type { Position } from '../../platform/kit/positions.ts'
import type { Projector, Table } from '../projections/projector.ts'

/** A row of a to-do list, as it is stored. */
export interface TodoRow {
  readonly key: string
  readonly step: string
  readonly orgId: string | null
  readonly dueAt: Date
  readonly payload: unknown
}

export interface StepContext {
  now(): Date
  /** Aborts when the time limit of the step has passed or the worker stops. Pass it to every call outside. */
  readonly signal: AbortSignal
  /** Whether half of the step's time is left. A call that begins later may be cut off without an outcome. */
  readonly hasTime: () => boolean
  /** A step that has time may make its next call in the same run. Otherwise it ends after each call, and continues. */
  readonly mayCallAgain?: boolean
  /** RFC 3339: the end of the lease, for the event that opens an attempt. */
  readonly leaseUntil: string
  /** RFC 3339: ends of leases of dead runs of this instance. An attempt with such a lease is over, its outcome unknown. */
  readonly endedLeases: readonly string[]
}

/** `good`: the receiver accepted the call. `bad`: it answered otherwise. `unreachable`: it did not answer. */
export type ReceiverHealth = 'good' | 'bad' | 'unreachable'

/** The result of a step for the receiver of its row. `pauseMs`: it asked for a pause, or its circuit is open. */
export interface ReceiverVerdict {
  readonly health?: ReceiverHealth | undefined
  readonly pauseMs?: number | undefined
}

/**
 * How a step ended.
 * - `done`: the streams contain the result. `position` is that of the last append of the step. The row is not claimed
 *   again before the list has passed it. Without a position the step appended nothing: the stream no longer needs it.
 *   `continues`: the step runs again at once under the same claim, with its whole time limit and a lease that covers
 *   it. It does not continue if the workers stop or the claim is lost.
 * - `wait`: another attempt has an open lease until then.
 * - `retry`: something that the step needs first is missing: a server is away, a circuit is open, or other work is not
 *   done yet. This does not count as a try, and no stream records it. `after` is in milliseconds. `reason` is a code,
 *   never text from outside.
 */
export type StepOutcome =
  | (ReceiverVerdict & {
      readonly kind: 'done'
      readonly position?: Position | undefined
      readonly continues?: boolean | undefined
    })
  | { readonly kind: 'wait'; readonly until: Date }
  | (ReceiverVerdict & { readonly kind: 'retry'; readonly after: number; readonly reason: string })

export type Step<Deps> = (todo: TodoRow, deps: Deps, context: StepContext) => Promise<StepOutcome>

/** A process with concurrency keys has workers of its own. */
export interface ConcurrencyLimits {
  /** Steps at a time. */
  readonly workers: number
  /** Steps at a time of one healthy receiver. */
  readonly perKey: number
  /** Milliseconds. The lease exceeds it by the same time as in every other process. */
  readonly stepTimeoutMs: number
}

/** A process, as `defineProcess` makes it. The pure `list` contains what is due when; the `steps` do it. */
export interface Process<Deps, T extends Table = Table> {
  readonly name: string
  /** Its tables contain `todoTable`, or `keyedTodoTable` if the process has concurrency keys. */
  readonly list: Projector<T>
  readonly steps: Readonly<Record<string, Step<Deps>>>
  readonly concurrency?: (deps: Deps) => ConcurrencyLimits
}

/** A process with what its steps need, so that processes of different needs share the workers. */
export interface BoundProcess extends Pick<Process<never>, 'name' | 'list' | 'steps'> {
  readonly run: (todo: TodoRow, context: StepContext) => Promise<StepOutcome>
  readonly concurrency?: ConcurrencyLimits | undefined
}

export function bindProcess<Deps>(process: Process<Deps>, deps: Deps): BoundProcess {
  return {
    ...process,
    concurrency: process.concurrency?.(deps),
    async run(todo, context) {
      const step = process.steps[todo.step]
      if (step === undefined) throw new TypeError(`process ${process.name} has no step ${todo.step}`)
      return step(todo, deps, context)
    },
  }
}
