import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProjector, ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import type { CursorPlace } from '../../../platform/http/cursors.ts'
import type { PersonalCategory } from '../../../platform/kit/personal-content.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { accessLogProjector } from '../../../projections/audit/access-log.projector.ts'
import { listAccesses, placeOfAccess } from '../../../read-api/audit/access-queries.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

const org = tenantOfFact(randomUUID())
const vault = { subjectKeyForReading: async () => 'destroyed' as const, cachedSubjectKey: () => undefined }
/** So many accesses of one client. The oldest one and each thousandth are exports. */
const accesses = 6_000
let database: FreshDatabase
let pool: Pool

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 2 })
  await ensureRuntimeSchema(pool)
  await inTransaction(pool, (client) => createProjector(client, accessLogProjector, 'running'))
  await pool.query(
    `insert into access_log.accesses (access_id, org_id, at, month, client_id, patient_ids, categories, operation, count)
     select gen_random_uuid(), $1, timestamptz '2026-03-01' + make_interval(secs => n), '2026-03', 'product', '[]',
       case when n = 1 then '["export"]' when n % 1000 = 0 then '["images", "results"]' else '["record"]' end::jsonb, 'read', 1
     from generate_series(1, $2::integer) n`,
    [org, accesses],
  )
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

async function page(category: PersonalCategory, after: CursorPlace | null, limit = 50) {
  const filters = { clientId: 'product', category, since: '2026-01-01T00:00:00.000Z' }
  const found = await listAccesses({ pool, vault }, org, filters, { after, limit })
  const last = found.rows.at(-1)
  const reached = found.reached ?? (last === undefined ? null : placeOfAccess(last))
  return { seconds: found.rows.map(({ at }) => (Date.parse(at) - Date.UTC(2026, 2)) / 1_000), ...found, reached }
}

test('a page of a category looks at a bounded number of accesses, and the next one goes on behind them', async () => {
  const first = await page('export', null)
  expect(first).toMatchObject({ rows: [], hasMore: true })
  expect(await page('export', first.reached)).toMatchObject({ seconds: [1], hasMore: false })
})

test('the pages of a category have each of its accesses once, the latest first', async () => {
  const seconds: number[] = []
  let place: CursorPlace | null = null
  for (let hasMore = true; hasMore;) {
    const found: Awaited<ReturnType<typeof page>> = await page('results', place, 2)
    seconds.push(...found.seconds)
    ;({ hasMore, reached: place } = found)
  }
  expect(seconds).toEqual([6_000, 5_000, 4_000, 3_000, 2_000, 1_000])
})
