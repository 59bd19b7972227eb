import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { providerChecks, startProviderReports } from '../../app/provider-reports.ts'
import { createPool, type Pool } from '../../platform/database/database.ts'
import { createHealth } from '../../platform/observability/health.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { ensureRuntimeSchema } from '../../engine/projections/schema.ts'
import { appTables } from '../../app/runtime-tables.ts'
import { freshDatabase, type FreshDatabase } from '../support/postgres.ts'

let database: FreshDatabase
let pool: Pool
beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 4 })
  await ensureRuntimeSchema(pool, appTables)
})
beforeEach(async () => {
  await pool.query('delete from runtime.reports')
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** One report of a process that sends messages. */
async function reported(isReachable: { readonly mails: boolean; readonly chats: boolean }): Promise<void> {
  const senders = {
    mails: { isReachable: async () => isReachable.mails },
    chats: { isReachable: async () => isReachable.chats },
  }
  const reports = startProviderReports({ senders, pool, logger: createLogger({ level: 'silent' }) })
  await reports.first
  await reports.close()
}

/** The health of a process that sends nothing, like the API. */
function healthElsewhere() {
  const health = createHealth({ profile: 'production' })
  health.register({ name: 'database', gatesReadiness: true, run: () => ({ status: 'ok' }) })
  for (const check of providerChecks(pool)) health.register(check)
  return health
}

test('a mail server that is away gates the readiness of notifications in every process, and no other', async () => {
  await reported({ mails: false, chats: true })
  const health = healthElsewhere()
  expect(await health.report('ready', 'notifications')).toMatchObject({
    status: 'failing',
    checks: [
      { name: 'database', status: 'ok' },
      { name: 'mail_provider', status: 'failing', detail: 'the provider does not answer, or refuses our credentials' },
      { name: 'chat_provider', status: 'ok' },
    ],
  })
  const others = [await health.report('ready'), await health.report('ready', 'webhooks')]
  expect(others.map(({ status, checks }) => [status, checks.length])).toEqual([
    ['ok', 1],
    ['ok', 1],
  ])
  expect((await health.report('full')).status).toBe('failing')
})

test('a provider that answers late is well', async () => {
  const late = (signal: AbortSignal) =>
    new Promise<boolean>((resolve) => {
      setTimeout(resolve, 2_000, true)
      signal.addEventListener('abort', () => resolve(false))
    })
  const senders = { mails: { isReachable: late }, chats: { isReachable: async () => true } }
  const reports = startProviderReports({ senders, pool, logger: createLogger({ level: 'silent' }) })
  await reports.first
  await reports.close()
  expect((await healthElsewhere().report('ready', 'notifications')).status).toBe('ok')
})

test('the next report counts', async () => {
  await reported({ mails: false, chats: false })
  await reported({ mails: true, chats: true })
  expect((await healthElsewhere().report('ready', 'notifications')).status).toBe('ok')
})

test('without a report of the last minute nobody knows, so nothing is ready', async () => {
  const health = healthElsewhere()
  const unknown = { status: 'failing', detail: 'no process that sends messages has reported' }
  const checks = [{ status: 'ok' }, unknown, unknown]
  expect(await health.report('ready', 'notifications')).toMatchObject({ status: 'failing', checks })
  await reported({ mails: true, chats: true })
  expect((await health.report('ready', 'notifications')).status).toBe('ok')
  await pool.query(`update runtime.reports set reported_at = reported_at - interval '61 seconds'`)
  expect(await health.report('ready', 'notifications')).toMatchObject({ status: 'failing', checks })
})

test('a report that cannot be stored stops nothing', async () => {
  const ended = createPool({ url: database.url, max: 1 })
  await ended.end()
  const senders = { mails: { isReachable: async () => true }, chats: { isReachable: async () => true } }
  const reports = startProviderReports({ senders, pool: ended, logger: createLogger({ level: 'silent' }) })
  await reports.first
  await reports.close()
  expect((await healthElsewhere().report('ready', 'notifications')).status).toBe('failing')
})
