import type { Pool } from '../../../platform/database/database.ts'
import { columnArrays } from '../../../projections/runtime/column-arrays.ts'
import type { RowChange, Table } from '../../../projections/runtime/projector.ts'
import { RowPlan } from '../../../projections/runtime/row-plan.ts'
import { rowsFrom, statementsOf, type Statement } from '../../../projections/runtime/row-statements.ts'
import { RowConflictError } from '../../../projections/runtime/rows-step.ts'

/** A table of a schema that a test has made. */
export interface PlannedTable {
  readonly schema: string
  readonly table: Table
}

/** What each event of a batch changes. */
export type Batch = readonly (readonly RowChange[])[]

/** A batch of which each change is an event's only one. */
export function singly(changes: readonly RowChange[]): Batch {
  return changes.map((each) => [each])
}

/** What a batch comes to that changes one table. */
export function statementsFor({ schema, table }: PlannedTable, batch: Batch): Statement[] {
  const plan = new RowPlan(new Map([[table.name, table]]))
  for (const changes of batch) plan.add(changes)
  return plan.steps.flatMap((step) => statementsOf(schema, step))
}

/** Writes the changes in batches as they are given, over the pool's only connection; false where one is refused, and then nothing is written. */
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
