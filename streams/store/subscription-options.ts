import type { EventHead, UndecodableEventError } from './errors.ts'
import type { RecordedEvent } from './events.ts'
import type { Position } from '../../platform/kit/positions.ts'

/** Which streams a subscription sees, filtered on the server. No prefixes: all but the server's own `$` streams. */
export interface EventFilter {
  readonly streamPrefixes: readonly string[]
}

/** One event at a time, or all that are ready, up to `batchSize` (default 500). Either way each call is awaited. */
export type Delivery =
  | { readonly onEvent: (event: RecordedEvent) => Promise<void> | void; readonly onBatch?: never }
  | {
      readonly onBatch: (events: readonly RecordedEvent[]) => Promise<void> | void
      readonly batchSize?: number
      readonly onEvent?: never
    }

export interface SubscriptionCallbacks {
  /** An event that cannot be decoded. Returning passes over it; without this callback, or when it throws, the subscription fails. */
  readonly onUndecodable?: (head: EventHead, error: UndecodableEventError) => Promise<void> | void
  /** Called, in line, after every event delivered before it was handled. */
  readonly onCaughtUp?: () => Promise<void> | void
  /** The error that ended the subscription for good, which `ended` rejects with too. */
  readonly onError?: (error: unknown) => void
  readonly signal: AbortSignal
}

/** Handlers run one after the other, in order of the log. A handler that throws ends the subscription. */
export type AllSubscription = Delivery &
  SubscriptionCallbacks & {
    /** For logs and stats. */
    readonly name: string
    readonly filter: EventFilter
    /** Delivery begins after this position. */
    readonly from: Position | 'start'
    /** A place up to which everything was delivered and handled, told about every 1,000 considered events. */
    readonly onCheckpoint?: (position: Position) => Promise<void> | void
  }

export type StreamSubscription = Delivery &
  SubscriptionCallbacks & {
    readonly name: string
    readonly stream: string
    /** Delivery begins after this revision. */
    readonly fromRevision: bigint | 'start'
  }

export interface SubscriptionStats {
  readonly name: string
  readonly connected: boolean
  /** Since the last connection was made, and the server did not fall behind after it. */
  readonly caughtUp: boolean
  /** RFC 3339: when the last event was handled; null before the first. */
  readonly lastEventAt: string | null
  /** Everything up to here is handled. */
  readonly position: Position | 'start'
  /** How often the subscription was begun again after a drop. */
  readonly restarts: number
}

export interface RunningSubscription {
  /** Resolves once the signal is aborted and the handler in hand is done; rejects with what a handler threw. */
  readonly ended: Promise<void>
  readonly stats: () => SubscriptionStats
}
