import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { disabledEndpoints, listEndpoints } from '../../../app/operations/endpoints.ts'
import { createProjector, ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { appTables } from '../../../app/runtime-tables.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { webhooksProcess } from '../../../processes/webhooks/webhooks.process.ts'
import { webhookDeliveriesProjector } from '../../../projections/webhooks/webhook-deliveries.projector.ts'
import { webhookSubscriptionsProjector } from '../../../projections/webhooks/webhook-subscriptions.projector.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

let database: FreshDatabase
let pool: Pool
const org = tenantOfFact(randomUUID())
const page = { limit: 50, after: null }
beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 2 })
  await ensureRuntimeSchema(pool, appTables)
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

async function addEndpoint(url: string, disabledReason: string | null = null, orgId: string = org): Promise<string> {
  const id = randomUUID()
  await pool.query(
    `insert into webhook_subscriptions.webhook_subscriptions (subscription_id, org_id, url, event_types, status, payload_mode, signature_schemes, disabled_reason, disabled_at, created_at, updated_at, stream_revision)
     values ($1, $2, $3, '[]', case when $4::text is null then 'active' else 'disabled' end, 'thin', '[]', $4, case when $4::text is not null then '2030-01-01'::timestamptz end, now(), now(), 0)`,
    [id, orgId, url, disabledReason],
  )
  return id
}

it('there are no endpoints before a projector has run', async () => {
  expect(await listEndpoints(pool, null, page)).toEqual({ rows: [], hasMore: false })
  expect(await disabledEndpoints(pool)).toEqual([])
})

it('endpoints show their host, state and deliveries, without a path', async () => {
  for (const projector of [webhookSubscriptionsProjector, webhookDeliveriesProjector, webhooksProcess.list])
    await inTransaction(pool, (client) => createProjector(client, projector, 'running'))
  const failing = await addEndpoint('https://Receiver.test:8443/canary')
  const usual = await addEndpoint('https://usual.test:443/canary', 'requested')
  const gone = await addEndpoint('https://gone.test/canary', 'gone', randomUUID())
  const add = async (status: string, attempt: 'succeeded' | 'failed' | undefined) => {
    const id = randomUUID()
    await pool.query(
      `insert into webhook_deliveries.deliveries (delivery_id, org_id, subscription_id, event_id, event_type, origin, status, created_at, stream_revision)
       values ($1, $2, $3, $1, 'assessment.failed', 'event', $4, now(), 0)`,
      [id, org, failing, status],
    )
    if (attempt !== undefined)
      await pool.query(`insert into webhook_deliveries.attempts values ($1, 1, '2030-01-01', 200, 10, $2)`, [
        id,
        attempt === 'failed' ? 'timeout' : null,
      ])
  }
  await add('pending', 'failed')
  await add('pending', undefined)
  await add('failed', 'failed')
  await add('delivered', 'succeeded')
  await pool.query(`insert into webhooks_todo.endpoints values ($1, $2, 'active', '[]', 0, '2030-02-01')`, [
    failing,
    org,
  ])

  const all = await listEndpoints(pool, null, page)
  expect(all.rows.map(({ id }) => id)).toEqual([failing, usual, gone].toSorted())
  expect(all.rows.find(({ id }) => id === failing)).toEqual({
    id: failing,
    org_id: org,
    host: 'receiver.test:8443',
    status: 'active',
    disabled_reason: null,
    failing_since: '2030-02-01T00:00:00.000Z',
    last_success_at: '2030-01-01T00:00:00.000Z',
    pending: 2,
    failed: 1,
  })
  expect(all.rows.find(({ id }) => id === usual)).toMatchObject({
    host: 'usual.test',
    pending: 0,
    last_success_at: null,
  })
  expect(JSON.stringify(all)).not.toContain('canary')
  expect((await listEndpoints(pool, org, page)).rows.map(({ id }) => id)).toEqual([failing, usual].toSorted())
  const first = await listEndpoints(pool, null, { limit: 2, after: null })
  const rest = await listEndpoints(pool, null, { limit: 2, after: [first.rows[1]?.id ?? ''] })
  expect([first.hasMore, rest.hasMore, [...first.rows, ...rest.rows]]).toEqual([true, false, all.rows])
  expect(await disabledEndpoints(pool)).toEqual([{ id: gone, since: new Date('2030-01-01T00:00:00.000Z') }])
})

it('each form of an address that a subscription accepts shows its host', async () => {
  const other = tenantOfFact(randomUUID())
  for (const url of [
    'HTTPS://Receiver.test/a',
    'https:receiver.test/a',
    'https:/receiver.test:443',
    'https:////receiver.test?a',
  ])
    await addEndpoint(url, null, other)
  expect((await listEndpoints(pool, other, page)).rows.map(({ host }) => host)).toEqual(Array(4).fill('receiver.test'))
})
