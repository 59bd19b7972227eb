import type { Pool } from '../../platform/database/database.ts'
import { computed, rowsOf, tableOf, viewsOf } from '../../engine/reads/tenant-rows.ts'
import { discardedEvents, notificationsProcess } from './notifications.process.ts'

const d = tableOf(notificationsProcess.list, discardedEvents, 'd')

const shownFor = '1 day'

/** The events of the last day that were too old, or that notifications caused themselves, with their number. */
export async function discardedOfLastDay(pool: Pool): Promise<string | null> {
  const counted = rowsOf(d, { reason: d.reason, number: computed<number>('count(*)::integer') })
    .whereRaw('?? > now() - ?::interval', [d.discardedAt, shownFor])
    .groupBy(d.reason)
    .orderByRaw('??', [d.reason])
  const rows = await viewsOf(pool, counted)
  if (rows.length === 0) return null
  return `events without a notification: ${rows.map(({ reason, number }) => `${reason} (${number})`).join(', ')}`
}
