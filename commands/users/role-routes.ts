import { Type } from 'typebox'
import { v7 } from 'uuid'
import { usersAdmin } from '../../contracts/users/access.ts'
import { RoleRecord, toRoleRecord } from '../../contracts/users/record.ts'
import { changedByOf } from '../../platform/http/access.ts'
import { invalidMember, problem, type MemberError } from '../../platform/http/problems.ts'
import { requireMatch } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import { organisationRoles, type OrganisationRolesState } from '../../streams/organisation-roles/aggregate.ts'
import { permissions } from '../../streams/permission/aggregate.ts'
import { changed, created, deleted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { ChangeRoleBody, CreateRoleBody, RegisterPermissionsBody } from './bodies.ts'
import { registerPermissions } from './permissions.ts'
import { grantorOf, restrictedAnswer } from './restricted-permission.ts'
import { changeRole, createRole, deleteRole } from './roles.ts'

const usual = { access: usersAdmin, tenancy: 'optional', readBy: [usersProjector] } as const
const names = Type.Array(Type.String())

const RegisterPermissionsReply = Type.Object(
  { serviceId: Type.String(), created: names, updated: names, unchanged: names },
  { $id: 'RegisterPermissionsReply' },
)

export interface RoleDependencies extends CommandDependencies {
  /** The organisation of a role, from a read model that contains everything recorded until now. Throws Problem `not-found`. */
  readonly organisationOfRole: (roleId: string) => Promise<TenantId>
}

/** Roles of organisations, and the registry of permissions. */
export function roleWriteRoutes(app: ServiceApp, deps: RoleDependencies): void {
  const { store } = deps

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/admin/roles',
    operationId: 'createRole',
    summary: 'Create a role for an organisation',
    description: 'A new default role replaces the previous one. Only platform callers put `auth:admin` in a role.',
    body: CreateRoleBody,
    hasEtag: true,
    reply: created(RoleRecord, ({ id }) => `/admin/roles/${id}`),
    problems: ['role-name-in-use', 'role-limit', 'unknown-permission'],
    refusals: {
      'role-deleted': { code: 'idempotency-key-reused', detail: 'What this key created was removed. Use a fresh key.' },
      ...restrictedAnswer,
    },
    handle: async ({ isPlatformWide, caller, body, keyed, newId, now, run }) => {
      const organisationId = tenantOfFact(body.organisationId)
      const { name, description = null, isDefault = false } = body
      await requireRegistered(body.permissions ?? [], [])
      const details = { name, description, isDefault, permissions: [...(body.permissions ?? [])] }
      const roleId = await newId()
      const ids = { roleId, organisationId, fingerprint: keyed.fingerprint, changedBy: changedByOf(caller) }
      const grantor = grantorOf({ isPlatformWide, caller })
      const done = await run(organisationRoles.of(organisationId), (state) =>
        createRole({ ...details, ...ids, grantor, now }, state),
      )
      return { ...done, ...roleOf(done.state, roleId) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'PATCH',
    path: '/admin/roles/:id',
    operationId: 'changeRole',
    summary: 'Change the name, the description or the permissions of a role',
    description:
      '`permissions` replaces all of them. Members that are left out stay as they are. Only platform callers put `auth:admin` in a role; whoever lacks it neither takes it away nor makes such a role the default.',
    body: ChangeRoleBody,
    hasEtag: true,
    ifMatch: 'record',
    reply: changed(RoleRecord),
    problems: ['role-name-in-use', 'unknown-permission', 'last-administrator'],
    refusals: restrictedAnswer,
    handle: async ({ tenant, isPlatformWide, caller, params, body, now, run, request }) => {
      const organisationId = await organisationOf(params.id, tenant)
      const target = organisationRoles.of(organisationId)
      const { state: before } = await store.load(target)
      const known = before.roles.get(params.id)?.permissions ?? []
      await requireRegistered(body.permissions ?? [], known)
      const grantor = grantorOf({ isPlatformWide, caller })
      const command = { ...body, roleId: params.id, grantor, changedBy: changedByOf(caller), now }
      const done = await run(target, (state) => {
        requireMatch(request, revisionOf(state, params.id))
        return changeRole(command, state)
      })
      return { ...done, ...roleOf(done.state, params.id) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'DELETE',
    path: '/admin/roles/:id',
    operationId: 'deleteRole',
    summary: 'Delete a role that no member has',
    ifMatch: 'record',
    reply: deleted,
    problems: ['role-in-use'],
    handle: async ({ tenant, caller, params, now, run, request }) => {
      const organisationId = await organisationOf(params.id, tenant)
      const command = { roleId: params.id, changedBy: changedByOf(caller), now }
      const done = await run(organisationRoles.of(organisationId), (state) => {
        requireMatch(request, revisionOf(state, params.id))
        return deleteRole(command, state)
      })
      return { ...done, record: null }
    },
  })

  commandRoute(app, deps, {
    access: { scopes: ['users:permissions'] },
    tenancy: 'optional',
    readBy: [usersProjector],
    method: 'POST',
    path: '/permissions/register',
    operationId: 'registerPermissions',
    summary: 'Register the permissions of a service',
    description:
      'For platform clients with the scope `users:permissions`. The first registration binds the service to the client, and the first segment of each permission to the service. The same permissions again change nothing, so an `Idempotency-Key` has no effect.',
    casing: 'camel',
    body: RegisterPermissionsBody,
    reply: changed(RegisterPermissionsReply),
    problems: ['permission-owned-by-other-service', 'service-owned-by-other-client', 'platform-client-required'],
    handle: async ({ isPlatformWide, caller, body, now, run }) => {
      if (!isPlatformWide) throw problem('platform-client-required')
      const listed = body.permissions.map(({ permission, description = null }) => ({
        permissionId: v7(),
        permission,
        description,
      }))
      requireDistinct(listed.map(({ permission }) => permission))
      const { serviceId } = body
      const command = { serviceId, clientId: caller.clientId, permissions: listed, changedBy: changedByOf(caller), now }
      let known: ReadonlyMap<string, { readonly description: string | null }> = new Map()
      const done = await run(permissions.of(), (state) => {
        known = state.permissions
        return registerPermissions(command, state)
      })
      const outcome = { created: [], updated: [], unchanged: [] } as Record<
        'created' | 'updated' | 'unchanged',
        string[]
      >
      for (const { permission, description } of listed) {
        const before = known.get(permission)
        outcome[before === undefined ? 'created' : before.description === description ? 'unchanged' : 'updated'].push(
          permission,
        )
      }
      return { ...done, isReplayed: false, record: { serviceId, ...outcome } }
    },
  })

  /** The role's path has no organisation, so a platform caller's comes from the read model. */
  async function organisationOf(roleId: string, tenant: TenantId | null): Promise<TenantId> {
    return tenant ?? (await deps.organisationOfRole(roleId))
  }

  /** A role may keep the permissions that it has. */
  async function requireRegistered(wanted: readonly string[], kept: readonly string[]): Promise<void> {
    const isKept = new Set(kept)
    const { state } = await store.load(permissions.of())
    const errors = wanted.flatMap((permission, place): MemberError[] =>
      isKept.has(permission) || state.permissions.has(permission)
        ? []
        : [{ pointer: `/permissions/${place}`, detail: 'is not registered', code: 'unknown-permission' }],
    )
    if (errors.length > 0) throw problem('unknown-permission', { errors })
  }
}

function requireDistinct(listed: readonly string[]): void {
  for (const [place, permission] of listed.entries())
    if (listed.indexOf(permission) !== place)
      throw invalidMember(`/permissions/${place}/permission`, 'repeats another permission', 'duplicate')
}

function revisionOf({ roles }: OrganisationRolesState, roleId: string): bigint | 'no_stream' {
  const role = roles.get(roleId)
  if (role === undefined) throw problem('not-found')
  return BigInt(role.revision)
}

function roleOf(state: OrganisationRolesState, roleId: string) {
  const role = state.roles.get(roleId)
  if (role === undefined) throw problem('not-found')
  return { record: toRoleRecord(role), revision: BigInt(role.revision) }
}
