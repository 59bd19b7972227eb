import type { ProjectionState } from '../../contracts/operations/record.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Pool } from '../../platform/database/database.ts'
import { limited } from '../../platform/kit/time-limits.ts'
import { readProjectors, type ShownFailure } from '../projections/known-projectors.ts'
import { newestOperations } from './projection-operations.ts'
import { readLags, type ProjectorLag } from '../projections/lag.ts'

/** An event store that is away must not hold an answer up. Its own check names it. In milliseconds. */
const storeLimitMs = 2_000
/** Events that are counted behind a read model. */
const mostCounted = 1_000

export type LogOfOperations = () => Promise<Pick<EventStore, 'positionsBackwards'>>

/** Null while the event store is away. */
export async function lagsWithin(pool: Pool, store: LogOfOperations): Promise<readonly ProjectorLag[] | null> {
  const read = store().then((opened) => readLags(pool, opened, mostCounted))
  return limited(storeLimitMs, read).catch(() => null)
}

/** All read models and to-do lists by name. */
export async function readProjectionStates(pool: Pool, store: LogOfOperations): Promise<readonly ProjectionState[]> {
  const [projectors, lags, operations] = await Promise.all([
    readProjectors(pool),
    lagsWithin(pool, store),
    newestOperations(pool),
  ])
  return projectors.map(({ name, version, programVersion, status, position, idleSeconds, failure, copies }) => ({
    name,
    version: version ?? null,
    program_version: programVersion ?? null,
    status,
    position: position ?? null,
    events_behind: lags?.find((lag) => lag.name === name)?.events ?? null,
    seconds_since_move: idleSeconds === undefined ? null : Math.round(idleSeconds),
    failure: failureOf(failure),
    copies: copies.map((copy) => ({ kind: copy.kind, version: copy.version, position: copy.position })),
    operation: operations.get(name) ?? null,
  }))
}

function failureOf(failure: ShownFailure | undefined): ProjectionState['failure'] {
  if (failure === undefined) return null
  const { eventId, eventType, position, reason } = failure
  return { event_id: eventId, event_type: eventType, position, reason }
}
