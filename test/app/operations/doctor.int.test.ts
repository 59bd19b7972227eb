import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { appTables } from '../../../app/runtime-tables.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { createPool } from '../../../platform/database/database.ts'
import { outsideSystems } from '../../../platform/outbound/outside-calls.ts'
import { commandHere } from '../../support/command-here.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'

let [used, unused]: FreshDatabases[] = []

beforeAll(async () => {
  ;[used, unused] = await Promise.all([freshDatabases(), freshDatabases()])
  const pool = createPool({ url: used?.url ?? '', max: 1 })
  await ensureRuntimeSchema(pool, appTables)
  await pool.end()
})
afterAll(() => Promise.all([used?.drop(), unused?.drop()]))

/** The servers of a command, without a vault and an event store. */
const envOf = (databases: FreshDatabases | undefined) => ({
  DATABASE_URL: databases?.url ?? '',
  VAULT_DATABASE_URL: 'postgres://platform@127.0.0.1:1/vault',
  ESDB_URL: 'esdb://127.0.0.1:1?tls=false',
  MASTER_KEYS: `one:${randomBytes(32).toString('base64')}`,
})

async function examined(databases: FreshDatabases | undefined) {
  const { code, out, err } = await commandHere(['doctor', '--json'], envOf(databases))
  expect([code, err]).toEqual([1, ''])
  const { checks } = JSON.parse(out) as { checks: { name: string; status: string; detail: string | null }[] }
  return Object.fromEntries(checks.map(({ name, status, detail }) => [name, { status, detail }]))
}

test('the doctor looks at the database also without a vault', async () => {
  const checks = await examined(used)
  expect(checks).toMatchObject({
    database: { status: 'ok' },
    vault: { status: 'failing', detail: expect.stringContaining('VAULT_DATABASE_URL does not answer') },
    event_store: { status: 'skipped' },
    clock: { status: 'ok' },
    processes: { status: 'failing', detail: expect.stringContaining('role-missing') },
    lag: { status: 'ok' },
    backup: { status: 'skipped' },
  })
})

test('the doctor names each system outside that fails, and each check of a process', async () => {
  const pool = createPool({ url: used?.url ?? '', max: 1 })
  const checks = [{ name: 'event_store_room', status: 'failing', detail: null, since: new Date().toISOString() }]
  try {
    await pool.query(
      `insert into runtime.outside_systems (system, failing_since, failures, error_class) select s, now(), 3, 'planted' from unnest($1::text[]) s`,
      [outsideSystems],
    )
    // Seen an hour ahead: not silent however slow the test is.
    await pool.query(
      `insert into runtime.processes (id, roles, version, profile, started_at, seen_at, checks)
       values (gen_random_uuid(), '{api,projector,processor}', '1', 'development', now(), clock_timestamp() + interval '1 hour', $1)`,
      [JSON.stringify(checks)],
    )
    const seen = await examined(used)
    for (const system of outsideSystems)
      expect([system, seen[system]]).toEqual([system, { status: 'failing', detail: 'planted' }])
    expect(seen).toMatchObject({ processes: { status: 'failing', detail: 'check-failing event_store_room' } })
  } finally {
    await pool.query('delete from runtime.outside_systems; delete from runtime.processes')
    await pool.end()
  }
})

test('the doctor says that no process has used a database, and goes on', async () => {
  expect(await examined(unused)).toMatchObject({
    clock: { status: 'ok' },
    processes: { status: 'failing', detail: 'no process has run on this database yet' },
    lag: { status: 'skipped' },
  })
})

test('the status is that of the database also without a vault', async () => {
  const { code, out, err } = await commandHere(['status'], envOf(used))
  expect([code, err]).toEqual([1, ''])
  expect(out).toMatch(/^status: failing\n\nProblems\n/)
})
