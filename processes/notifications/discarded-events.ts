import type { Pool } from '../../platform/database/database.ts'
import { defineTable } from '../../engine/projections/projector.ts'

/** Events that a rule matched and that made no notification. */
export const discardedEvents = defineTable({
  name: 'discarded_events',
  columns: { notification_id: 'text', reason: 'text', discarded_at: 'timestamptz' },
  primaryKey: ['notification_id'],
  indexes: [{ columns: ['discarded_at'] }],
})

const shownFor = '1 day'

/** The events of the last day that were too old, or that notifications caused themselves, with their number. */
export async function discardedOfLastDay(pool: Pool): Promise<string | null> {
  const { rows } = await pool.query<{ reason: string; number: number }>(
    `select reason, count(*)::integer as number from notifications_todo.${discardedEvents.name}
      where discarded_at > now() - $1::interval group by reason order by reason`,
    [shownFor],
  )
  if (rows.length === 0) return null
  return `events without a notification: ${rows.map(({ reason, number }) => `${reason} (${number})`).join(', ')}`
}
