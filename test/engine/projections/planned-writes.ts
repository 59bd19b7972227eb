import type { Pool } from '../../../platform/database/database.ts'
import { columnArrays } from '../../../engine/projections/column-arrays.ts'
import type { RowChange, Table } from '../../../engine/projections/projector.ts'
import { RowPlan } from '../../../engine/projections/row-plan.ts'
import { rowsFrom, statementsOf, type Statement } from '../../../engine/projections/row-statements.ts'
import { RowConflictError } from '../../../engine/projections/rows-step.ts'

/** A table in a schema of a test. */
export interface PlannedTable {
  readonly schema: string
  readonly table: Table
}

/** The changes of each event of a batch. */
export type Batch = readonly (readonly RowChange[])[]

/** A batch with one change per event. */
export function singly(changes: readonly RowChange[]): Batch {
  return changes.map((each) => [each])
}

/** The final writes of a batch that changes one table. */
function statementsFor({ schema, table }: PlannedTable, batch: Batch): Statement[] {
  const plan = new RowPlan([table])
  for (const changes of batch) plan.add(changes)
  return plan.steps.flatMap((step) => statementsOf(schema, step))
}

/**
 * Writes the changes in the given batches, over the pool's only connection. False if one is refused; then nothing is
 * written.
 */
export async function writePlanned(pool: Pool, planned: PlannedTable, batches: readonly Batch[]): Promise<boolean> {
  await pool.query('begin')
  try {
    for (const { text, columns, rows, expected } of batches.flatMap((batch) => statementsFor(planned, batch))) {
      const { rowCount } = await pool.query(text(rowsFrom(columns)), columnArrays(columns, rows))
      if (expected !== undefined && rowCount !== expected) throw new RowConflictError('refused')
    }
    await pool.query('commit')
    return true
  } catch (error) {
    await pool.query('rollback')
    const isUnique = error instanceof Error && 'code' in error && error.code === '23505'
    if (!(error instanceof RowConflictError) && !isUnique) throw error
    return false
  }
}
