import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  notificationTemplatesProjector,
  notificationTemplatesTable,
} from '../../projections/notifications/notification-templates.projector.ts'
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

const t = tableOf(notificationTemplatesProjector, notificationTemplatesTable, 't')

/** Most templates of a code that one answer lists. */
const mostVariants = 500

/** The organisation's own templates and the defaults of all; without an organisation, only the latter. */
const isVisible = '(?? = ? or ?? is null)'

export interface TemplateFilters {
  readonly channel?: string | undefined
  readonly category?: string | undefined
  /** Leaves out the defaults of the platform. */
  readonly isOwnOnly: boolean
}

const byCode = sortOrder('asc', t.code, t.templateId)
export const { placeOf: placeOfTemplate } = byCode

/** A platform caller that names no organisation sees those of all. */
export async function listTemplates(
  pool: Pool,
  tenant: TenantId | null,
  { channel, category, isOwnOnly }: TemplateFilters,
  page: PageRequest,
) {
  const within = isOwnOnly ? rowsWithin : rowsWithPlatform
  const rows = within(t, tenant)
  if (channel !== undefined) rows.whereRaw('?? = ?', [t.channel, channel])
  if (category !== undefined) rows.whereRaw('?? = ?', [t.category, category])
  return pageOf(pool, byCode, rows, page)
}

/** The templates of a code, without their texts, the newest first. */
export async function listTemplateVariants(pool: Pool, tenant: TenantId | null, code: string) {
  const { templateId, channel, locale, version, source, orgId, updatedAt, streamRevision } = t
  const selected = { templateId, code: t.code, channel, locale, version, source, orgId, updatedAt, streamRevision }
  const rows = rowsOf(t, selected).where(t.code, code).whereRaw(isVisible, [t.orgId, tenant, t.orgId])
  return viewsOf(pool, rows.orderByRaw('?? desc, ??', [t.updatedAt, t.templateId]).limit(mostVariants))
}

export type TemplateVariantView = Awaited<ReturnType<typeof listTemplateVariants>>[number]

/** @throws Problem `not-found` */
export async function getTemplate(pool: Pool, tenant: TenantId | null, templateId: string) {
  const rows = rowsOf(t).where(t.templateId, templateId)
  return oneView(pool, rows.whereRaw(isVisible, [t.orgId, tenant, t.orgId]))
}
