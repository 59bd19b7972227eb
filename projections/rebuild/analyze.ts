import { inTransaction } from '../../platform/database/transaction.ts'
import type { Pool } from 'pg'
import type { Projector } from '../runtime/projector.ts'
import { quoted } from '../runtime/row-statements.ts'

/** Tells the database's planner of a copy's rows, so that its first readers do not meet plans of an empty table. */
export async function analyze(pool: Pool, { name, tables }: Projector): Promise<void> {
  for (const table of tables) {
    await inTransaction(pool, async (client) => {
      await client.query('set local statement_timeout = 0')
      await client.query(`analyze ${quoted(name)}.${quoted(table.name)}`)
    })
  }
}
