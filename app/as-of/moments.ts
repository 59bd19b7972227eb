import type { Moment } from '../../contracts/audit/as-of.ts'
import { rowsOf, tableOf, viewsOf } from '../../engine/reads/tenant-rows.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Pool } from '../../platform/database/database.ts'
import { problem } from '../../platform/http/problems.ts'
import { comparePositions, startOfLog, type Position } from '../../platform/kit/positions.ts'
import { auditSubjectsProjector, streamEndsTable } from '../../projections/audit/audit-subjects.projector.ts'

interface MomentDependencies {
  readonly pool: Pool
  readonly store: Pick<EventStore, 'head' | 'readTimes'>
  readonly now: () => Date
}

interface Place {
  readonly position: Position
  readonly recordedAt: string
}

/**
 * The last event recorded at or before an instant, or the last one at or before a position. Undefined if the instant is in
 * the future, or the position behind the newest event.
 * @throws Problem `event-store-unavailable`
 */
export async function momentOf(deps: MomentDependencies, at: Date | Position): Promise<Moment | undefined> {
  const isInstant = at instanceof Date
  if (isInstant && at.getTime() > deps.now().getTime()) return undefined
  const end = await deps.store.head({ streamPrefixes: [] })
  let last = await nearbyPlace(deps.pool, at)
  for await (const event of deps.store.readTimes(last.position)) {
    const isAfter = isInstant ? new Date(event.recordedAt) > at : comparePositions(event.position, at) > 0
    if (isAfter) return momentFrom(last, at)
    last = event
  }
  // The node that answers may lack the newest events, or end the read early.
  if (comparePositions(last.position, end) < 0) throw problem('event-store-unavailable', { retryAfterSeconds: 1 })
  return isInstant || comparePositions(last.position, at) === 0 ? momentFrom(last, at) : undefined
}

function momentFrom({ position, recordedAt }: Place, at: Date | Position): Moment {
  return { position, at: at instanceof Date ? at : new Date(recordedAt) }
}

const e = tableOf(auditSubjectsProjector, streamEndsTable, 'e')

/** The newest beginning of a stream before the moment. Streams begin all the time, so few events are in between. */
async function nearbyPlace(pool: Pool, at: Date | Position): Promise<Place> {
  const rows = rowsOf(e, { commit: e.firstCommit, prepare: e.firstPrepare, recordedAt: e.firstAt })
  if (at instanceof Date)
    rows.whereRaw('?? <= ?', [e.firstAt, at]).orderByRaw('?? desc, ?? desc', [e.firstAt, e.firstCommit])
  else rows.whereRaw('?? <= ?', [e.firstCommit, String(at.commit)]).orderByRaw('?? desc', [e.firstCommit])
  const [found] = await viewsOf(pool, rows.limit(1))
  if (found === undefined) return { position: startOfLog, recordedAt: new Date(0).toISOString() }
  return { position: { commit: BigInt(found.commit), prepare: BigInt(found.prepare) }, recordedAt: found.recordedAt }
}
