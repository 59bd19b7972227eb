import type { Pool } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import type { EventStore } from '../store/event-store.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { EventFilter } from '../store/subscription-options.ts'
import type { Skips } from '../projections/feed.ts'

/** Shared input of `rebuild/`. The caller's process reads the log and writes the copy. */
export interface RebuildContext {
  readonly eventStore: Pick<EventStore, 'readLog' | 'head'>
  /** At least 6 connections. */
  readonly pool: Pool
  /** The runner's filter. */
  readonly filter: EventFilter
  readonly logger: Logger
  readonly skips?: Skips
  /** Ends the work with the signal's reason. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: RebuildProgress) => void
  /** Most events of one batch. Default 5,000. */
  readonly batchSize?: number
}

export interface RebuildProgress {
  readonly phase: 'filling' | 'comparing' | 'switching'
  /** The projector that is compared or switched. A fill concerns all. */
  readonly projector?: string
  /** Events read so far, including unwanted ones. */
  readonly events: number
  readonly position: Position
  readonly target: Position
}

/** `interrupted`: another change interfered, and a second try may succeed. */
export type RefusalReason =
  | 'under-way'
  | 'never-filled'
  | 'newer-version'
  | 'other-version'
  | 'nothing-to-roll-back-to'
  | 'interrupted'

/** Not possible in the current state. The message is for an operator. */
export class RebuildRefusedError extends Error {
  override readonly name = 'RebuildRefusedError'
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, message: string) {
    super(message)
    this.reason = reason
  }
}
