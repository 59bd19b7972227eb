import { Type } from 'typebox'
import { toRecord } from '../../engine/reads/records.ts'
import { usersAdmin } from '../../contracts/users/access.ts'
import { PermissionRecord, RoleRecord, toRoleRecord } from '../../contracts/users/record.ts'
import { Uuid } from '../../platform/http/members.ts'
import { orgAliases } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { usersProjector, type rolesTable } from '../../projections/users/users.projector.ts'
import type { ViewOf } from '../../engine/projections/projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { atRevision, readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { getRole, listRoles, placeOfPermission, placeOfRole, registeredPermissions } from './queries.ts'

const usual = { servedBy: [usersProjector], tenancy: 'optional' } as const
const ServiceId = Type.Optional(Type.String({ minLength: 1, maxLength: 255 }))

/** Roles of organisations, and the permissions that roles can have. */
export function roleReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool } = deps

  listRoute(app, deps, {
    ...usual,
    access: usersAdmin,
    path: '/admin/roles',
    operationId: 'listRoles',
    summary: 'Roles of the organisation, the oldest first',
    description: 'A platform caller that names no organisation gets the roles of all.',
    query: orgAliases,
    list: 'roles',
    sort: 'createdAt',
    pageName: 'RolePage',
    casing: 'camel',
    item: RoleRecord,
    rows: ({ tenant }, page) => listRoles(pool, tenant, page),
    placeOf: placeOfRole,
    toItem: roleRecord,
  })

  readRoute(app, {
    ...usual,
    access: usersAdmin,
    path: '/admin/roles/:id',
    operationId: 'getRole',
    summary: 'A role with its permissions',
    params: { id: Uuid },
    reply: RoleRecord,
    find: async ({ tenant, params }) => atRevision(await getRole(pool, tenant, params.id), roleRecord),
  })

  listRoute(app, deps, {
    ...usual,
    access: 'token',
    path: '/permissions',
    operationId: 'listPermissions',
    summary: 'Registered permissions and those of the platform, by their text',
    query: { service_id: ServiceId, serviceId: ServiceId },
    list: 'permissions',
    sort: 'permission',
    pageName: 'PermissionPage',
    casing: 'camel',
    item: PermissionRecord,
    rows: ({ query }, page) => registeredPermissions(pool, query.service_id ?? query.serviceId, page),
    placeOf: (row) => placeOfPermission(row),
    toItem: (row) => toRecord(PermissionRecord, { ...row, id: row.permissionId }),
  })
}

function roleRecord(role: ViewOf<typeof rolesTable>): RoleRecord {
  return toRoleRecord({ ...role, organisationId: role.orgId })
}
