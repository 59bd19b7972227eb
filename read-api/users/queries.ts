import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest, PageRows } from '../../platform/http/cursors.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import { oauthClientsProjector, oauthClientsTable } from '../../projections/auth/oauth-clients.projector.ts'
import {
  membershipsTable,
  permissionsTable,
  productAccessTable,
  rolesTable,
  usersProjector,
  usersTable,
} from '../../projections/users/users.projector.ts'
import { opened, openedView, type Opened, type OpeningReads } from '../../engine/reads/opened.ts'
import {
  childrenOf,
  computed,
  matching,
  oneView,
  pageOf,
  rowsOf,
  rowsWithin,
  sortOrder,
  tableOf,
  viewsOf,
  type Rows,
} from '../../engine/reads/tenant-rows.ts'

const u = tableOf(usersProjector, usersTable, 'u')
const m = tableOf(usersProjector, membershipsTable, 'm')
const a = tableOf(usersProjector, productAccessTable, 'a')
const r = tableOf(usersProjector, rolesTable, 'r')
const p = tableOf(usersProjector, permissionsTable, 'p')

/** A membership that both streams have, with its role and products. */
export interface MembershipView {
  readonly membershipId: string
  readonly organisationId: string
  readonly roleId: string
  readonly roleName: string
  readonly permissions: readonly string[]
  readonly products: readonly string[]
  readonly createdAt: string
  /** Revision of the organisation's roles at the last change of anything shown here. */
  readonly rolesRevision: number
}

type MembershipRow = Omit<MembershipView, 'products'> & { readonly access: readonly { readonly productId: string }[] }
export type UserRow = ViewOf<typeof usersTable> & { readonly memberships: readonly MembershipRow[] }
type PresentStatus = 'active' | 'suspended' | 'deactivated'
export type UserView = Present<Opened<UserRow>>
type Present<Row> = Omit<Row, 'status' | 'memberships'> & {
  readonly status: PresentStatus
  readonly memberships: readonly MembershipView[]
}

/** Memberships that both streams have, of one organisation, or of all for null. */
function addedIn(tenant: TenantId | null, rows: Rows<object>) {
  return (tenant === null ? rows : rows.where(m.orgId, tenant)).where(m.isAdded, true)
}

function membershipsWithin(tenant: TenantId | null) {
  return addedIn(tenant, rowsOf(m)).whereRaw(...matching(m, { userId: u.userId }))
}

function membershipsSeenBy(tenant: TenantId | null) {
  return childrenOf(m, {
    on: { userId: u.userId },
    join: [r, { roleId: m.roleId, orgId: m.orgId }],
    where: (rows) => addedIn(tenant, rows),
    select: {
      membershipId: m.membershipId,
      organisationId: m.orgId,
      roleId: m.roleId,
      roleName: r.name,
      permissions: r.permissions,
      createdAt: m.createdAt,
      access: childrenOf(a, {
        on: { membershipId: m.membershipId, orgId: m.orgId },
        select: { productId: a.productId },
        orderBy: [a.productId],
      }),
      rolesRevision: computed<number>('greatest(??, ??)', [m.rolesRevision, r.streamRevision]),
    },
    orderBy: [m.createdAt, m.membershipId],
  })
}

/** An organisation sees its members, and that a former member was erased. Null sees every user. */
function usersWithin(tenant: TenantId | null): Rows<UserRow> {
  const rows = rowsOf(u).select({ memberships: membershipsSeenBy(tenant) })
  if (tenant === null) return rows
  const wasMember = `(?? = 'erased' and ?? @> to_jsonb(?::text))`
  return rows.whereRaw(`(exists (?) or ${wasMember})`, [membershipsWithin(tenant), u.status, u.formerOrgIds, tenant])
}

/** Throws Problem `user-erased`. */
function present<Row extends Pick<UserRow, 'status' | 'memberships'>>({
  status,
  memberships,
  ...row
}: Row): Present<Row> {
  if (status === 'erased') throw problem('user-erased')
  const withProducts = memberships.map(({ access, ...one }) => ({
    ...one,
    products: access.map(({ productId }) => productId),
  }))
  return { ...row, status, memberships: withProducts }
}

/** Throws Problem `not-found`, or `user-erased` for callers that could see the user before. */
export async function getUser({ pool, vault }: OpeningReads, tenant: TenantId | null, id: string): Promise<UserView> {
  return openedView(vault, await findUser(pool, tenant, id))
}

/** The same with the personal members sealed. */
export async function findUser(pool: Pool, tenant: TenantId | null, id: string): Promise<Present<UserRow>> {
  return present(await oneView(pool, usersWithin(tenant).where(u.userId, id)))
}

/** Several rows of users, by their ids. `presentUser` judges each. */
export async function findUsers(
  { pool, vault }: OpeningReads,
  tenant: TenantId | null,
  ids: readonly string[],
): Promise<Opened<UserRow>[]> {
  return opened(vault, await viewsOf(pool, usersWithin(tenant).whereRaw('?? = any(?::uuid[])', [u.userId, ids])))
}

/** Throws Problem `not-found`, or `user-erased`. */
export function presentUser(row: Opened<UserRow> | undefined): UserView {
  if (row === undefined) throw problem('not-found')
  return present(row)
}

/** Like `getUser`. `externalId` is the subject at the identity provider. */
export async function getUserByExternalId(
  { pool, vault }: OpeningReads,
  tenant: TenantId | null,
  externalId: string,
): Promise<UserView> {
  return openedView(vault, present(await oneView(pool, usersWithin(tenant).where(u.externalId, externalId))))
}

/**
 * The only active member of an organisation who is this clinical patient.
 * @throws Problem `not-found` if there is none, or more than one
 */
export async function getUserOfPatient(
  { pool, vault }: OpeningReads,
  tenant: TenantId,
  clinicalPatientId: string,
): Promise<UserView> {
  const rows = usersWithin(tenant).where(u.clinicalPatientId, clinicalPatientId).where(u.status, 'active').limit(2)
  const [user, second] = await viewsOf(pool, rows)
  if (user === undefined || second !== undefined) throw problem('not-found')
  return openedView(vault, present(user))
}

/**
 * All users, of any organisation and in any status, whose account names this clinical patient. Two organisations may have a
 * patient with one id. The stream of a user knows whose link it is, also after the end of a membership.
 */
export async function idsOfPatient(pool: Pool, clinicalPatientId: string): Promise<readonly string[]> {
  const rows = rowsOf(u, { userId: u.userId }).where(u.clinicalPatientId, clinicalPatientId)
  return (await viewsOf(pool, rows)).map(({ userId }) => userId)
}

export interface UserFilters {
  readonly userType?: UserView['userType'] | undefined
  readonly status?: UserView['status'] | undefined
  readonly roleId?: string | undefined
}

const oldestFirst = sortOrder('asc', u.createdAt, u.userId)
export const { placeOf: placeOfUser } = oldestFirst

export async function listUsers(
  { pool, vault }: OpeningReads,
  tenant: TenantId | null,
  { userType, status, roleId }: UserFilters,
  page: PageRequest,
): Promise<PageRows<UserView>> {
  const rows = usersWithin(tenant).whereRaw(`?? <> 'erased'`, [u.status])
  if (userType !== undefined) rows.where(u.userType, userType)
  if (status !== undefined) rows.where(u.status, status)
  if (roleId !== undefined) rows.whereRaw('exists (?)', [membershipsWithin(tenant).where(m.roleId, roleId)])
  const found = await pageOf(pool, oldestFirst, rows, page)
  return {
    ...found,
    rows: await opened(
      vault,
      found.rows.map((row) => present(row)),
    ),
  }
}

const rolesOldestFirst = sortOrder('asc', r.createdAt, r.roleId)
export const { placeOf: placeOfRole } = rolesOldestFirst

function rolesWithin(tenant: TenantId | null) {
  return rowsWithin(r, tenant)
}

export async function listRoles(pool: Pool, tenant: TenantId | null, page: PageRequest) {
  return pageOf(pool, rolesOldestFirst, rolesWithin(tenant), page)
}

export async function getRole(pool: Pool, tenant: TenantId | null, id: string) {
  return oneView(pool, rolesWithin(tenant).where(r.roleId, id))
}

const byText = sortOrder('asc', p.permission)
export const { placeOf: placeOfPermission } = byText

/** Permissions are the same for every organisation. */
export async function registeredPermissions(pool: Pool, serviceId: string | undefined, page: PageRequest) {
  const rows = rowsOf(p)
  if (serviceId !== undefined) rows.where(p.serviceId, serviceId)
  return pageOf(pool, byText, rows, page)
}

const c = tableOf(oauthClientsProjector, oauthClientsTable, 'c')

interface NamedCaller {
  readonly clientId: string | null
  readonly userId: string | null
}

/** The names of clients and users. Null for those that are gone, and for ids that are no UUID. */
export async function namesOf({ pool, vault }: OpeningReads, callers: readonly NamedCaller[]) {
  const idsOf = (ids: readonly (string | null)[]) => [
    ...new Set(ids.flatMap((id) => (id !== null && isUuid(id) ? [id] : []))),
  ]
  const [clients, users] = await Promise.all([
    viewsOf(
      pool,
      rowsOf(c, { id: c.clientId, name: c.name }).whereRaw('?? = any(?::uuid[])', [
        c.clientId,
        idsOf(callers.map(({ clientId }) => clientId)),
      ]),
    ),
    viewsOf(
      pool,
      rowsOf(u, { id: u.userId, name: u.displayName }).whereRaw('?? = any(?::uuid[])', [
        u.userId,
        idsOf(callers.map(({ userId }) => userId)),
      ]),
    ),
  ])
  const clientNames = new Map(clients.map(({ id, name }) => [id, name]))
  const userNames = new Map((await opened(vault, users)).map(({ id, name }) => [id, name]))
  return ({ clientId, userId }: NamedCaller) => ({
    client: clientNames.get(clientId ?? '') ?? null,
    user: userNames.get(userId ?? '') ?? null,
  })
}
