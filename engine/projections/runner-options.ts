import type { Pool } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import type { Tracer } from '../../platform/kit/tracing.ts'
import type { EventStore } from '../store/event-store.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { EventFilter } from '../store/subscription-options.ts'
import type { BatchPart } from './checkpoint-moves.ts'
import type { ProjectionFailure } from './checkpoints.ts'
import type { Skips } from './feed.ts'
import type { Projector } from './projector.ts'

export interface ProjectionRunnerOptions {
  readonly eventStore: Pick<EventStore, 'subscribeToAll' | 'readLog' | 'head'>
  readonly pool: Pool
  /** Connections for batches: `createWritePool`. Default: `pool`. */
  readonly writePool?: Pool
  readonly projectors: readonly Projector[]
  /** Covers all events of all projectors. */
  readonly filter: EventFilter
  readonly logger: Logger
  /** Events that an operator let a projector skip. Default: none. */
  readonly skips?: Skips
  /** Milliseconds for which events that make nothing urgent may wait for others, to share a batch. Default 0. */
  readonly gatherMs?: number
  /** Default: none. */
  readonly tracer?: Tracer
  /** Interval of the heartbeat, and of the search for free locks, in milliseconds. Default 1,000. */
  readonly heartbeatMs?: number
  /** The read models' database no longer exists. Called once. */
  readonly onDatabaseGone?: () => void
}

/**
 * `standby`: another instance runs it, this one is about to, or a newer version serves. `catching-up` includes filling
 * a copy of this version while an older one serves.
 */
export const projectorStates = ['standby', 'catching-up', 'live', 'failed', 'stopped'] as const
export type ProjectorState = (typeof projectorStates)[number]

export interface ProjectorStatus {
  readonly name: string
  readonly version: number
  readonly state: ProjectorState
  /** This instance has written up to here; undefined if it has not run the projector. */
  readonly position: Position | undefined
  readonly failure: ProjectionFailure | undefined
}

/** Checkpoints of some projectors are now stored at `position`. */
export interface Advance {
  readonly projectors: readonly string[]
  readonly position: Position
  /** The writes that touched rows. Undefined if a copy took the place of another one: all its rows may be new. */
  readonly parts: readonly BatchPart[] | undefined
}
