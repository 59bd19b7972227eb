import type { Pool } from 'pg'
import type { Logger } from '../../platform/observability/logging.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { Position } from '../../platform/kit/positions.ts'
import type { EventFilter } from '../../streams/store/subscription-options.ts'
import type { Skips } from '../runtime/feed.ts'

/** What all of `rebuild/` works with. The log is read and the copy is written by the caller's process. */
export interface RebuildContext {
  readonly eventStore: Pick<EventStore, 'readLog' | 'head'>
  /** At least 6 connections. */
  readonly pool: Pool
  /** The runner's. */
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
  /** The one that is compared or switched; filling concerns all. */
  readonly projector?: string
  /** Events read so far, wanted or not. */
  readonly events: number
  readonly position: Position
  readonly target: Position
}

/** `interrupted`: something came between, and another try may succeed. */
export type RefusalReason =
  | 'under-way'
  | 'never-filled'
  | 'newer-version'
  | 'other-version'
  | 'nothing-to-roll-back-to'
  | 'interrupted'

/** It cannot be done as things stand; the message is for an operator. */
export class RebuildRefusedError extends Error {
  override readonly name = 'RebuildRefusedError'
  readonly reason: RefusalReason

  constructor(reason: RefusalReason, message: string) {
    super(message)
    this.reason = reason
  }
}
