import type { EventHead, UndecodableEventError } from './errors.ts'
import type { RecordedEvent } from './events.ts'
import type { Position } from '../../platform/kit/positions.ts'

/**
 * Selects the streams of a subscription; the server filters. No prefixes: all streams but the server's own `$` streams.
 */
export interface EventFilter {
  readonly streamPrefixes: readonly string[]
}

/** One event at a time, or all ready events, up to `batchSize` (default 500). Each call is awaited in both cases. */
export type Delivery =
  | { readonly onEvent: (event: RecordedEvent) => Promise<void> | void; readonly onBatch?: never }
  | {
      readonly onBatch: (events: readonly RecordedEvent[]) => Promise<void> | void
      readonly batchSize?: number
      readonly onEvent?: never
    }

export interface SubscriptionCallbacks {
  /**
   * Receives an event that cannot be decoded. If it returns, the event is skipped. If it is missing or throws, the
   * subscription fails.
   */
  readonly onUndecodable?: (head: EventHead, error: UndecodableEventError) => Promise<void> | void
  /** Called in order: all earlier events are handled by then. */
  readonly onCaughtUp?: () => Promise<void> | void
  /** Receives the error that ended the subscription for good. `ended` rejects with the same error. */
  readonly onError?: (error: unknown) => void
  readonly signal: AbortSignal
}

/** Handlers run one after another, in the order of the log. A handler that throws ends the subscription. */
export type AllSubscription = Delivery &
  SubscriptionCallbacks & {
    /** For logs and stats. */
    readonly name: string
    readonly filter: EventFilter
    /** The states of this process follow this read: see `EventStore.loadFollowed`. */
    readonly isFollowed?: boolean
    /** Delivery starts after this position. */
    readonly from: Position | 'start'
    /** Receives a position up to which everything was delivered and handled, about every 1,000 considered events. */
    readonly onCheckpoint?: (position: Position) => Promise<void> | void
  }

export type StreamSubscription = Delivery &
  SubscriptionCallbacks & {
    readonly name: string
    readonly stream: string
    /** Delivery starts after this revision. */
    readonly fromRevision: bigint | 'start'
  }

export interface SubscriptionStats {
  readonly name: string
  readonly connected: boolean
  /**
   * True if the subscription has caught up since the last connection and has not fallen behind after it. With a watch of
   * the leader, it must also have handled what the leader showed it ten seconds ago, and the leader must answer.
   */
  readonly caughtUp: boolean
  /**
   * Since when its node has not delivered an event that the leader shows; null if that is less than ten seconds ago, or
   * if its handler is busy.
   */
  readonly behindSince: Date | null
  /** Time of the last handled event, RFC 3339; null before the first. */
  readonly lastEventAt: string | null
  /** Every event up to here is handled. */
  readonly position: Position | 'start'
  /** Number of restarts after a drop. */
  readonly restarts: number
}

export interface RunningSubscription {
  /** Resolves after the signal is aborted and the running handler has finished. Rejects with the error of a handler. */
  readonly ended: Promise<void>
  readonly stats: () => SubscriptionStats
}
