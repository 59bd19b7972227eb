import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createOperations } from '../../../app/operations/operations.ts'
import type { WorkSource } from '../../../app/operations/work-relation.ts'
import { countWork, findWork, listGroups, listWork } from '../../../app/operations/work.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { appTables } from '../../../app/runtime-tables.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { processes } from '../../../processes/registry.ts'
import { readModels } from '../../../projections/registry.ts'
import { emptyProjectors } from '../../support/empty-projectors.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

let database: FreshDatabase
let pool: Pool
let source: WorkSource
const lists = processes.map(({ list }) => list)

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 4 })
  source = { pool, failedRetentionSeconds: 3_600 }
  await ensureRuntimeSchema(pool, appTables)
})
beforeEach(async () => {
  await pool.query('delete from runtime.claims')
  await emptyProjectors(pool, [...lists, ...readModels])
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const org = tenantOfFact(randomUUID())
const all = { orgId: null }
const page = { limit: 50, after: null }

interface Claim {
  readonly error?: { readonly class: string; readonly code: string | null; readonly host?: string }
  readonly failures?: number
  readonly leaseSeconds?: number
  readonly failedSecondsAgo?: number
  readonly version?: string
}

/** A row of the list of assessments, due so many seconds ago. */
async function addRow(
  dueSecondsAgo: number,
  claim?: Claim,
  { step = 'conclude', orgId = org }: { step?: string; orgId?: string } = {},
) {
  const key = randomUUID()
  await pool.query(
    `insert into assessments_todo.todo (key, step, org_id, due_at, payload) values ($1, $2, $3, now() - make_interval(secs => $4), $5)`,
    [key, step, orgId, dueSecondsAgo, JSON.stringify({ cause: { eventId: 'event', correlationId: 'correlation' } })],
  )
  if (claim === undefined) return key
  const { error, failures = 0, leaseSeconds, failedSecondsAgo = 5, version = '1.0.0' } = claim
  await pool.query(
    `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures,
       error_class, error_code, error_host, first_failed_at, last_failed_at, failed_version)
     values ('assessments', $1, $2, 'worker', coalesce(now() + make_interval(secs => $3), '-infinity'), '-infinity', 0, 0, $4, $5, $6, $7,
       case when $5::text is not null then now() - make_interval(secs => $8) end, case when $5::text is not null then now() end,
       case when $5::text is not null then $9::text end)`,
    [
      key,
      step,
      leaseSeconds ?? null,
      failures,
      error?.class ?? null,
      error?.code ?? null,
      error?.host ?? null,
      failedSecondsAgo,
      version,
    ],
  )
  return key
}

const refused = { class: 'EgressError', code: 'ECONNREFUSED', host: 'provider.test' }

describe('work', () => {
  it('has its state, and the error of its last run', async () => {
    const due = await addRow(40)
    const leased = await addRow(30, { leaseSeconds: 10 })
    const failing = await addRow(20, { error: refused, failures: 3 })
    const waiting = await addRow(-60)
    // Of a clock that was ahead.
    const unheld = await addRow(-30, { leaseSeconds: 3_600 })
    const { rows } = await listWork(source, all, page)
    expect(rows.map(({ subject, state, failures }) => [subject?.id, state, failures])).toEqual([
      [due, 'due', 0],
      [leased, 'leased', 0],
      [failing, 'failing', 3],
      [unheld, 'waiting', 0],
      [waiting, 'waiting', 0],
    ])
    expect(rows[2]).toMatchObject({
      kind: 'step',
      process: 'assessments',
      step: 'conclude',
      org_id: org,
      subject: { kind: 'assessment', id: failing },
      error: refused,
      version: '1.0.0',
      correlation_id: 'correlation',
    })
    expect(rows[0]).toMatchObject({ error: null, group_id: null, first_failed_at: null, version: null })
    expect(await findWork(source, org, rows[2]?.id ?? '')).toEqual(rows[2])
    expect(await findWork(source, tenantOfFact(randomUUID()), rows[2]?.id ?? '')).toBeUndefined()
    expect(await findWork(source, null, randomUUID())).toBeUndefined()
  })

  it('is found by filters and pages', async () => {
    const other = randomUUID()
    for (let second = 1; second <= 5; second += 1) await addRow(second)
    await addRow(10, { error: refused, failures: 1 }, { step: 'expire', orgId: other })
    const countOf = async (filter: object) => (await listWork(source, { ...all, ...filter }, page)).rows.length
    expect(await countOf({})).toBe(6)
    expect(await countOf({ orgId: tenantOfFact(other) })).toBe(1)
    expect(await countOf({ step: 'expire', process: 'assessments', kind: 'step' })).toBe(1)
    expect(await countOf({ kind: 'delivery' })).toBe(0)
    expect(await countOf({ states: ['failing', 'leased'] })).toBe(1)
    expect(await countOf({ states: ['due', 'failing'] })).toBe(6)
    const [group] = await listGroups(source, null)
    expect(await countOf({ failingWith: group?.id })).toBe(1)
    expect(await countOf({ failingWith: randomUUID() })).toBe(0)

    const seen: string[] = []
    let after: PageAfter = null
    for (;;) {
      const found = await listWork(source, all, { limit: 4, after })
      seen.push(...found.rows.map(({ id }) => id))
      if (!found.hasMore) break
      after = found.reached ?? null
    }
    expect([seen.length, new Set(seen).size]).toEqual([6, 6])
  })

  it('of a webhook and of a notification fails as its last attempt did', async () => {
    const [subscription, event, notification] = [randomUUID(), randomUUID(), randomUUID()]
    await pool.query(
      `insert into webhook_subscriptions.webhook_subscriptions (subscription_id, org_id, url, event_types, status, payload_mode, signature_schemes, created_at, updated_at, stream_revision)
       values ($1, $2, 'https://Receiver.test:8443/canary?canary', '[]', 'active', 'thin', '[]', now(), now(), 0)`,
      [subscription, org],
    )
    await pool.query(
      `insert into webhooks_todo.todo (key, step, org_id, due_at, payload, lane) values ($1, 'deliver', $2, now() + interval '1 hour', $3, $4)`,
      [`${subscription}.${event}`, org, JSON.stringify({ subscriptionId: subscription, eventId: event }), subscription],
    )
    const [delivery] = (await listWork(source, all, page)).rows
    expect(delivery).toMatchObject({ kind: 'delivery', state: 'waiting', failures: 0, subject: { kind: 'delivery' } })
    for (const [attempt, status] of [503, null].entries())
      await pool.query(
        `insert into webhook_deliveries.attempts values ($1, $2, now() - make_interval(secs => $3), $4, 10, $5)`,
        [delivery?.id, attempt + 1, 60 - attempt, status, status === null ? 'timeout' : 'http_status'],
      )
    await pool.query(
      `insert into notifications_todo.todo (key, step, org_id, due_at, payload, lane) values ($1, 'deliver', $2, now() + interval '2 hours', '{}', 'email')`,
      [notification, org],
    )
    await pool.query(
      `insert into notifications.delivery_attempts (attempt_id, notification_id, attempt_number, provider_name, request, success, error_code, created_at)
       values ($1, $2, 1, 'smtp', '{}', false, 'provider_auth_failed', now())`,
      [randomUUID(), notification],
    )
    const { rows } = await listWork(source, all, page)
    expect(rows).toMatchObject([
      {
        id: delivery?.id,
        process: 'webhooks',
        step: 'deliver',
        state: 'failing',
        failures: 2,
        error: { class: 'attempt_failed', code: 'timeout', host: 'receiver.test:8443' },
      },
      {
        id: notification,
        kind: 'notification',
        process: 'notifications',
        step: 'deliver',
        state: 'failing',
        failures: 1,
        error: { class: 'attempt_failed', code: 'provider_auth_failed', host: null },
      },
    ])
    expect(JSON.stringify(rows)).not.toContain('canary')
  })

  it('that ended as failed is shown for a while, and that of a disabled receiver is in no group', async () => {
    const [active, disabled] = [randomUUID(), randomUUID()]
    for (const [subscription, status] of [
      [active, 'active'],
      [disabled, 'disabled'],
    ])
      await pool.query(
        `insert into webhook_subscriptions.webhook_subscriptions (subscription_id, org_id, url, event_types, status, payload_mode, signature_schemes, created_at, updated_at, stream_revision)
         values ($1, $2, 'https://receiver.test/', '[]', $3, 'thin', '[]', now(), now(), 0)`,
        [subscription, org, status],
      )
    const failed = async (subscription: string, secondsAgo: number) => {
      const id = randomUUID()
      await pool.query(
        `insert into webhook_deliveries.deliveries (delivery_id, org_id, subscription_id, event_id, event_type, origin, status, created_at, failed_at, stream_revision)
         values ($1, $2, $3, gen_random_uuid(), 'assessment.completed', 'event', 'failed', now(), now() - make_interval(secs => $4), 2)`,
        [id, org, subscription, secondsAgo],
      )
      await pool.query(`insert into webhook_deliveries.attempts values ($1, 1, now(), 500, 10, 'http_status')`, [id])
      return id
    }
    const [shown, ofDisabled] = [await failed(active, 20), await failed(disabled, 10)]
    await failed(active, 3_601)
    const { rows } = await listWork(source, { ...all, states: ['failed'] }, page)
    expect(rows).toMatchObject([
      { id: shown, kind: 'delivery', state: 'failed', failures: 1, error: { code: '500', host: 'receiver.test' } },
      { id: ofDisabled, state: 'failed', failures: 1, error: null, group_id: null, retryable: false },
    ])
    expect((await listGroups(source, null)).map(({ count, states }) => [count, states])).toEqual([
      [1, { failing: 0, parked: 0, failed: 1 }],
    ])
    // Nothing is tried again by itself, so it is no problem of the moment.
    expect((await countWork(source)).map(({ state, failure }) => [state, failure])).toEqual([
      ['failed', null],
      ['failed', null],
    ])
  })

  it('of an AI review fails as its last try did, and is tried by its own schedule', async () => {
    const [deferred, ended] = [randomUUID(), randomUUID()]
    const review = (id: string, status: string, failedAt: string | null) =>
      pool.query(
        `insert into ai_reviews.ai_reviews (ai_review_id, org_id, case_id, product_id, status, attempt_count, failures, failing_since, last_failed_at, failure_code, failed_at, created_at, updated_at, stream_revision)
         values ($1, $2, $1, $1, $3, 0, 2, now() - interval '1 minute', now(), '503', $4, now(), now(), 5)`,
        [id, org, status, failedAt],
      )
    await review(deferred, 'pending', null)
    await review(ended, 'failed', new Date(Date.now() - 1_000).toISOString())
    await pool.query(
      `insert into ai_review_todo.todo (key, step, org_id, due_at, payload) values ($1, 'start', $2, now() + interval '1 minute', '{}')`,
      [deferred, org],
    )
    const error = { class: 'attempt_failed', code: '503', host: null }
    const common = { kind: 'ai_review', process: 'ai_review', step: 'start', failures: 2, error, retryable: false }
    const { rows } = await listWork(source, { ...all, kind: 'ai_review' }, page)
    expect(rows).toMatchObject([
      { ...common, id: ended, state: 'failed', subject: { kind: 'ai_review', id: ended } },
      { ...common, id: deferred, state: 'failing', subject: { kind: 'ai_review', id: deferred } },
    ])
  })

  it('needs no list that no process has filled yet', async () => {
    await pool.query('delete from runtime.projectors')
    expect((await listWork(source, all, page)).rows).toEqual([])
    expect([await countWork(source), await listGroups(source, null)]).toEqual([[], []])
  })
})

type PageAfter = readonly (string | number | null)[] | null

describe('failure groups', () => {
  it('contain what fails in the same way, the largest first', async () => {
    const other = randomUUID()
    await addRow(10, { error: refused, failures: 1, failedSecondsAgo: 60 })
    await addRow(10, { error: refused, failures: 2, version: '1.1.0' }, { orgId: other })
    // Its next try runs now.
    await addRow(10, { error: refused, failures: 2, leaseSeconds: 10 })
    await addRow(10, { error: { ...refused, code: 'ETIMEDOUT' }, failures: 1 })
    await addRow(10, { error: { class: 'TypeError', code: null }, failures: 1 }, { step: 'expire' })
    await addRow(10)
    const groups = await listGroups(source, null)
    expect(groups.map(({ count, step, error }) => [count, step, error.code])).toEqual([
      [3, 'conclude', 'ECONNREFUSED'],
      [1, 'conclude', 'ETIMEDOUT'],
      [1, 'expire', null],
    ])
    expect(groups[0]).toMatchObject({ organisations: 2, states: { failing: 3, parked: 0 }, error: refused })
    expect(groups[0]?.versions.toSorted()).toEqual(['1.0.0', '1.1.0'])
    expect(groups[0]?.example).toMatchObject({ group_id: groups[0]?.id, error: refused })
    expect(groups[0]?.example?.first_failed_at).toBe(groups[0]?.first_failed_at)
    expect((await listGroups(source, tenantOfFact(other))).map(({ id, count }) => [id, count])).toEqual([
      [groups[0]?.id, 1],
    ])
    expect(groups.map(({ retryable }) => retryable)).toEqual([true, true, true])
    const counts = await countWork(source)
    expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(6)
    const ofGroup = counts.filter(({ failure }) => failure?.groupId === groups[0]?.id)
    expect(ofGroup.map(({ state, count }) => `${state} ${count}`).toSorted()).toEqual(['failing 2', 'leased 1'])
  })

  it('beyond a thousand are one group, which is not retried as a whole', async () => {
    const [key, otherOrg] = [await addRow(10, { error: refused }), randomUUID()]
    await pool.query(
      `insert into assessments_todo.todo (key, step, org_id, due_at, payload)
       select 'many ' || n, 'expire', $1, now(), '{}' from generate_series(1, 1003) n`,
      [otherOrg],
    )
    await pool.query(
      `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures,
         error_class, error_code, error_host, first_failed_at, last_failed_at, failed_version)
       select 'assessments', 'many ' || n, 'expire', 'worker', '-infinity', '-infinity', 0, 0, 1, 'EgressError', null,
         case when n > 1 then n || '.test' end, now() - make_interval(secs => 2000 - n), now(), '1.0.0' from generate_series(1, 1003) n`,
    )
    await pool.query(`update runtime.claims set first_failed_at = now() - interval '1 hour' where key = $1`, [key])
    const groups = await listGroups(source, null)
    expect(groups).toHaveLength(1_001)
    expect(groups[0]?.example?.subject?.id).toBe(key)
    const last = groups.at(-1)
    expect(last).toMatchObject({ error: { class: 'other', code: null, host: null }, count: 4, retryable: false })
    expect(last).toMatchObject({ organisations: 1, example: { error: { class: 'EgressError' } } })
    expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(1_004)
    await expect(
      createOperations({ ...source, store: () => Promise.reject(new Error('unused')), now: () => new Date() }).retry({
        id: randomUUID(),
        target: { kind: 'group', id: last?.id ?? '' },
        orgId: null,
        reason: null,
        actor: { kind: 'command', id: 'ada' },
        context: { commandId: randomUUID(), correlationId: randomUUID(), clientId: 'platform' },
      }),
    ).rejects.toMatchObject({ code: 'not-retryable' })
  })
})
