import type { PersonalCategory } from '../../platform/kit/personal-content.ts'
import type { PageRequest, PageRows } from '../../platform/http/cursors.ts'
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
} from '../../engine/reads/tenant-rows.ts'

const a = tableOf(accessLogProjector, accessesTable, 'a')
const p = tableOf(accessLogProjector, accessPersonsTable, 'p')

type AccessView = ViewOf<typeof accessesTable>

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
  { category, ...asked }: AccessFilters,
  page: PageRequest,
) {
  const order = asked.patientId === undefined ? newestFirst : newestOfPersonFirst
  const read = (place: PageRequest) => pageOf(deps.pool, order, rowsAsked(tenant, asked), place)
  return openedPage(deps, category === undefined ? await read(page) : await ofCategory(read, category, page))
}

function rowsAsked(
  tenant: TenantId,
  { patientId, user, clientId, from, to, since }: Omit<AccessFilters, 'category'>,
): Rows<AccessView> {
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
  // Postgres takes offsets below 16 hours only.
  if (from !== undefined) rows.whereRaw('?? >= ?', [at, new Date(from).toISOString()])
  if (to !== undefined) rows.whereRaw('?? < ?', [at, new Date(to).toISOString()])
  return rows
}

/** Accesses at which one page looks for those of a category, and how many are read at a time. */
const mostLooked = 5_000
const lookedAtOnce = 1_000

/** No index has the categories. A client may have millions of accesses, and few or none of this one. */
async function ofCategory(
  read: (page: PageRequest) => Promise<PageRows<AccessView>>,
  category: PersonalCategory,
  { after, limit }: PageRequest,
): Promise<PageRows<AccessView>> {
  const found: AccessView[] = []
  let reached = after
  for (let looked = 0; looked < mostLooked;) {
    const { rows, hasMore } = await read({ after: reached, limit: lookedAtOnce })
    for (const row of rows) {
      if (!row.categories.includes(category)) continue
      // It begins the next page.
      if (found.length === limit) return { rows: found, hasMore: true }
      found.push(row)
    }
    looked += rows.length
    const last = rows.at(-1)
    if (!hasMore || last === undefined) return { rows: found, hasMore: false }
    reached = placeOfAccess(last)
  }
  return { rows: found, hasMore: true, reached: reached ?? undefined }
}

/** A mail was shown to its recipient. */
async function openedPage({ vault }: OpeningReads, found: PageRows<AccessView>) {
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
  return openedPage(deps, await pageOf(deps.pool, newestOfPersonFirst, rows, page))
}
