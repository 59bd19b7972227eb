import type { AttemptValues, MatchedRuleValues } from '../../contracts/notifications/record.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  eventInboxTable,
  notificationsProjector,
  notificationsTable,
} from '../../projections/notifications/notifications.projector.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import {
  columnsOf,
  computed,
  rowsOfTenant,
  sortOrder,
  viewByIds,
  pageOf,
  viewsOf,
  type Rows,
} from '../../engine/reads/tenant-rows.ts'

type Notification = ViewOf<typeof notificationsTable>

const n = columnsOf(notificationsTable, 'n')
const e = columnsOf(eventInboxTable, 'e')

function notificationsOf(tenant: TenantId) {
  return rowsOfTenant(notificationsProjector, notificationsTable, 'n', tenant)
}

/** Reads the attempts in the statement of their notification, so that both are of the same moment. */
const attemptsMade = computed<readonly AttemptValues[]>(
  `(select coalesce(jsonb_agg(jsonb_build_object(
       'attemptId', a.attempt_id, 'notificationId', a.notification_id, 'attemptNumber', a.attempt_number,
       'providerName', a.provider_name, 'request', a.request, 'response', a.response, 'success', a.success,
       'errorCode', a.error_code, 'latencyMs', a.latency_ms, 'createdAt', a.created_at)
       order by a.attempt_number), '[]')
    from notifications.delivery_attempts a where a.notification_id = ?? and a.success is not null)`,
  [n.notificationId],
)

const notificationById = viewByIds((tenant: TenantId, id: string) =>
  notificationsOf(tenant).where(n.notificationId, id).select({ attemptsMade }),
)

/** With its attempts that have ended. */
export async function getNotification(pool: Pool, tenant: TenantId, id: string) {
  const view = await notificationById(pool, tenant, id)
  const inUtc = view.attemptsMade.map((made) => ({ ...made, createdAt: new Date(made.createdAt).toISOString() }))
  return { ...view, attemptsMade: inUtc }
}

export interface NotificationFilters {
  /** HMAC of the recipient. */
  readonly recipientKey?: string | undefined
  readonly status?: Notification['status'] | undefined
  /** RFC 3339, inclusive. */
  readonly from?: string | undefined
  /** RFC 3339, exclusive. */
  readonly to?: string | undefined
}

const newestFirst = sortOrder('desc', n.createdAt, n.notificationId)
export const { placeOf: placeOfNotification } = newestFirst

export async function listNotifications(
  pool: Pool,
  tenant: TenantId,
  { recipientKey, status, from, to }: NotificationFilters,
  page: PageRequest,
) {
  const rows = notificationsOf(tenant)
  if (recipientKey !== undefined) rows.where(n.recipientKey, recipientKey)
  if (status !== undefined) rows.where(n.status, status)
  // Postgres takes offsets below 16 hours only.
  if (from !== undefined) rows.whereRaw('?? >= ?', [n.createdAt, new Date(from).toISOString()])
  if (to !== undefined) rows.whereRaw('?? < ?', [n.createdAt, new Date(to).toISOString()])
  return pageOf(pool, newestFirst, rows, page)
}

/** A failed notification has a code and an instant. */
type Failed = Notification & { readonly errorCode: NonNullable<Notification['errorCode']>; readonly failedAt: string }

function isFailed(view: Notification): view is Failed {
  return view.errorCode !== null && view.failedAt !== null
}

function failuresOf(tenant: TenantId, since: string) {
  return notificationsOf(tenant).where(n.status, 'failed').whereRaw('?? >= ?', [n.failedAt, since])
}

const lastFailedFirst = sortOrder('desc', n.failedAt, n.notificationId)
export const { placeOf: placeOfFailure } = lastFailedFirst

/** @param since RFC 3339. Retention is this filter: nothing is deleted */
export async function listFailures(pool: Pool, tenant: TenantId, since: string, page: PageRequest) {
  const found = await pageOf(pool, lastFailedFirst, failuresOf(tenant, since), page)
  return { ...found, rows: found.rows.filter(isFailed) }
}

export interface FailureClass {
  readonly errorCode: Failed['errorCode']
  /** RFC 3339, inclusive. */
  readonly since: string
}

/** The failed notifications of a class, oldest failure first, each with the number of all. */
export async function listFailuresOfClass(
  pool: Pool,
  tenant: TenantId,
  { errorCode, since }: FailureClass,
  limit: number,
) {
  const rows = failuresOf(tenant, since).where(n.errorCode, errorCode)
  return withTotal(pool, rows.orderByRaw('??, ??', [n.failedAt, n.notificationId]).limit(limit))
}

export interface StuckBefore {
  /** Queued notifications that were due before this instant are stuck. */
  readonly dueBefore: Date
  /** Attempts whose lease ended before this instant were cut off. */
  readonly now: Date
}

/** The stuck notifications, oldest first, each with the number of all. */
export async function listStuck(pool: Pool, tenant: TenantId, { dueBefore, now }: StuckBefore, limit: number) {
  const rows = notificationsOf(tenant).whereRaw(`((?? = 'queued' and ?? <= ?) or (?? = 'sending' and ?? <= ?))`, [
    n.status,
    n.nextAttemptAt,
    dueBefore,
    n.status,
    n.leaseUntil,
    now,
  ])
  return withTotal(pool, rows.orderByRaw('??, ??', [n.createdAt, n.notificationId]).limit(limit))
}

async function withTotal(pool: Pool, rows: Rows<Notification>) {
  const views = await viewsOf(pool, rows.select({ total: computed<string>('count(*) over ()') }))
  return views.map(({ notificationId, total }) => ({ notificationId, total: Number(total) }))
}

const lastReceivedFirst = sortOrder('desc', e.receivedAt, e.eventId)
export const { placeOf: placeOfInboxEntry } = lastReceivedFirst

const matched = computed<readonly MatchedRuleValues[]>(
  `(select jsonb_agg(jsonb_build_object('subscriptionId', m.subscription_id, 'notificationId', m.notification_id,
       'discardReason', m.discard_reason) order by m.subscription_id)
    from notifications.matched_rules m where m.event_id = ?? and m.org_id = ??)`,
  [e.eventId, e.orgId],
)

/** Events that rules of the organisation, or of the platform, matched. */
export async function listInboxEntries(
  pool: Pool,
  tenant: TenantId,
  { eventId }: { readonly eventId?: string | undefined },
  page: PageRequest,
) {
  const rows = rowsOfTenant(notificationsProjector, eventInboxTable, 'e', tenant).select({ matched })
  if (eventId !== undefined) rows.where(e.eventId, eventId)
  return pageOf(pool, lastReceivedFirst, rows, page)
}
