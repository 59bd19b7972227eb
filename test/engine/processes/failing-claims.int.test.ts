import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClaimsPool } from '../../../engine/processes/claims-pool.ts'
import { claimStatement } from '../../../engine/processes/claim-statements.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { emptyProjectors } from '../../support/empty-projectors.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { reminders } from './reminders.ts'

let database: FreshDatabase
let patient: Pool
beforeAll(async () => {
  database = await freshDatabase()
  patient = createPool({ url: database.url, max: 1, statementTimeoutMs: 120_000 })
  await ensureRuntimeSchema(patient)
  await emptyProjectors(patient, [reminders.list])
})
afterAll(async () => {
  await patient.end()
  await database.drop()
})

it('a claim passes over each of very many rows that fail without reading all of them again', async () => {
  // Keys of 500 characters: 30,000 of these rows need a hash table as large as 200,000 rows with the key of an assessment.
  await patient.query(
    `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures, error_class)
     select $1, rpad(gen_random_uuid()::text, 500, '-'), 'rename', 'w', '-infinity', 'infinity', 0, 0, 1, 'Error' from generate_series(1, 30000)`,
    [reminders.name],
  )
  await patient.query('analyze runtime.claims')
  const pool = createClaimsPool({ url: database.url, max: 1 })
  const { name, version } = reminders.list
  const quotas = [[], [], [], [], 10]
  const now = new Date()
  const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${claimStatement(`${name}.todo`, false)}`, [
    name,
    reminders.name,
    now,
    Object.keys(reminders.steps),
    version,
    ...quotas,
    10,
    'w',
    now,
    0,
    10,
  ])
  await pool.end()
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).toMatch(/step = ANY .* AND \(NOT .*hashed SubPlan/)
})
