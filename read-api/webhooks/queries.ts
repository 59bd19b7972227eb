import { attemptsOfRecord, type WebhookDeliveryView } from '../../contracts/webhooks/delivery.ts'
import type { WebhookSubscriptionView } from '../../contracts/webhooks/subscription.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import {
  webhookAttemptsTable,
  webhookDeliveriesProjector,
  webhookDeliveriesTable,
} from '../../projections/webhooks/webhook-deliveries.projector.ts'
import {
  webhookSubscriptionsProjector,
  webhookSubscriptionsTable,
} from '../../projections/webhooks/webhook-subscriptions.projector.ts'
import {
  childrenOf,
  computed,
  filtered,
  matching,
  membersOf,
  pageOf,
  rowsFrom,
  rowsOf,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewByIds,
  viewsOf,
  type Filters,
} from '../../engine/reads/tenant-rows.ts'

type Subscription = ViewOf<typeof webhookSubscriptionsTable>
type Delivery = ViewOf<typeof webhookDeliveriesTable>

const s = tableOf(webhookSubscriptionsProjector, webhookSubscriptionsTable, 's')
const d = tableOf(webhookDeliveriesProjector, webhookDeliveriesTable, 'd')
const a = tableOf(webhookDeliveriesProjector, webhookAttemptsTable, 'a')
const e = tableOf(webhookDeliveriesProjector, webhookAttemptsTable, 'e')

function subscriptionsOf(tenant: TenantId) {
  return rowsOfTenant(s, tenant)
}

export function viewOfSubscription(row: Subscription): WebhookSubscriptionView {
  const { publicKeyId: kid, publicKey: x } = row
  return { ...row, publicKey: kid === null || x === null ? null : { kid, x } }
}

const oldestFirst = sortOrder('asc', s.createdAt, s.subscriptionId)
export const { placeOf: placeOfSubscription } = oldestFirst

export async function listSubscriptions(pool: Pool, tenant: TenantId, page: PageRequest) {
  return pageOf(pool, oldestFirst, subscriptionsOf(tenant), page)
}

export const getSubscription = viewByIds((tenant: TenantId, id: string) =>
  subscriptionsOf(tenant).where(s.subscriptionId, id),
)

function deliveriesOf(tenant: TenantId, subscriptionId: string) {
  return rowsOfTenant(d, tenant).where(d.subscriptionId, subscriptionId)
}

/** The newest ended attempts, in the statement of their delivery, so that both are of the same moment. */
const attempts = () =>
  childrenOf(a, {
    on: { deliveryId: d.deliveryId },
    where: (rows) => rows.whereRaw('?? > (?) - ?', [a.attempt, lastEnded(), attemptsOfRecord]),
    select: { at: a.at, statusCode: a.statusCode, durationMs: a.durationMs, errorClass: a.errorClass },
    given: ['durationMs'],
    orderBy: [a.attempt],
  })

/** The number of the last attempt of a delivery with an outcome. */
function lastEnded() {
  return rowsOf(e, { attempt: computed<number>('max(??)', [e.attempt]) })
    .whereRaw(...matching(e, { deliveryId: d.deliveryId }))
    .whereRaw('?? is not null', [e.durationMs])
}

/** True before the first attempt or cancellation. The delivery waits for a worker, or until its endpoint's pause ends. */
function isUntouched({ streamRevision }: Pick<Delivery, 'streamRevision'>): boolean {
  return streamRevision === '-1'
}

/** @param firstDelayMs delay before the first attempt. It is configured, so no table filled from events contains it */
function viewOfDelivery(row: Delivery & Pick<WebhookDeliveryView, 'attempts'>, firstDelayMs: number) {
  const delayMs = isUntouched(row) ? firstDelayMs : 0
  return {
    ...row,
    nextAttemptAt: row.nextAttemptAt === null ? null : later(row.nextAttemptAt, delayMs),
    // Revision 0 of the stream is the same version of the record as this row.
    revision: isUntouched(row) ? 0n : BigInt(row.streamRevision),
  }
}

function later(instant: string, delayMs: number): string {
  return new Date(Date.parse(instant) + delayMs).toISOString()
}

const newestFirst = sortOrder('desc', d.createdAt, d.deliveryId)
export const { placeOf: placeOfDelivery } = newestFirst

export async function listDeliveries(
  pool: Pool,
  tenant: TenantId,
  subscriptionId: string,
  filters: Filters<typeof webhookDeliveriesTable>,
  { firstDelayMs, ...page }: PageRequest & { readonly firstDelayMs: number },
) {
  const deliveries = filtered(deliveriesOf(tenant, subscriptionId).select({ attempts: attempts() }), d, filters)
  const found = await pageOf(pool, newestFirst, deliveries, page)
  return { ...found, rows: found.rows.map((row) => viewOfDelivery(row, firstDelayMs)) }
}

const deliveryById = viewByIds((tenant: TenantId, subscriptionId: string, id: string) =>
  deliveriesOf(tenant, subscriptionId).where(d.deliveryId, id).select({ attempts: attempts() }),
)

export async function getDelivery(
  pool: Pool,
  tenant: TenantId,
  subscriptionId: string,
  id: string,
  firstDelayMs: number,
) {
  return viewOfDelivery(await deliveryById(pool, tenant, subscriptionId, id), firstDelayMs)
}

/**
 * A delivery of an event whose stream has not begun. Null if it has.
 *
 * @throws Problem `not-found`
 */
export async function getDueDelivery(
  pool: Pool,
  tenant: TenantId,
  subscriptionId: string,
  id: string,
  firstDelayMs: number,
) {
  const row = await deliveryById(pool, tenant, subscriptionId, id)
  const { eventId, eventType, assessmentId, createdAt } = row
  // The stream of a test delivery begins together with its row.
  if (!isUntouched(row) || eventType === 'webhook.test' || assessmentId === null) return null
  return { eventId, eventType, assessmentId, occurredAt: createdAt, dueAt: later(createdAt, firstDelayMs) }
}

export interface UndeliveredPeriod {
  /** RFC 3339, inclusive. */
  readonly since: string
  /** RFC 3339, exclusive. */
  readonly until: string
}

/** The failed and cancelled deliveries of events of the period, oldest first. */
export async function listUndelivered(
  pool: Pool,
  tenant: TenantId,
  subscriptionId: string,
  { since, until }: UndeliveredPeriod,
  limit: number,
) {
  const ofStatus = deliveriesOf(tenant, subscriptionId)
    .whereRaw('?? = ended.status', [d.status])
    .where(d.origin, 'event')
    .whereRaw('?? >= ? and ?? < ?', [d.createdAt, since, d.createdAt, until])
    .orderByRaw('??, ??', [d.createdAt, d.deliveryId])
    .limit(limit)
  const of = membersOf<Delivery>('found')
  const found = computed<Pick<Delivery, 'deliveryId' | 'eventId'>>(
    `unnest(array['failed', 'cancelled']) as ended(status) cross join lateral (?) as found`,
    [ofStatus],
  )
  const rows = rowsFrom(found, of('deliveryId'), of('eventId'))
  return viewsOf(pool, rows.orderByRaw('??, ??', [of('createdAt'), of('deliveryId')]).limit(limit))
}
