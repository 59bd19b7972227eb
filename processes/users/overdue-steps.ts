import type { Pool } from '../../platform/database/database.ts'
import { todoTable } from '../../engine/processes/todo-tables.ts'
import { computed, rowsOf, tableOf, viewsOf } from '../../engine/reads/tenant-rows.ts'
import { usersProcess } from './users.process.ts'

const t = tableOf(usersProcess.list, todoTable, 't')

/** Steps that call the identity provider, and what follows such a call, in the words of the health report. */
const names: Readonly<Record<string, string>> = {
  'align-account': 'accounts to change',
  'delete-account': 'accounts to delete for an erasure',
  'destroy-key': 'keys of erased users to destroy',
  'clear-registration': 'accounts to delete after a registration',
  'reset-password': 'password resets',
}

/** A provider that works does each of these within seconds. */
const overdueAfter = '5 minutes'

/** What waits for the identity provider too long, with its number; null if nothing does. */
export async function overdueAccountSteps(pool: Pool): Promise<string | null> {
  const counted = rowsOf(t, { step: t.step, number: computed<number>('count(*)::integer') })
    .whereRaw('?? = any(?) and ?? < now() - ?::interval', [t.step, Object.keys(names), t.dueAt, overdueAfter])
    .groupBy(t.step)
    .orderByRaw('??', [t.step])
  const rows = await viewsOf(pool, counted)
  if (rows.length === 0) return null
  return `overdue: ${rows.map(({ step, number }) => `${names[step] ?? step} (${number})`).join(', ')}`
}
