import type { Pool } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { EventFilter } from '../../streams/store/subscription-options.ts'
import type { ProjectionFailure } from './checkpoints.ts'
import type { Skips } from './feed.ts'
import type { Projector } from './projector.ts'

export interface ProjectionRunnerOptions {
  readonly eventStore: Pick<EventStore, 'subscribeToAll' | 'readLog' | 'head'>
  readonly pool: Pool
  /** Connections for batches: `createWritePool`. Default: those of `pool`. */
  readonly writePool?: Pool
  readonly projectors: readonly Projector[]
  /** Everything that any projector may listen to. */
  readonly filter: EventFilter
  readonly logger: Logger
  /** Which events an operator had a projector pass over. Default: none. */
  readonly skips?: Skips
  /** Most events of one batch. Default 1,000. */
  readonly batchSize?: number
  /** How often this instance says that it is alive, and looks for locks to take over, in milliseconds. Default 1,000. */
  readonly heartbeatMs?: number
  /** The read models' database does not exist any more; called once. */
  readonly onDatabaseGone?: () => void
}

/**
 * `standby`: another instance runs it, or this one is about to; also where a newer version serves. `catching-up` also
 * while a copy of this version is filled beside an older one that serves.
 */
export type ProjectorState = 'standby' | 'catching-up' | 'live' | 'failed' | 'stopped'

export interface ProjectorStatus {
  readonly name: string
  readonly version: number
  readonly state: ProjectorState
  /** Up to where this instance has written; undefined when it has not run it. */
  readonly position: Position | undefined
  readonly failure: ProjectionFailure | undefined
}

/** Some projectors' checkpoints are now stored at `position`; `changed` names the tables written to, `schema.table`. */
export interface Advance {
  readonly projectors: readonly string[]
  readonly position: Position
  readonly changed: readonly string[]
}
