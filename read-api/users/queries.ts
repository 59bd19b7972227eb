import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest, PageRows } from '../../platform/http/cursors.ts'
import { problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import { permissionsTable, rolesTable, usersProjector, usersTable } from '../../projections/users/users.projector.ts'
import {
  columnsOf,
  computed,
  oneView,
  rowsOf,
  rowsWithin,
  sortOrder,
  tableOf,
  pageOf,
  viewsOf,
  type Rows,
} from '../../engine/reads/tenant-rows.ts'

const u = columnsOf(usersTable, 'u')
const r = columnsOf(rolesTable, 'r')
const p = columnsOf(permissionsTable, 'p')

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

export type UserRow = ViewOf<typeof usersTable> & { readonly memberships: readonly MembershipView[] }
export type UserView = Omit<UserRow, 'status'> & { readonly status: 'active' | 'suspended' | 'deactivated' }

/** Of one organisation, or of all for null. Read in the statement that reads the user, so that all is of one moment. */
function membershipsWithin(tenant: TenantId | null) {
  return computed<MembershipView[]>(
    `(select coalesce(jsonb_agg(jsonb_build_object('membershipId', m.membership_id, 'organisationId', m.org_id,
         'roleId', m.role_id, 'roleName', o.name, 'permissions', o.permissions, 'createdAt', m.created_at,
         'products', (select coalesce(jsonb_agg(a.product_id order by a.product_id), '[]')
           from users.user_product_access a where a.membership_id = m.membership_id and a.org_id = m.org_id),
         'rolesRevision', greatest(m.roles_revision, o.stream_revision)) order by m.created_at, m.membership_id), '[]')
      from users.user_memberships m join users.user_roles o on o.role_id = m.role_id and o.org_id = m.org_id
      where m.user_id = ?? and m.is_added and (?::uuid is null or m.org_id = ?::uuid))`,
    [u.userId, tenant, tenant],
  )
}

const isMember =
  'exists (select 1 from users.user_memberships m where m.user_id = ?? and m.org_id = ?::uuid and m.is_added)'

/** An organisation sees its members, and that a former member was erased. Null sees every user. */
function usersWithin(tenant: TenantId | null): Rows<UserRow> {
  const rows = rowsOf(tableOf(usersProjector, usersTable, 'u'), u).select({ memberships: membershipsWithin(tenant) })
  if (tenant === null) return rows
  const wasMember = `(?? = 'erased' and ?? @> to_jsonb(?::text))`
  return rows.whereRaw(`(${isMember} or ${wasMember})`, [u.userId, tenant, u.status, u.formerOrgIds, tenant])
}

/** Throws Problem `user-erased`. */
function present({ status, memberships, ...row }: UserRow): UserView {
  if (status === 'erased') throw problem('user-erased')
  // Postgres writes instants in JSON in a form of its own.
  const readable = memberships.map((one) => ({ ...one, createdAt: new Date(one.createdAt).toISOString() }))
  return { ...row, status, memberships: readable }
}

/** Throws Problem `not-found`, or `user-erased` for callers that could see the user before. */
export async function getUser(pool: Pool, tenant: TenantId | null, id: string): Promise<UserView> {
  return present(await oneView(pool, usersWithin(tenant).where(u.userId, id)))
}

/** Several rows of users, by their ids. `presentUser` judges each. */
export async function findUsers(pool: Pool, tenant: TenantId | null, ids: readonly string[]): Promise<UserRow[]> {
  return viewsOf(pool, usersWithin(tenant).whereRaw('?? = any(?::uuid[])', [u.userId, ids]))
}

/** Throws Problem `not-found`, or `user-erased`. */
export function presentUser(row: UserRow | undefined): UserView {
  if (row === undefined) throw problem('not-found')
  return present(row)
}

/** Like `getUser`. `externalId` is the subject at the identity provider. */
export async function getUserByExternalId(pool: Pool, tenant: TenantId | null, externalId: string): Promise<UserView> {
  return present(await oneView(pool, usersWithin(tenant).where(u.externalId, externalId)))
}

/**
 * The only active member of an organisation who is this clinical patient.
 * @throws Problem `not-found` if there is none, or more than one
 */
export async function getUserOfPatient(pool: Pool, tenant: TenantId, clinicalPatientId: string): Promise<UserView> {
  const rows = usersWithin(tenant).where(u.clinicalPatientId, clinicalPatientId).where(u.status, 'active').limit(2)
  const [user, second] = await viewsOf(pool, rows)
  if (user === undefined || second !== undefined) throw problem('not-found')
  return present(user)
}

export interface UserFilters {
  readonly userType?: UserView['userType'] | undefined
  readonly status?: UserView['status'] | undefined
  readonly roleId?: string | undefined
}

const oldestFirst = sortOrder('asc', u.createdAt, u.userId)
export const { placeOf: placeOfUser } = oldestFirst

export async function listUsers(
  pool: Pool,
  tenant: TenantId | null,
  { userType, status, roleId }: UserFilters,
  page: PageRequest,
): Promise<PageRows<UserView>> {
  const rows = usersWithin(tenant).whereRaw(`?? <> 'erased'`, [u.status])
  if (userType !== undefined) rows.where(u.userType, userType)
  if (status !== undefined) rows.where(u.status, status)
  if (roleId !== undefined)
    rows.whereRaw(
      `exists (select 1 from users.user_memberships m where m.user_id = ?? and m.role_id = ?::uuid and m.is_added
         and (?::uuid is null or m.org_id = ?::uuid))`,
      [u.userId, roleId, tenant, tenant],
    )
  const found = await pageOf(pool, oldestFirst, rows, page)
  return { ...found, rows: found.rows.map(present) }
}

const rolesOldestFirst = sortOrder('asc', r.createdAt, r.roleId)
export const { placeOf: placeOfRole } = rolesOldestFirst

function rolesWithin(tenant: TenantId | null) {
  return rowsWithin(usersProjector, rolesTable, 'r', tenant)
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
  const rows = rowsOf(tableOf(usersProjector, permissionsTable, 'p'), p)
  if (serviceId !== undefined) rows.where(p.serviceId, serviceId)
  return pageOf(pool, byText, rows, page)
}
