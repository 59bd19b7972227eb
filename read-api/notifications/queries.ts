import { attemptsOfRecord } from '../../contracts/notifications/record.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  deliveryAttemptsTable,
  eventInboxTable,
  matchedRulesTable,
  notificationsProjector,
  notificationsTable,
} from '../../projections/notifications/notifications.projector.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import { opened, openedView, type Opened, type OpeningReads } from '../../engine/reads/opened.ts'
import {
  childrenOf,
  columnsOf,
  computed,
  pageOf,
  rowsOfTenant,
  sortOrder,
  tableOf,
  viewByIds,
  viewsOf,
  type Rows,
} from '../../engine/reads/tenant-rows.ts'

type Notification = ViewOf<typeof notificationsTable>

const n = tableOf(notificationsProjector, notificationsTable, 'n')
const a = tableOf(notificationsProjector, deliveryAttemptsTable, 'a')
const e = tableOf(notificationsProjector, eventInboxTable, 'e')
const m = tableOf(notificationsProjector, matchedRulesTable, 'm')

function notificationsOf(tenant: TenantId) {
  return rowsOfTenant(n, tenant)
}

/** Reads the newest attempts in the statement of their notification, so that both are of the same moment. */
const attemptsMade = () =>
  childrenOf(a, {
    on: { notificationId: n.notificationId },
    where: (rows) => rows.whereRaw('?? > ?? - ?', [a.attemptNumber, n.attempts, attemptsOfRecord]),
    select: columnsOf(a),
    given: ['success', 'latencyMs'],
    orderBy: [a.attemptNumber],
  })

/** With its newest attempts that have ended. */
export async function getNotification({ pool, vault }: OpeningReads, tenant: TenantId, id: string) {
  const notification = await openedView(vault, await notificationRow(pool, tenant, id))
  return { ...notification, ...maskedIn(notification) }
}

const notificationRow = viewByIds((tenant: TenantId, id: string) =>
  notificationsOf(tenant).where(n.notificationId, id).select({ attemptsMade: attemptsMade() }),
)

/** No answer shows an address in full. */
function maskedIn({ recipientRef, resolvedAddress }: Pick<Opened<Notification>, 'recipientRef' | 'resolvedAddress'>) {
  return { recipientRef: masked(recipientRef), resolvedAddress: masked(resolvedAddress) }
}

/** The first character and the domain of an e-mail address. User ids and chat channels stay as they are. */
function masked(address: string | null): string | null {
  const at = address?.lastIndexOf('@') ?? -1
  if (address === null || at < 1) return address
  const [first = ''] = address
  return `${first}***${address.slice(at)}`
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
  { pool, vault }: OpeningReads,
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
  const found = await pageOf(pool, newestFirst, rows, page)
  const notifications = await opened(vault, found.rows)
  return { ...found, rows: notifications.map((one) => ({ ...one, ...maskedIn(one) })) }
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
  /** Patients whose erasure has begun. Failures about them are never sent again, so they must not fill the limit. */
  readonly erased: readonly string[]
}

/** The failed notifications of a class, oldest failure first, each with the number of all. */
export async function listFailuresOfClass(
  pool: Pool,
  tenant: TenantId,
  { errorCode, since, erased }: FailureClass,
  limit: number,
) {
  const rows = failuresOf(tenant, since).where(n.errorCode, errorCode)
  if (erased.length > 0) rows.whereRaw('(?? = any(?)) is not true', [n.patientId, erased])
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

const matched = () =>
  childrenOf(m, {
    on: { eventId: e.eventId, orgId: e.orgId },
    select: { subscriptionId: m.subscriptionId, notificationId: m.notificationId, discardReason: m.discardReason },
    orderBy: [m.subscriptionId],
  })

/** Events that rules of the organisation, or of the platform, matched. */
export async function listInboxEntries(
  pool: Pool,
  tenant: TenantId,
  { eventId }: { readonly eventId?: string | undefined },
  page: PageRequest,
) {
  const rows = rowsOfTenant(e, tenant).select({ matched: matched() })
  if (eventId !== undefined) rows.where(e.eventId, eventId)
  return pageOf(pool, lastReceivedFirst, rows, page)
}
