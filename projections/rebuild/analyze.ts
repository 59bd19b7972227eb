import { inTransaction } from '../../platform/database/transaction.ts'
import type { Pool } from 'pg'
import type { Projector } from '../runtime/projector.ts'
import { quoted } from '../runtime/row-statements.ts'

/** Gives the planner statistics of a copy. Otherwise its first readers get plans for an empty table. */
export async function analyze(pool: Pool, { name, tables }: Projector): Promise<void> {
  for (const table of tables) {
    await inTransaction(pool, async (client) => {
      await client.query('set local statement_timeout = 0')
      await client.query(`analyze ${quoted(name)}.${quoted(table.name)}`)
    })
  }
}
