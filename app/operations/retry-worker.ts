import { createHash } from 'node:crypto'
import { v7 } from 'uuid'
import { bringNotificationForward, retryNotification } from '../../commands/notifications/requeue-notification.ts'
import { bringDeliveryForward } from '../../commands/webhooks/bring-delivery-forward.ts'
import { redeliver } from '../../commands/webhooks/redeliver.ts'
import { execute } from '../../engine/commands/execute.ts'
import { notifyOfLists } from '../../engine/processes/wake-ups.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { processes } from '../../processes/registry.ts'
import { readSubscription } from '../../processes/webhooks/subscription-reader.ts'
import { operatorActionsProjector } from '../../projections/operations/operator-actions.projector.ts'
import { notificationsProjector } from '../../projections/notifications/notifications.projector.ts'
import { webhookDeliveriesProjector } from '../../projections/webhooks/webhook-deliveries.projector.ts'
import { notifications } from '../../streams/notification/aggregate.ts'
import type { FailureOfWork, OperatorActor } from '../../streams/operations/events.ts'
import { webhookDeliveries } from '../../streams/webhook-delivery/aggregate.ts'
import { translateStageError } from '../stage-errors.ts'
import { filledLists } from './filled-lists.ts'
import { repeat, type Repeating } from './repeating.ts'
import { lockedRetry, takeWork } from './retries.ts'
import { workRelation, type WorkSource } from './work-relation.ts'

/** In milliseconds. */
const turnEveryMs = 1_000
/** A turn with more work goes on at once. */
const itemsOfTurn = 200
/** A request whose process died is looked for so long, and as seldom. */
const lostForMinutes = 10
const lookEveryTurns = 10
const keptHours = 24

interface RetryWorkerOptions extends WorkSource {
  readonly store: EventStore
  readonly now: () => Date
  readonly logger: Logger
  /** Wakes the workers of this process. */
  readonly wake: () => void
  readonly everyMs?: number
}

/** Carries requested retries out, and counts their outcomes. Each processor does. */
export function workOffRetries({ everyMs = turnEveryMs, logger, ...options }: RetryWorkerOptions): Repeating {
  const { pool } = options
  let turn = 0
  const work = async (signal: AbortSignal): Promise<void> => {
    if (turn % lookEveryTurns === 0) await takeLostRetries(options)
    turn += 1
    const { rows } = await pool.query<{ is_running: boolean }>(
      'select exists (select from runtime.retries where ended_at is null) as is_running',
    )
    if (rows[0]?.is_running !== true) return
    while (!signal.aborted && (await beginRetries(options)) === itemsOfTurn);
    await recordOutcomes(options)
  }
  return repeat({ everyMs, work, logger, component: 'retries' })
}

interface LostRow {
  readonly action_id: string
  readonly action: string
  readonly subject_id: string
  readonly actor_kind: OperatorActor['kind']
  readonly actor_id: string | null
  readonly reason: string | null
  readonly at: Date
  readonly failure: FailureOfWork
  readonly retried_org_id: string | null
}

/** Takes the work of requests that were recorded, and whose process died before it took the work. */
export async function takeLostRetries(source: WorkSource): Promise<void> {
  const { pool } = source
  if (!(await filledLists(pool))(operatorActionsProjector)) return
  const { rows } = await pool.query<LostRow>(
    `select * from operator_actions.actions a where at > now() - make_interval(mins => ${lostForMinutes}) and failure is not null
       and not exists (select from runtime.retries r where r.id = a.action_id) limit 100`,
  )
  if (rows.length === 0) return
  const relation = await workRelation(source)
  for (const row of rows) {
    const { action_id: id, subject_id: subjectId, reason, at: requestedAt, retried_org_id: org } = row
    const target = { kind: row.action === 'step.retry' ? 'step' : 'group', id: subjectId } as const
    const actor = { kind: row.actor_kind, id: row.actor_id }
    const orgId = org === null ? null : tenantOfFact(org)
    await inTransaction(pool, async (client) => {
      if ((await lockedRetry(client, { target, id, orgId })) !== undefined) return
      await takeWork(client, relation, row.failure, { id, target, orgId, actor, reason, requestedAt })
    })
  }
}

interface Item {
  readonly retry_id: string
  readonly process: string
  readonly key: string
  readonly step: string
  readonly kind: string
  readonly work_id: string
  readonly org_id: string | null
}

/**
 * Makes the next try of some items due now. A claim whose lease runs is left alone: the outcome of its try counts. Work
 * that records its attempts has the time of its next try in its stream. Returns the number of items.
 */
async function beginRetries({ pool, store, now, wake }: Omit<RetryWorkerOptions, 'logger'>): Promise<number> {
  const begun = await inTransaction(pool, async (client) => {
    const { rows } = await client.query<Item>(
      `select w.* from runtime.retried_work w join runtime.retries r on r.id = w.retry_id
       where r.ended_at is null and not w.is_begun order by r.requested_at, w.process, w.key, w.step
       limit ${itemsOfTurn} for update of w skip locked`,
    )
    const unreadable: boolean[] = []
    for (const item of rows) unreadable.push(item.kind !== 'step' && !(await isBroughtForward(store, now, item)))
    const names = ['retry_id', 'process', 'key', 'step'] as const
    const values = [...names.map((name) => rows.map((row) => row[name])), unreadable]
    await client.query(
      `with items as (
         select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::boolean[]) as i (retry_id, process, key, step, is_unreadable)
       ),
       due as (
         update runtime.claims c set not_before = '-infinity' from items i
         where c.process = i.process and c.key = i.key and c.step = i.step and c.lease_until <= now()
       )
       update runtime.retried_work w set is_begun = true, outcome = case when i.is_unreadable then 'failed' end from items i
       where w.retry_id = i.retry_id and w.process = i.process and w.key = i.key and w.step = i.step`,
      values,
    )
    return rows
  })
  if (begun.length > 0) {
    const named = new Set(begun.map(({ process }) => process))
    await notifyOfLists(
      pool,
      processes.filter(({ name }) => named.has(name)).map(({ list }) => list.name),
    )
    wake()
  }
  return begun.length
}

/** The record has lost something, or a later program wrote it, as before an operator went back to this one. */
const unreadableCodes: ReadonlySet<string | undefined> = new Set(['record-unreadable', 'written-by-newer-version'])

/** False if this program cannot read the record. It must not hold up the other items, and another try cannot help. */
async function isBroughtForward(...given: Parameters<typeof bringForward>): Promise<boolean> {
  try {
    await bringForward(...given)
    return true
  } catch (error) {
    if (unreadableCodes.has(translateStageError(error)?.code)) return false
    throw error
  }
}

/** A repeat changes nothing: the record remembers the retry that began another round. */
async function bringForward(
  store: EventStore,
  now: () => Date,
  { retry_id: retryId, kind, key, work_id, org_id }: Item,
): Promise<void> {
  if (org_id === null) return
  const orgId = tenantOfFact(org_id)
  const context = { commandId: v7(), correlationId: retryId, causationId: retryId, orgId, process: 'operations' }
  if (kind === 'delivery') {
    const delivery = webhookDeliveries.of(orgId, work_id)
    if ((await store.load(delivery)).state.status !== 'failed') {
      await execute(store, delivery, (state) => bringDeliveryForward({ now: now() }, state), context)
      return
    }
    const [subscriptionId = ''] = key.split('.')
    const subscription = await readSubscription({ store }, orgId, subscriptionId)
    if (subscription?.status !== 'active') return
    const { endpointRevision, disabledRevision } = subscription
    const revisions = { isActive: true, endpointRevision, disabledRevision }
    const again = { subscriptionId, due: null, ...revisions, recoveryId: retryId, request: null, now: now() }
    await execute(store, delivery, (state) => redeliver(again, state), context)
  }
  if (kind === 'notification') {
    const hash = createHash('sha256').update(retryId).digest('hex')
    const again = { request: { key: hash, fingerprint: hash }, now: now() }
    await execute(
      store,
      notifications.of(orgId, work_id),
      (state) =>
        state.status === 'failed' ? retryNotification(again, state) : bringNotificationForward({ now: now() }, state),
      context,
    )
  }
}

/**
 * An item is done when its try succeeded, or when it is gone. A record that ended as failed has failed again, and so has a
 * delivery that is not sent because its subscription was disabled or deleted. While a read model has not seen the end of a
 * record, the item waits.
 */
export async function recordOutcomes(source: WorkSource): Promise<void> {
  const { pool } = source
  const isFilled = await filledLists(pool)
  const filled = processes.filter(({ list }) => isFilled(list)).map(({ name }) => name)
  const ends = [
    isFilled(webhookDeliveriesProjector)
      ? `when w.kind = 'delivery' then (select d.status from webhook_deliveries.deliveries d where d.delivery_id = w.work_id)`
      : '',
    isFilled(notificationsProjector)
      ? `when w.kind = 'notification' then (select n.status from notifications.notifications n where n.notification_id = w.work_id)`
      : '',
  ].join(' ')
  await pool.query(
    `with seen as (
       select w.retry_id, w.process, w.key, w.step, case
         when i.key is null then case case when w.kind = 'step' then 'done' ${ends} else 'pending' end
           when 'failed' then 'failed' when 'cancelled' then 'failed' when 'pending' then null when 'queued' then null when 'sending' then null else 'done' end
         when i.error_class is null then case when i.is_ended then 'failed' else 'done' end
         when i.last_failed_at > w.failed_at then 'failed' end as outcome
       from runtime.retried_work w join runtime.retries r on r.id = w.retry_id and r.ended_at is null
       left join (${await workRelation(source)}) i on i.process = w.process and i.key = w.key and i.step = w.step
       where w.is_begun and w.outcome is null and w.process = any($1)
     )
     update runtime.retried_work w set outcome = s.outcome from seen s
     where s.outcome is not null and w.retry_id = s.retry_id and w.process = s.process and w.key = s.key and w.step = s.step`,
    [filled],
  )
  await pool.query(
    `update runtime.retries r set ended_at = clock_timestamp() where ended_at is null
       and not exists (select from runtime.retried_work w where w.retry_id = r.id and w.outcome is null)`,
  )
  await pool.query(`delete from runtime.retries where ended_at < now() - make_interval(hours => ${keptHours})`)
}
