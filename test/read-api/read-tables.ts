import { hash } from 'node:crypto'
import { identifierKeyOf } from '../../contracts/clinical/identifier-key.ts'
import { reservations } from '../../engine/commands/reservation/aggregate.ts'
import { createPool, type Pool } from '../../platform/database/database.ts'
import { Problem, type ProblemCode } from '../../platform/http/problems.ts'
import { startOfLog } from '../../platform/kit/positions.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { PatientIdentifier } from '../../streams/patient/events.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import { readModels } from '../../projections/registry.ts'
import { partOf, writeBatch } from '../../engine/projections/batch-writer.ts'
import type { Projector } from '../../engine/projections/projector.ts'
import { ensureRuntimeSchema } from '../../engine/projections/schema.ts'
import { emptyProjectors } from '../support/empty-projectors.ts'
import { givenKey, recorded, type GivenEvent } from '../support/given-projector.ts'
import { freshDatabase } from '../support/postgres.ts'
import { ids, patientFact, reservationFact } from '../streams/facts.ts'

export const org = ids.org
export const otherOrg = ids.otherOrg

export interface ReadTables {
  readonly pool: Pool
  readonly vault: typeof givenVault
  /** Then the tables contain the rows of these facts alone. */
  replaceRows(events: readonly GivenEvent[]): Promise<void>
  close(): Promise<void>
}

/** Opens what `recorded` sealed. */
export const givenVault = {
  subjectKeyForReading: async () => givenKey,
  cachedSubjectKey: () => givenKey,
  fingerprint: (text: Uint8Array | string) => hash('sha256', text),
}

/** The claim of an identifier for a patient. */
export function claimOf(orgId: TenantId, patientId: string, identifier: PatientIdentifier): GivenEvent {
  const owner = { ownerId: patientId, ownerStream: patients.of(orgId, patientId).stream }
  const { stream } = reservations.of(orgId, givenVault.fingerprint(identifierKeyOf(identifier)))
  return { ...reservationFact('ReservationClaimed', owner), stream }
}

/** The claims of the identifiers that these facts give to patients. */
function claimsOf(events: readonly GivenEvent[]): GivenEvent[] {
  return events.flatMap(({ type, data }) => {
    if (type !== 'PatientRegistered' && type !== 'PatientCorrected') return []
    const { patientId, organisationId, person } = { ...patientFact.usual.PatientRegistered, ...Object(data) }
    return (person?.identifiers ?? []).map((one: PatientIdentifier) => claimOf(organisationId, patientId, one))
  })
}

/** The tables of these read models after these facts. */
export async function openReadTables(
  events: readonly GivenEvent[],
  projectors: readonly Projector[] = readModels,
): Promise<ReadTables> {
  const database = await freshDatabase()
  // Some tests write megabytes in one batch.
  const pool = createPool({ url: database.url, max: 4, statementTimeoutMs: 120_000 })
  await ensureRuntimeSchema(pool)
  const replaceRows: ReadTables['replaceRows'] = async (facts) => {
    const stored = recorded([...facts, ...claimsOf(facts)])
    const end = stored.at(-1)?.position ?? startOfLog
    await emptyProjectors(pool, projectors)
    for (const projector of projectors) await writeBatch(pool, [partOf(projector, stored, startOfLog, end)])
  }
  await replaceRows(events)
  return {
    pool,
    vault: givenVault,
    replaceRows,
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
