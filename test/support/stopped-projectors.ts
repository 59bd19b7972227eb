import { expect } from 'vitest'
import type { Pool } from '../../platform/database/database.ts'
import type { ProjectionRunner } from '../../engine/projections/runner.ts'
import { eventually } from './eventually.ts'

/** Stops a projector on every instance, until `requestResume`. */
export async function requestStop(pool: Pool, name: string): Promise<void> {
  await pool.query(`update runtime.projectors set status = 'stopped', updated_at = clock_timestamp() where name = $1`, [
    name,
  ])
}

/** The same. Resolves when this instance feeds it no more. */
export async function stopProjector(runner: ProjectionRunner, pool: Pool, name: string): Promise<void> {
  await requestStop(pool, name)
  await eventually(() =>
    expect(['live', 'catching-up']).not.toContain(runner.status().find((one) => one.name === name)?.state),
  )
}
