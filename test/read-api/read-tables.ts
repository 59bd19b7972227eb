import { createPool, type Pool } from '../../platform/database/database.ts'
import { Problem, type ProblemCode } from '../../platform/http/problems.ts'
import { readModels } from '../../projections/registry.ts'
import { partOf, writeBatch } from '../../engine/projections/batch-writer.ts'
import { ensureRuntimeSchema, prepareProjector } from '../../engine/projections/schema.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { recorded, type GivenEvent } from '../support/given-projector.ts'
import { freshDatabase } from '../support/postgres.ts'
import { ids } from '../streams/facts.ts'

export const org = ids.org
export const otherOrg = ids.otherOrg

export interface ReadTables {
  readonly pool: Pool
  close(): Promise<void>
}

/** The tables of every read model after these facts. */
export async function openReadTables(events: readonly GivenEvent[]): Promise<ReadTables> {
  const database = await freshDatabase()
  const pool = createPool({ url: database.url, max: 4 })
  await ensureRuntimeSchema(pool)
  const stored = recorded(events)
  for (const projector of readModels) {
    const { position } = await inTransaction(pool, (client) => prepareProjector(client, projector))
    await writeBatch(pool, [partOf(projector, stored, position, stored.at(-1)?.position ?? position)])
  }
  return {
    pool,
    close: async () => {
      await pool.end()
      await database.drop()
    },
  }
}

/** The code of the problem that a query throws, or `null`. */
export async function problemOf(query: Promise<unknown>): Promise<ProblemCode | null> {
  try {
    await query
    return null
  } catch (error) {
    if (error instanceof Problem) return error.code
    throw error
  }
}
