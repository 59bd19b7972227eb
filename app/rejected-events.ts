import type { Pool } from '../platform/database/database.ts'
import {
  foreignEventsProjector,
  rejectedForeignEventsTable,
} from '../projections/foreign-events/foreign-events.projector.ts'

const table = `${foreignEventsProjector.name}.${rejectedForeignEventsTable.name}`

/** How long the health report counts a rejected event. */
export const retainedDays = 7

/** The number of rejected events in the last days. */
export async function recentRejections(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ number: number }>(
    `select count(*)::integer as number from ${table} where published_at > now() - make_interval(days => $1)`,
    [retainedDays],
  )
  return rows[0]?.number ?? 0
}

export interface RejectedEvent {
  readonly channel: string
  readonly channel_revision: string
  readonly event_id: string
  readonly event_type: string
  readonly reason: string
  readonly pointer: string | null
  readonly published_at: Date
}

const mostListed = 1000

/** Rejected events, newest first. @param channel undefined: of all channels */
export async function listRejections(pool: Pool, channel: string | undefined): Promise<readonly RejectedEvent[]> {
  const { rows } = await pool.query<RejectedEvent>(
    `select channel, channel_revision::text, event_id, event_type, reason, pointer, published_at from ${table}
      where $1::text is null or channel = $1 order by published_at desc, foreign_event_id limit ${mostListed}`,
    [channel ?? null],
  )
  return rows
}
