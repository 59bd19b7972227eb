import { writeFile } from 'node:fs/promises'
import { createLogger } from '../../../platform/observability/logging.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { consentRecordsProjector } from '../../../projections/consent/consent-records.projector.ts'
import { emptyCopy } from '../../../engine/rebuild/copies.ts'
import { fill } from '../../../engine/rebuild/fill.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import type { Position } from '../../../platform/kit/positions.ts'
import type { World } from './world.ts'

/**
 * Writes the consent records of a log as lines for COPY. Creates a table with the same columns and indexes for them and
 * returns its name.
 */
export async function writeConsentRows({ store, pool }: World, upTo: Position, file: string): Promise<string> {
  await ensureRuntimeSchema(pool)
  const context = {
    eventStore: store,
    pool,
    filter: { streamPrefixes: projectedStreams },
    logger: createLogger({ level: 'silent' }),
  }
  const copy = await emptyCopy(context, consentRecordsProjector, 'consent_rows')
  await fill(context, [{ copy, upTo }])
  const filled = 'consent_rows.consent_records'
  const columns = Object.keys(consentRecordsProjector.tables[0]?.columns ?? {})
  const line = columns.map((name) => `coalesce(${name}::text, '\\N')`).join(` || E'\\t' || `)
  const { rows } = await pool.query<{ line: string }>(`select ${line} as line from ${filled}`)
  await writeFile(file, rows.map((row) => `${row.line}\n`).join(''))
  await pool.query(`create schema bare; create table bare.consent_records (like ${filled} including all)`)
  return 'bare.consent_records'
}
