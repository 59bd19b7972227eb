import type { Pool } from '../../platform/database/database.ts'
import { usersProcess } from './users.process.ts'

/** Steps that call the identity provider, in the words of the health report. */
const names: Readonly<Record<string, string>> = {
  'align-account': 'accounts to enable or disable',
  'complete-erasure': 'accounts to delete after an erasure',
  'clear-registration': 'accounts to delete after a registration',
  'reset-password': 'password resets',
}

/** A provider that works does each of these within seconds. */
const overdueAfter = '5 minutes'

/** What waits for the identity provider too long, with its number; null if nothing does. */
export async function overdueAccountSteps(pool: Pool): Promise<string | null> {
  const { rows } = await pool.query<{ step: string; number: number }>(
    `select step, count(*)::integer as number from ${usersProcess.list.name}.todo
      where step = any($1) and due_at < now() - $2::interval group by step order by step`,
    [Object.keys(names), overdueAfter],
  )
  if (rows.length === 0) return null
  return `overdue: ${rows.map(({ step, number }) => `${names[step] ?? step} (${number})`).join(', ')}`
}
