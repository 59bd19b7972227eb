import type { PersonalCategory } from '../../platform/kit/personal-content.ts'
import type { PageRequest } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { accessesTable, accessLogProjector, accessPersonsTable } from '../../projections/audit/access-log.projector.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import { opened, type OpeningReads } from '../../engine/reads/opened.ts'
import {
  columnsOf,
  on,
  pageOf,
  rowsOf,
  rowsOfTenant,
  sortOrder,
  tableOf,
  type Rows,
  type SortOrder,
} from '../../engine/reads/tenant-rows.ts'

const a = tableOf(accessLogProjector, accessesTable, 'a')
const p = tableOf(accessLogProjector, accessPersonsTable, 'p')

const newestFirst = sortOrder('desc', a.at, a.accessId)
const newestOfPersonFirst = sortOrder('desc', p.at, p.accessId)
export const { placeOf: placeOfAccess } = newestFirst

export interface AccessFilters {
  readonly patientId?: string | undefined
  readonly user?: { readonly id: string; readonly recipientKey: string } | undefined
  readonly clientId?: string | undefined
  readonly category?: PersonalCategory | undefined
  /** RFC 3339, inclusive. */
  readonly from?: string | undefined
  /** RFC 3339, exclusive. */
  readonly to?: string | undefined
  /** The end of the retention: nothing older is shown. */
  readonly since: string
}

/** Who saw content of a patient, or what a client or a user saw, newest first. */
export async function listAccesses(
  deps: OpeningReads,
  tenant: TenantId,
  { patientId, user, clientId, category, from, to, since }: AccessFilters,
  page: PageRequest,
) {
  const rows =
    patientId === undefined
      ? rowsOfTenant(a, tenant)
      : rowsOf(p, columnsOf(a))
          .join(...on(a, { accessId: p.accessId }))
          .where(p.orgId, tenant)
          .where(p.personId, patientId)
  const at = patientId === undefined ? a.at : p.at
  rows.whereRaw('?? >= ?', [at, since])
  if (user !== undefined) rows.whereRaw('(?? = ? or ?? = ?)', [a.userId, user.id, a.recipientKey, user.recipientKey])
  if (clientId !== undefined) rows.where(a.clientId, clientId)
  if (category !== undefined) rows.whereRaw('?? @> to_jsonb(?::text)', [a.categories, category])
  // Postgres takes offsets below 16 hours only.
  if (from !== undefined) rows.whereRaw('?? >= ?', [at, new Date(from).toISOString()])
  if (to !== undefined) rows.whereRaw('?? < ?', [at, new Date(to).toISOString()])
  return openedPage(deps, patientId === undefined ? newestFirst : newestOfPersonFirst, rows, page)
}

/** A mail was shown to its recipient. */
async function openedPage<Member extends string>(
  { pool, vault }: OpeningReads,
  order: SortOrder<Member>,
  rows: Rows<ViewOf<typeof accessesTable>>,
  page: PageRequest,
) {
  const found = await pageOf(pool, order, rows, page)
  const accesses = await opened(vault, found.rows)
  return { ...found, rows: accesses.map((one) => ({ ...one, userId: one.userId ?? one.recipientRef })) }
}

export interface OwnPersons {
  readonly userId: string
  /** The patient of the patient account. */
  readonly patientId: string | null
  readonly since: string
}

/** Who saw content of a person, as patient or as user, newest first. */
export async function listOwnAccesses(
  deps: OpeningReads,
  tenant: TenantId,
  { userId, patientId, since }: OwnPersons,
  page: PageRequest,
) {
  const rows = rowsOf(p, columnsOf(a))
    .join(...on(a, { accessId: p.accessId }))
    .where(p.orgId, tenant)
    .whereRaw('?? >= ?', [p.at, since])
  if (patientId === null) rows.where(p.personId, userId)
  // An access to the contact of a patient is about both.
  else
    rows.whereRaw('(?? = ? or (?? = ? and not ?? @> to_jsonb(?::text)))', [
      p.personId,
      patientId,
      p.personId,
      userId,
      a.patientIds,
      patientId,
    ])
  return openedPage(deps, newestOfPersonFirst, rows, page)
}
