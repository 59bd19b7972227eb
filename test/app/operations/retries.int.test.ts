import { randomUUID } from 'node:crypto'
import { hostedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { Type } from 'typebox'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { WorkSource } from '../../../app/operations/work-relation.ts'
import { awaitedRetry } from '../../../app/operations/awaited-retry.ts'
import { createOperations } from '../../../app/operations/operations.ts'
import type { Repeating } from '../../../app/operations/repeating.ts'
import { takeLostRetries, workOffRetries } from '../../../app/operations/retry-worker.ts'
import type { RetryOrder } from '../../../contracts/operations/operations.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { createCatalogue } from '../../../engine/store/catalogue.ts'
import { defineEvent } from '../../../engine/store/schema.ts'
import { appTables } from '../../../app/runtime-tables.ts'
import { openEventStore, type EventStore } from '../../../engine/store/event-store.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { processes } from '../../../processes/registry.ts'
import { aiReviewsProjector } from '../../../projections/ai-review/ai-reviews.projector.ts'
import { notificationsProjector } from '../../../projections/notifications/notifications.projector.ts'
import { operatorActionsProjector } from '../../../projections/operations/operator-actions.projector.ts'
import { webhookDeliveriesProjector } from '../../../projections/webhooks/webhook-deliveries.projector.ts'
import { webhookSubscriptionsProjector } from '../../../projections/webhooks/webhook-subscriptions.projector.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { notificationEvents } from '../../../streams/notification/events.ts'
import { operationsStream } from '../../../streams/operations/aggregate.ts'
import { deliveryIdOf, webhookDeliveries } from '../../../streams/webhook-delivery/aggregate.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { notificationFact } from '../../streams/notification-facts.ts'
import { deliveryFact, subscriptionFact } from '../../streams/webhook-facts.ts'
import { emptyProjectors } from '../../support/empty-projectors.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { fixedKeys } from '../../golden-events/golden-file.ts'
import { eventually } from '../../support/eventually.ts'

let database: FreshDatabase
let pool: Pool
let source: WorkSource
let node: TestEventStore
let store: EventStore
let worker: Repeating | undefined
const wake = vi.fn()
const org = tenantOfFact(randomUUID())
const now = () => new Date()
const logger = createLogger({ level: 'silent' })
const filled = [
  ...processes.map(({ list }) => list).filter(({ name }) => /^(assessments|webhooks|notifications)_todo$/.test(name)),
  aiReviewsProjector,
  notificationsProjector,
  operatorActionsProjector,
  webhookDeliveriesProjector,
  webhookSubscriptionsProjector,
]

beforeAll(async () => {
  ;[database, node] = await Promise.all([freshDatabase(), hostedEventStore()])
  pool = createPool({ url: database.url, max: 6 })
  source = { pool, failedRetentionSeconds: 3_600 }
  store = await openEventStore({ url: node.url, catalogue, vault: fixedKeys })
  await ensureRuntimeSchema(pool, appTables)
})
beforeEach(async () => {
  await pool.query('delete from runtime.claims; delete from runtime.retries')
  await emptyProjectors(pool, filled)
})
afterEach(async () => {
  await worker?.close()
  worker = undefined
  wake.mockClear()
})
afterAll(async () => {
  await store.close()
  await pool.end()
  await Promise.all([database.drop(), node.stop()])
})

const operations = () => createOperations({ ...source, store: () => Promise.resolve(store), now })

/** A failing row of the list of assessments whose next try is in an hour. */
async function failing(host = 'provider.test', orgId: string = org): Promise<string> {
  const key = randomUUID()
  await pool.query(
    `insert into assessments_todo.todo (key, step, org_id, due_at, payload) values ($1, 'conclude', $2, now() - interval '1 minute', '{}')`,
    [key, orgId],
  )
  await pool.query(
    `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures,
       error_class, error_code, error_host, first_failed_at, last_failed_at, failed_version)
     values ('assessments', $1, 'conclude', 'worker', '-infinity', now() + interval '1 hour', 0, 0, 3,
       'EgressError', 'ECONNREFUSED', $2, now() - interval '5 minutes', now() - interval '1 minute', '1.0.0')`,
    [key, host],
  )
  return key
}

/** A delivery that has failed, to an active subscription. */
async function failedDelivery() {
  const [subscriptionId, eventId] = [randomUUID(), randomUUID()]
  const delivery = { deliveryId: deliveryIdOf(subscriptionId, eventId), subscriptionId, eventId }
  const target = webhookDeliveries.of(org, delivery.deliveryId)
  const context = { commandId: randomUUID(), correlationId: randomUUID(), process: 'test' }
  const subscriptions = webhookSubscriptions.of(org)
  const { revision } = await store.load(subscriptions)
  const subscribed = subscriptionFact('WebhookSubscribed', { subscriptionId, organisationId: org })
  await store.append(subscriptions, revision, [subscribed], context)
  await store.append(
    target,
    'no_stream',
    [
      deliveryFact('WebhookDeliveryScheduled', { ...delivery, organisationId: org }),
      deliveryFact('WebhookDeliveryAttempted', { deliveryId: delivery.deliveryId }),
      deliveryFact('WebhookDeliveryFailed', delivery),
    ],
    context,
  )
  await pool.query(
    `insert into webhook_subscriptions.webhook_subscriptions (subscription_id, org_id, url, event_types, status, payload_mode, signature_schemes, created_at, updated_at, stream_revision)
     values ($1, $2, 'https://receiver.test/', '[]', 'active', 'thin', '[]', now(), now(), 0)`,
    [subscriptionId, org],
  )
  await pool.query(
    `insert into webhook_deliveries.deliveries (delivery_id, org_id, subscription_id, event_id, event_type, origin, status, created_at, failed_at, stream_revision)
     values ($1, $2, $3, $4, 'assessment.completed', 'event', 'failed', now(), now(), 2)`,
    [delivery.deliveryId, org, subscriptionId, eventId],
  )
  await pool.query(
    `insert into webhook_deliveries.attempts (delivery_id, attempt, at, status_code, duration_ms, error_class)
     values ($1, 1, now() - interval '1 minute', 500, 5, 'http_status')`,
    [delivery.deliveryId],
  )
  return { delivery, target, context }
}

async function onlyGroup() {
  const [group, ...others] = await operations().groups(null)
  expect(others).toEqual([])
  if (group === undefined) throw new Error('there is no group')
  return group
}

const order = (kind: 'step' | 'group', id: string, changes: Partial<RetryOrder> = {}): RetryOrder => {
  const commandId = randomUUID()
  return {
    id: randomUUID(),
    target: { kind, id },
    orgId: null,
    reason: null,
    actor: { kind: 'client', id: 'operators' },
    context: { commandId, correlationId: commandId, clientId: 'operators' },
    ...changes,
  }
}

const begin = () => {
  worker = workOffRetries({ ...source, store, now, wake, logger, everyMs: 20 })
}
const notBefore = async (key: string) => {
  const { rows } = await pool.query<{ is_now: boolean }>(
    'select not_before <= now() as is_now from runtime.claims where key = $1',
    [key],
  )
  return rows[0]?.is_now
}
async function recordedActions() {
  const actions: unknown[] = []
  for await (const { data } of store.readStream(operationsStream.stream)) actions.push(data)
  return actions
}
const code = (problem: string) => expect.objectContaining({ code: problem })

describe('a retry', () => {
  it('gives each item of a group its next try now, and counts the outcomes', async () => {
    const [succeeds, fails, gone] = [await failing(), await failing(), await failing()]
    const other = await failing('other.test')
    const group = (await operations().groups(null)).find(({ count }) => count === 3)
    if (group === undefined) throw new Error('there is no group of three')
    const asked = order('group', group.id, { reason: 'it is back' })
    const before = (await recordedActions()).length
    const { retry } = await operations().retry(asked)
    expect(retry).toMatchObject({ id: asked.id, total: 3, waiting: 3, done: 0, failed_again: 0, ended_at: null })
    const actions = await recordedActions()
    expect(actions.slice(before)).toEqual([
      expect.objectContaining({
        actionId: asked.id,
        action: 'group.retry',
        count: 3,
        reason: 'it is back',
        actor: asked.actor,
      }),
    ])
    begin()
    await eventually(async () => expect(await notBefore(succeeds)).toBe(true))
    expect([await notBefore(fails), await notBefore(gone), await notBefore(other)]).toEqual([true, true, false])
    await eventually(() => expect(wake).toHaveBeenCalled())

    // The workers do this.
    await pool.query(
      'update runtime.claims set error_class = null, first_failed_at = null, last_failed_at = null where key = $1',
      [succeeds],
    )
    await pool.query('update runtime.claims set last_failed_at = now() where key = $1', [fails])
    await pool.query('delete from assessments_todo.todo where key = $1', [gone])
    await eventually(async () => {
      const ended = await operations().retryOf(asked.id)
      expect(ended).toMatchObject({ total: 3, waiting: 0, done: 2, failed_again: 1, ended_at: expect.any(String) })
    })
    const left = (await operations().groups(null)).find(({ id }) => id === group.id)
    expect(left).toMatchObject({ count: 1, retry: { id: asked.id, failed_again: 1 } })
  })

  it('is awaited until it ends, while a processor runs', async () => {
    const key = await failing()
    const { retry } = await operations().retry(order('group', (await onlyGroup()).id))
    expect(await awaitedRetry(operations(), retry, 0)).toMatchObject({
      retry: { id: retry.id, waiting: 1 },
      isLeft: true,
    })
    await pool.query(
      `insert into runtime.processes (id, roles, version, profile, started_at, seen_at, checks, relays)
       values ($1, '{processor}', '1', 'development', now(), now() - interval '1 minute', '[]', '[]'),
         ($2, '{api}', '1', 'development', now(), now() + interval '1 hour', '[]', '[]')`,
      [randomUUID(), randomUUID()],
    )
    expect(await awaitedRetry(operations(), retry, 0)).toMatchObject({ isLeft: true })
    await pool.query(
      `update runtime.processes set seen_at = now() + interval '1 hour', roles = '{processor}' where '{api}' = roles`,
    )
    const awaited = awaitedRetry(operations(), retry, 0)
    await pool.query('delete from assessments_todo.todo where key = $1', [key])
    begin()
    expect(await awaited).toMatchObject({ retry: { done: 1, waiting: 0 }, isLeft: false })
    await pool.query('delete from runtime.processes')
  })

  it('of a group that it empties is shown for an hour', async () => {
    const key = await failing()
    const group = await onlyGroup()
    await operations().retry(order('group', group.id))
    await pool.query('delete from assessments_todo.todo where key = $1', [key])
    begin()
    await eventually(async () => expect((await onlyGroup()).retry?.ended_at).not.toBeNull())
    const { count, error, example, first_failed_at: since } = await onlyGroup()
    expect({ count, error, example, since }).toEqual({
      count: 0,
      error: group.error,
      example: null,
      since: group.first_failed_at,
    })
    await expect(operations().retry(order('group', group.id))).rejects.toEqual(code('step-not-failing'))
    await pool.query(`update runtime.retries set ended_at = now() - interval '61 minutes'`)
    expect(await operations().groups(null)).toEqual([])
    await expect(operations().retry(order('group', group.id))).rejects.toEqual(code('not-found'))
  })

  it('is one while it runs, and for a repeat of the request', async () => {
    await failing()
    const { id } = await onlyGroup()
    const [one, two] = [order('group', id), order('group', id)]
    const before = (await recordedActions()).length
    const answers = await Promise.all([one, two].map((each) => operations().retry(each)))
    expect(new Set(answers.map(({ retry }) => retry.id)).size).toBe(1)
    expect(answers.filter(({ recorded }) => recorded !== undefined)).toHaveLength(1)
    const [begun] = [one, two].filter((each) => each.id === answers[0]?.retry.id)
    if (begun === undefined) throw new Error('neither retry began')
    expect((await operations().retry(begun)).retry.id).toBe(begun.id)
    expect(await recordedActions()).toHaveLength(before + 1)
    const otherReason = { ...begun, reason: 'another' }
    await expect(operations().retry(otherReason)).rejects.toEqual(code('idempotency-key-reused'))
  })

  it('is the answer to a repeat of its request, also after the work has succeeded', async () => {
    const key = await failing()
    const { rows } = await operations().work({ orgId: null }, { limit: 10, after: null })
    const asked = [order('step', rows[0]?.id ?? ''), order('group', (await onlyGroup()).id)]
    for (const each of asked) await operations().retry(each)
    await pool.query('delete from assessments_todo.todo where key = $1', [key])
    begin()
    for (const each of asked)
      await eventually(async () =>
        expect(await operations().retryOf(each.id)).toMatchObject({ done: 1, ended_at: expect.any(String) }),
      )
    await pool.query(`update runtime.retries set ended_at = now() - interval '61 minutes'`)
    const before = (await recordedActions()).length
    for (const each of asked) {
      expect(await operations().retry(each)).toMatchObject({ retry: { id: each.id, done: 1 }, recorded: undefined })
      await expect(operations().retry({ ...each, reason: 'another' })).rejects.toEqual(code('idempotency-key-reused'))
      await expect(operations().retry({ ...each, id: randomUUID() })).rejects.toEqual(code('not-found'))
    }
    expect(await recordedActions()).toHaveLength(before)
  })

  it('of one piece of work leaves the others alone', async () => {
    const [one, other] = [await failing(), await failing()]
    const page = await operations().work({ orgId: null }, { limit: 10, after: null })
    const item = page.rows.find(({ subject }) => subject?.id === one)
    const asked = order('step', item?.id ?? '')
    expect((await operations().retry(asked)).retry.total).toBe(1)
    begin()
    await eventually(async () => expect(await notBefore(one)).toBe(true))
    expect(await notBefore(other)).toBe(false)
    expect((await operations().workItem(null, item?.id ?? ''))?.retry).toMatchObject({ id: asked.id, waiting: 1 })
  })

  it('takes the work of the organisation that the request names', async () => {
    await failing()
    await failing('provider.test', randomUUID())
    const { id } = await onlyGroup()
    expect((await operations().retry(order('group', id, { orgId: org }))).retry.total).toBe(1)
  })

  it('for one organisation is no answer to a request for all, or for another one', async () => {
    const other = tenantOfFact(randomUUID())
    await failing()
    await failing('provider.test', other)
    const { id } = await onlyGroup()
    const ofOne = (await operations().retry(order('group', id, { orgId: org }))).retry
    expect((await operations().retry(order('group', id, { orgId: other }))).retry).toMatchObject({ total: 1 })
    const ofAll = (await operations().retry(order('group', id))).retry
    expect(ofAll.total).toBe(2)
    expect(ofAll.id).not.toBe(ofOne.id)
    expect((await operations().retry(order('group', id))).retry.id).toBe(ofAll.id)
  })

  it('leaves a try that runs alone, and counts its outcome', async () => {
    const key = await failing()
    const { id } = await onlyGroup()
    await pool.query(`update runtime.claims set lease_until = now() + interval '30 seconds' where key = $1`, [key])
    const asked = order('group', id)
    await operations().retry(asked)
    begin()
    await eventually(async () => {
      const { rows } = await pool.query<{ is_begun: boolean }>('select is_begun from runtime.retried_work')
      expect(rows).toEqual([{ is_begun: true }])
    })
    expect(await notBefore(key)).toBe(false)
    expect(await operations().retryOf(asked.id)).toMatchObject({ waiting: 1, ended_at: null })
    await pool.query(`update runtime.claims set lease_until = '-infinity', last_failed_at = now() where key = $1`, [
      key,
    ])
    await eventually(async () => expect(await operations().retryOf(asked.id)).toMatchObject({ failed_again: 1 }))
  })

  it('is refused for work that has not failed, and for unknown ids', async () => {
    await pool.query(
      `insert into assessments_todo.todo (key, step, org_id, due_at, payload) values ($1, 'expire', $2, now() + interval '1 hour', '{}')`,
      [randomUUID(), org],
    )
    const { rows } = await operations().work({ orgId: null }, { limit: 10, after: null })
    const before = (await recordedActions()).length
    await expect(operations().retry(order('step', rows[0]?.id ?? ''))).rejects.toEqual(code('step-not-failing'))
    await expect(operations().retry(order('step', randomUUID()))).rejects.toEqual(code('not-found'))
    await expect(operations().retry(order('group', randomUUID()))).rejects.toEqual(code('not-found'))
    expect(await recordedActions()).toHaveLength(before)
  })

  it('is carried out if its process died after the event', async () => {
    const key = await failing()
    const { id } = await onlyGroup()
    const asked = order('group', id)
    await operations().retry(asked)
    await pool.query('delete from runtime.retries')
    // As the read model has it.
    await pool.query(
      `insert into operator_actions.actions (action_id, at, action, actor_kind, actor_id, subject_kind, subject_id, count, failure)
       values ($1, now(), 'group.retry', 'client', 'operators', 'group', $2, 1, $3)`,
      [
        asked.id,
        id,
        JSON.stringify({
          kind: 'step',
          process: 'assessments',
          step: 'conclude',
          errorClass: 'EgressError',
          errorCode: 'ECONNREFUSED',
          errorHost: 'provider.test',
        }),
      ],
    )
    await Promise.all([takeLostRetries(source), takeLostRetries(source)])
    expect(await operations().retryOf(asked.id)).toMatchObject({ total: 1, waiting: 1 })
    begin()
    await eventually(async () => expect(await notBefore(key)).toBe(true))
  })
})

describe('work that records its attempts', () => {
  it('has its next try now in its stream, once', async () => {
    const [subscriptionId, eventId] = [randomUUID(), randomUUID()]
    const delivery = { deliveryId: deliveryIdOf(subscriptionId, eventId), subscriptionId, eventId }
    const later = new Date(Date.now() + 3_600_000).toISOString()
    const target = webhookDeliveries.of(org, delivery.deliveryId)
    const context = { commandId: randomUUID(), correlationId: randomUUID(), process: 'test' }
    await store.append(
      target,
      'no_stream',
      [
        deliveryFact('WebhookDeliveryScheduled', { ...delivery, organisationId: org }),
        deliveryFact('WebhookDeliveryAttempted', { deliveryId: delivery.deliveryId }),
        deliveryFact('WebhookDeliveryAttemptFailed', { ...delivery, nextAttemptAt: later }),
      ],
      context,
    )
    await pool.query(
      `insert into webhooks_todo.todo (key, step, org_id, due_at, payload, lane) values ($1, 'deliver', $2, $3, $4, $5)`,
      [`${subscriptionId}.${eventId}`, org, later, JSON.stringify({ subscriptionId, eventId }), subscriptionId],
    )
    await pool.query(
      `insert into webhook_deliveries.attempts (delivery_id, attempt, at, status_code, duration_ms, error_class)
       values ($1, 1, now() - interval '1 minute', 500, 5, 'http_status')`,
      [delivery.deliveryId],
    )
    const group = await onlyGroup()
    expect(group).toMatchObject({ kind: 'delivery', count: 1, example: { id: delivery.deliveryId } })
    const asked = order('group', group.id)
    await operations().retry(asked)
    begin()
    await eventually(async () => {
      const { state } = await store.load(target)
      expect(state.status === 'pending' && Date.parse(state.nextAttemptAt ?? '')).toBeLessThanOrEqual(Date.now())
    })
    await operations().retry(order('step', delivery.deliveryId))
    await eventually(async () => {
      const { rows } = await pool.query('select from runtime.retried_work where is_begun')
      expect(rows).toHaveLength(2)
    })
    expect((await store.load(target)).revision).toBe(3n)

    // The list removes the row before the read model knows the end.
    await pool.query(
      `insert into webhook_deliveries.deliveries (delivery_id, org_id, subscription_id, event_id, event_type, origin, status, created_at, stream_revision)
       values ($1, $2, $3, $4, 'assessment.completed', 'event', 'pending', now(), 3)`,
      [delivery.deliveryId, org, subscriptionId, eventId],
    )
    await pool.query('delete from webhooks_todo.todo')
    await eventually(async () => expect((await onlyGroup()).count).toBe(0))
    expect(await operations().retryOf(asked.id)).toMatchObject({ waiting: 1, done: 0, failed_again: 0 })
    await pool.query(`update webhook_deliveries.deliveries set status = 'failed'`)
    await eventually(async () =>
      expect(await operations().retryOf(asked.id)).toMatchObject({ failed_again: 1, ended_at: expect.any(String) }),
    )
  })

  it('a failed delivery goes again under its id, once', async () => {
    const { delivery, target, context } = await failedDelivery()
    const group = await onlyGroup()
    expect(group).toMatchObject({ kind: 'delivery', count: 1, states: { failing: 0, parked: 0, failed: 1 } })
    expect(group.example).toMatchObject({ id: delivery.deliveryId, state: 'failed', next_try_at: null })
    const asked = order('group', group.id)
    await operations().retry(asked)
    begin()
    await eventually(async () => expect((await store.load(target)).state.status).toBe('pending'))
    // The process died before it wrote that it had begun, and the round failed meanwhile.
    await worker?.close()
    await store.append(
      target,
      3n,
      [
        deliveryFact('WebhookDeliveryAttempted', { deliveryId: delivery.deliveryId, attempt: 2 }),
        deliveryFact('WebhookDeliveryFailed', { ...delivery, attempt: 2 }),
      ],
      { ...context, commandId: randomUUID() },
    )
    await pool.query('update runtime.retried_work set is_begun = false')
    begin()
    await eventually(async () => {
      const { rows } = await pool.query('select from runtime.retried_work where is_begun')
      expect(rows).toHaveLength(1)
    })
    expect((await store.load(target)).revision).toBe(5n)
    expect(await operations().retryOf(asked.id)).toMatchObject({ waiting: 1 })
    await pool.query(`insert into webhook_deliveries.attempts values ($1, 2, now(), 500, 5, 'http_status')`, [
      delivery.deliveryId,
    ])
    await eventually(async () => expect(await operations().retryOf(asked.id)).toMatchObject({ failed_again: 1 }))
  })

  it('a delivery that is not sent, because its receiver was disabled meanwhile, has failed again', async () => {
    const { delivery, target, context } = await failedDelivery()
    const asked = order('step', delivery.deliveryId)
    await operations().retry(asked)
    const disabled = subscriptionFact('WebhookSubscriptionDisabled', { subscriptionId: delivery.subscriptionId })
    const subscriptions = webhookSubscriptions.of(org)
    const { revision } = await store.load(subscriptions)
    await store.append(subscriptions, revision, [disabled], { ...context, commandId: randomUUID() })
    await pool.query(`update webhook_subscriptions.webhook_subscriptions set status = 'disabled'`)
    begin()
    await eventually(async () =>
      expect(await operations().retryOf(asked.id)).toMatchObject({ done: 0, failed_again: 1 }),
    )
    expect((await store.load(target)).state.status).toBe('failed')
  })

  it('a delivery that is cancelled during its round has failed again', async () => {
    const { delivery, target } = await failedDelivery()
    const asked = order('step', delivery.deliveryId)
    await operations().retry(asked)
    begin()
    await eventually(async () => expect((await store.load(target)).state.status).toBe('pending'))
    await pool.query(`update webhook_deliveries.deliveries set status = 'cancelled', failed_at = null`)
    await eventually(async () =>
      expect(await operations().retryOf(asked.id)).toMatchObject({ done: 0, failed_again: 1 }),
    )
  })

  it('a failed notification is queued again, once', async () => {
    const notificationId = randomUUID()
    const target = notifications.of(org, notificationId)
    const context = { commandId: randomUUID(), correlationId: randomUUID(), orgId: org, process: 'test' }
    const begun = [
      notificationFact('NotificationCreated', { notificationId, organisationId: org }),
      notificationFact('NotificationFailed', { notificationId }),
    ]
    await store.append(target, 'no_stream', begun, context)
    await pool.query(
      `insert into notifications.notifications (notification_id, org_id, template_code, channel, locale, phi, recipient_type, ref_subject, status, attempts,
         error_code, trigger_source, created_at, failed_at, updated_at, stream_revision)
       values ($1, $2, 'code', 'email', 'en-GB', false, 'user', $1, 'failed', 0, 'template_not_found', 'api:client', now(), now(), now(), 1)`,
      [notificationId, org],
    )
    const found = await operations().workItem(null, notificationId)
    const error = { class: 'attempt_failed', code: 'template_not_found', host: null }
    expect(found).toMatchObject({ kind: 'notification', state: 'failed', error, retryable: true })
    const asked = order('step', notificationId)
    await operations().retry(asked)
    begin()
    await eventually(async () => expect((await store.load(target)).state.status).toBe('queued'))
    await pool.query(`update notifications.notifications set status = 'sent', failed_at = null`)
    await eventually(async () => expect(await operations().retryOf(asked.id)).toMatchObject({ done: 1 }))
  })

  it.each([
    ['cannot be read', (stream: string) => store.writeMetadata(stream, { $tb: 1 })],
    [
      'a newer version wrote',
      async (stream: string) => {
        const NotificationPraised = defineEvent('NotificationPraised', Type.Object({}))
        const category = { category: notifications.category, events: { ...notificationEvents, NotificationPraised } }
        const newer = await openEventStore({ url: node.url, catalogue: createCatalogue([category]), vault: fixedKeys })
        const fold = { category: notifications.category, initialState: 0, evolve: (count: number) => count + 1 }
        const praised = [{ type: 'NotificationPraised', data: {} }]
        const context = { commandId: randomUUID(), correlationId: randomUUID(), orgId: org, process: 'test' }
        await newer.append({ fold, stream }, 1n, praised, context)
        await newer.close()
      },
    ],
  ])('that %s has failed again, and holds up no other work', async (_, spoil) => {
    const [unreadable, readable] = [randomUUID(), randomUUID()]
    const context = () => ({ commandId: randomUUID(), correlationId: randomUUID(), orgId: org, process: 'test' })
    for (const notificationId of [unreadable, readable]) {
      const begun = [
        notificationFact('NotificationCreated', { notificationId, organisationId: org }),
        notificationFact('NotificationFailed', { notificationId }),
      ]
      await store.append(notifications.of(org, notificationId), 'no_stream', begun, context())
      await pool.query(
        `insert into notifications.notifications (notification_id, org_id, template_code, channel, locale, phi, recipient_type, ref_subject, status, attempts,
           error_code, trigger_source, created_at, failed_at, updated_at, stream_revision)
         values ($1, $2, 'code', 'email', 'en-GB', false, 'user', $1, 'failed', 0, 'template_not_found', 'api:client', now(), now(), now(), 1)`,
        [notificationId, org],
      )
    }
    await spoil(notifications.of(org, unreadable).stream)
    store.forgetStates()
    const group = await onlyGroup()
    const asked = order('group', group.id)
    await operations().retry(asked)
    begin()
    await eventually(async () => {
      expect((await store.load(notifications.of(org, readable))).state.status).toBe('queued')
      expect(await operations().retryOf(asked.id)).toMatchObject({ total: 2, failed_again: 1 })
    })
  })

  it('a failed AI review is not tried again', async () => {
    const reviewId = randomUUID()
    await pool.query(
      `insert into ai_reviews.ai_reviews (ai_review_id, org_id, case_id, product_id, status, attempt_count, failures, failed_at, last_failed_at, failure_code, created_at, updated_at, stream_revision)
       values ($1, $2, $1, $1, 'failed', 3, 3, now(), now(), '503', now(), now(), 5)`,
      [reviewId, org],
    )
    const group = await onlyGroup()
    expect(group).toMatchObject({ kind: 'ai_review', count: 1, retryable: false, error: { code: '503' } })
    for (const asked of [order('step', reviewId), order('group', group.id)])
      await expect(operations().retry(asked)).rejects.toEqual(code('not-retryable'))
  })

  it('a notification has its next try now in its stream', async () => {
    const notificationId = randomUUID()
    const later = new Date(Date.now() + 3_600_000).toISOString()
    const target = notifications.of(org, notificationId)
    const context = { commandId: randomUUID(), correlationId: randomUUID(), orgId: org, process: 'test' }
    await store.append(
      target,
      'no_stream',
      [
        notificationFact('NotificationCreated', { notificationId, organisationId: org }),
        notificationFact('NotificationQueued', { notificationId }),
        notificationFact('NotificationAttemptStarted', { notificationId }),
        notificationFact('NotificationRetryScheduled', { notificationId, nextAttemptAt: later }),
      ],
      context,
    )
    await pool.query(
      `insert into notifications_todo.todo (key, step, org_id, due_at, payload, lane) values ($1, 'deliver', $2, $3, '{"channel":"email"}', 'email')`,
      [notificationId, org, later],
    )
    await pool.query(
      `insert into notifications.delivery_attempts (attempt_id, notification_id, attempt_number, provider_name, request, success, error_code, created_at)
       values ($1, $2, 1, 'ses', '{}', false, 'provider_5xx', now() - interval '1 minute')`,
      [randomUUID(), notificationId],
    )
    await operations().retry(order('step', notificationId))
    begin()
    await eventually(async () => {
      const { state } = await store.load(target)
      expect(state.status === 'queued' && Date.parse(state.nextAttemptAt)).toBeLessThanOrEqual(Date.now())
    })
  })
})
