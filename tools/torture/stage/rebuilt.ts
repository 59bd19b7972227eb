import { escapeIdentifier } from 'pg'
import { createPool, ensureDatabase, type Pool } from '../../../platform/database/database.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { processes } from '../../../processes/registry.ts'
import { readModels } from '../../../projections/registry.ts'
import { emptyCopy } from '../../../engine/rebuild/copies.ts'
import { fill } from '../../../engine/rebuild/fill.ts'
import type { Position } from '../../../platform/kit/positions.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { openEventStore } from '../../../engine/store/event-store.ts'
import { checkReadModels, type TableContent } from '../checks/read-models.ts'
import type { Checked } from '../facts.ts'
import type { Stage } from './stage.ts'
import { waitFor } from '../../../test/support/platform.ts'

const projectors = [...readModels, ...processes.map(({ list }) => list)]
/** Time that the live read models may need to catch up after a kill of everything. */
const catchUpMs = 30_000

/** Fills every read model and to-do list into another database, and compares the live ones with them. */
export async function compareWithRebuild(stage: Stage): Promise<Checked> {
  const url = stage.databaseUrl('rebuilt')
  await ensureDatabase(url)
  const logger = createLogger({ level: 'silent' })
  const { eventStore, close } = await openOriginal(stage)
  const pool = createPool({ url, max: 10, name: 'rebuilt', logger })
  await ensureRuntimeSchema(pool)
  const runner = new ProjectionRunner({
    eventStore,
    pool,
    projectors,
    filter: { streamPrefixes: projectedStreams },
    logger,
  })
  runner.start()
  const live = createPool({ url: stage.databaseUrl('platform'), max: 2, name: 'live', logger })
  try {
    await runner.caughtUp()
    // Both follow the log: counts of accesses come late.
    const compared = async () => checkReadModels(await contentOf(live), await contentOf(pool))
    let checked = await compared()
    const look = async () => {
      if (checked.findings.length > 0) checked = await compared()
      return checked.findings.length === 0 ? checked : undefined
    }
    return await waitFor('the read models', look, catchUpMs).catch(() => checked)
  } finally {
    await runner.close()
    await live.end()
    await pool.end()
    await close()
  }
}

/** Every read model and to-do list, filled from the log up to a position into a new database. */
export async function rowsUpTo(stage: Stage, database: string, upTo: Position): Promise<readonly TableContent[]> {
  const url = stage.databaseUrl(database)
  await ensureDatabase(url)
  const logger = createLogger({ level: 'silent' })
  const { eventStore, close } = await openOriginal(stage)
  const pool = createPool({ url, max: 6, name: database, logger })
  try {
    await ensureRuntimeSchema(pool)
    const context = { eventStore, pool, logger, filter: { streamPrefixes: projectedStreams } }
    const copies = await Promise.all(projectors.map((projector) => emptyCopy(context, projector, projector.name)))
    await fill(
      context,
      copies.map((copy) => ({ copy, upTo })),
    )
    return await contentOf(pool)
  } finally {
    await pool.end()
    await close()
  }
}

/** The rows of a database. */
export async function rowsIn(url: string): Promise<readonly TableContent[]> {
  const pool = createPool({ url, max: 2, name: 'rows', logger: createLogger({ level: 'silent' }) })
  try {
    return await contentOf(pool)
  } finally {
    await pool.end()
  }
}

async function openOriginal(stage: Stage) {
  const masterKeys = parseMasterKeys(stage.settings['MASTER_KEYS'] ?? '')
  const vault = await openVault({ url: stage.databaseUrl('vault'), masterKeys })
  const eventStore = await openEventStore({ url: stage.esdbUrl, catalogue, vault })
  const close = async (): Promise<void> => {
    await eventStore.close()
    await vault.close()
  }
  return { eventStore, close }
}

async function contentOf(pool: Pool): Promise<readonly TableContent[]> {
  const tables = projectors.flatMap(({ name, tables: own }) => own.map((table) => ({ schema: name, ...table })))
  return Promise.all(
    tables.map(async ({ schema, name, primaryKey }) => {
      const place = `${escapeIdentifier(schema)}.${escapeIdentifier(name)}`
      const key = primaryKey.map((column) => `${escapeIdentifier(column)}::text`).join(', ')
      const { rows } = await pool.query<{ key: string; row: string }>(
        `select concat_ws(' ', ${key}) as key, to_jsonb(t)::text as row from ${place} t`,
      )
      return { table: `${schema}.${name}`, rows: new Map(rows.map(({ key: id, row }) => [id, row])) }
    }),
  )
}
