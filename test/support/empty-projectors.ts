import type { Pool } from '../../platform/database/database.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import type { Projector } from '../../engine/projections/projector.ts'
import { quoted } from '../../engine/projections/row-statements.ts'
import { createProjector, fitOf } from '../../engine/projections/schema.ts'

/**
 * Gives the projectors empty tables, at the start of the log. Tables that exist are kept unless their declaration has
 * changed: to delete a few rows takes far less than to create tables.
 */
export async function emptyProjectors(pool: Pool, projectors: readonly Projector[]): Promise<void> {
  const { rows } = await pool.query<{ name: string; version: number; shape: string }>(
    'select name, version, shape from runtime.projectors where name = any($1)',
    [projectors.map(({ name }) => name)],
  )
  const stored = new Map(rows.map((row) => [row.name, row]))
  const statements: string[] = []
  for (const projector of projectors) {
    const { name, tables } = projector
    const row = stored.get(name)
    if (row === undefined || fitOf(row, projector) !== 'current')
      await inTransaction(pool, (client) => createProjector(client, projector, 'running'))
    else
      statements.push(
        ...tables.map((table) => `delete from ${quoted(name)}.${quoted(table.name)}`),
        `update runtime.projectors set commit_position = 0, prepare_position = 0, status = 'running' where name = '${name}'`,
      )
  }
  await pool.query(statements.join(';'))
}
