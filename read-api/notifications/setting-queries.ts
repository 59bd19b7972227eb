import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  notificationSettingsProjector,
  notificationSubscriptionsTable,
  preferencesTable,
  suppressionsTable,
} from '../../projections/notifications/notification-settings.projector.ts'
import { opened, openedView, type OpeningReads } from '../../engine/reads/opened.ts'
import {
  oneView,
  pageOf,
  rowsOf,
  rowsWithin,
  rowsWithPlatform,
  sortOrder,
  tableOf,
  viewsOf,
} from '../../engine/reads/tenant-rows.ts'
import { findUser } from '../users/queries.ts'

const n = tableOf(notificationSettingsProjector, notificationSubscriptionsTable, 'n')
const s = tableOf(notificationSettingsProjector, suppressionsTable, 's')
const p = tableOf(notificationSettingsProjector, preferencesTable, 'p')

const rulesOldestFirst = sortOrder('asc', n.createdAt, n.subscriptionId)
export const { placeOf: placeOfRule } = rulesOldestFirst
const suppressionsOldestFirst = sortOrder('asc', s.addedAt, s.suppressionId)
export const { placeOf: placeOfSuppression } = suppressionsOldestFirst

export interface SettingFilters {
  /** Leaves out the rows of the platform. */
  readonly isOwnOnly: boolean
}

/** Null: the rows of every organisation and of the platform. */
export async function listNotificationSubscriptions(
  pool: Pool,
  tenant: TenantId | null,
  { isOwnOnly, eventType }: SettingFilters & { readonly eventType?: string | undefined },
  page: PageRequest,
) {
  const within = isOwnOnly ? rowsWithin : rowsWithPlatform
  const rows = within(n, tenant)
  if (eventType !== undefined) rows.where(n.eventType, eventType)
  return pageOf(pool, rulesOldestFirst, rows, page)
}

export async function getNotificationSubscription(pool: Pool, tenant: TenantId | null, id: string) {
  const rows = rowsWithPlatform(n, tenant)
  return oneView(pool, rows.where(n.subscriptionId, id))
}

/** The number of rules of an organisation, or (null) of the platform, up to a limit. */
export async function countRules(pool: Pool, orgId: TenantId | null, limit: number): Promise<number> {
  const rows = rowsOf(n, { subscriptionId: n.subscriptionId })
  if (orgId === null) rows.whereRaw('?? is null', [n.orgId])
  else rows.where(n.orgId, orgId)
  return (await viewsOf(pool, rows.limit(limit))).length
}

/** Null: the rows of every organisation and of the platform. */
export async function listSuppressions(
  { pool, vault }: OpeningReads,
  tenant: TenantId | null,
  { isOwnOnly }: SettingFilters,
  page: PageRequest,
) {
  const within = isOwnOnly ? rowsWithin : rowsWithPlatform
  const found = await pageOf(pool, suppressionsOldestFirst, within(s, tenant), page)
  return { ...found, rows: await opened(vault, found.rows) }
}

export async function getSuppression({ pool, vault }: OpeningReads, tenant: TenantId | null, id: string) {
  const rows = rowsWithPlatform(s, tenant)
  return openedView(vault, await oneView(pool, rows.where(s.suppressionId, id)))
}

/**
 * What a member of the organisation has set. Throws Problem `not-found` for a user that is no member, or `user-erased`.
 */
export async function getPreferences(pool: Pool, tenant: TenantId, userId: string) {
  await findUser(pool, tenant, userId)
  return viewsOf(pool, rowsOf(p).where(p.userId, userId))
}
