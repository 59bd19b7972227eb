import type { Pool } from '../../platform/database/database.ts'
import { todoTable } from '../../engine/processes/todo-tables.ts'
import { computed, rowsOf, tableOf, viewsOf } from '../../engine/reads/tenant-rows.ts'
import { erasuresProcess } from './erasures.process.ts'

const t = tableOf(erasuresProcess.list, todoTable, 't')

/** Hours after which a step of an erasure is overdue. */
const overdueHours = 1

/**
 * The steps of erasures that are overdue, with their numbers; null if none is. The rewriting of the vault may wait for
 * others.
 */
export async function overdueErasures(pool: Pool, vaultHours: number): Promise<string | null> {
  const counted = rowsOf(t, { step: t.step, number: computed<number>('count(*)::integer') })
    .whereRaw(`?? < now() - make_interval(hours => case ?? when 'rewrite-vault' then ?::integer else ?::integer end)`, [
      t.dueAt,
      t.step,
      overdueHours + vaultHours,
      overdueHours,
    ])
    .groupBy(t.step)
    .orderByRaw('??', [t.step])
  const rows = await viewsOf(pool, counted)
  if (rows.length === 0) return null
  return `overdue: ${rows.map(({ step, number }) => `${step} (${number})`).join(', ')}`
}
