import { Type } from 'typebox'
import { usersAdmin } from '../../contracts/users/access.ts'
import { MembershipRecord, ProductAccessRecord } from '../../contracts/users/record.ts'
import { changedByOf } from '../../platform/http/access.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import { organisationRoles } from '../../streams/organisation-roles/aggregate.ts'
import { users, type User } from '../../streams/user/aggregate.ts'
import { changed, created, createdOrFound, deleted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { AddMembershipBody, ChangeMembershipBody, GrantProductBody } from './bodies.ts'
import { userOf } from './change-user.ts'
import { grantProduct, revokeProduct } from './memberships.ts'
import { addOrganisationMembership, endOrganisationMembership } from './organisation-membership.ts'
import { grantorOf, restrictedAnswer } from './restricted-permission.ts'
import { changeMembershipRole } from './role-assignments.ts'
import { membershipRecordOf } from './user-records.ts'
import { maySee } from './user-visibility.ts'

const usual = { access: usersAdmin, tenancy: 'optional', readBy: [usersProjector] } as const
const mismatch = {
  code: 'role-organisation-mismatch',
  member: 'roleId',
  detail: 'is no role of the organisation',
} as const

/** Memberships of users in organisations, and their access to products. */
export function membershipRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store } = deps

  /** The user and its membership, if the caller may see them. */
  async function found(userId: string, membershipId: string, tenant: TenantId | null) {
    const user = await visible(userId, tenant)
    const membership = user.memberships.get(membershipId)
    if (membership === undefined || (tenant !== null && membership.organisationId !== tenant))
      throw problem('not-found')
    return { user, membership }
  }

  async function visible(userId: string, tenant: TenantId | null): Promise<User> {
    const { state } = await store.load(users.of(userId))
    const refusal = maySee(tenant, state)
    if (refusal !== null) throw problem(refusal.refused)
    return userOf(state)
  }

  /** The membership and its role. Without a role its organisation has ended it already. */
  async function foundWithRole(userId: string, membershipId: string, tenant: TenantId | null) {
    const { membership } = await found(userId, membershipId, tenant)
    const { state } = await store.load(organisationRoles.of(membership.organisationId))
    const roleId = state.assignments.get(membershipId)?.roleId
    if (roleId === undefined) throw problem('not-found')
    return { membershipId, roleId }
  }

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/admin/users/:id/memberships',
    operationId: 'addMembership',
    summary: 'Add a user to an organisation with a role',
    description:
      'Only platform callers add a user to an organisation that does not see the user yet. A role that holds `auth:admin` needs a caller who holds it.',
    body: AddMembershipBody,
    reply: created(MembershipRecord, (_, { id }: { readonly id: string }) => `/admin/users/${id}`),
    problems: ['membership-exists', 'no-default-role', 'role-organisation-mismatch', 'user-erased'],
    handle: async ({ isPlatformWide, caller, params, body, keyed, newId, now, context }) => {
      const organisationId = tenantOfFact(body.organisationId)
      // The user may not be a member of the named organisation yet, so the caller's own organisation counts.
      await visible(params.id, isPlatformWide ? null : organisationId)
      const membershipId = await newId()
      const ids = { membershipId, userId: params.id, organisationId, roleId: body.roleId }
      const by = { changedBy: changedByOf(caller), grantor: grantorOf({ isPlatformWide, caller }) }
      const command = { ...ids, ...by, fingerprint: keyed.fingerprint, now }
      const done = await addOrganisationMembership(deps, command, context)
      const membership = userOf(done.state).memberships.get(membershipId)
      if (membership === undefined) throw problem('not-found')
      return { ...done, record: await membershipRecordOf(deps, params.id, membership) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'PATCH',
    path: '/admin/users/:id/memberships/:membershipId',
    operationId: 'changeMembership',
    summary: 'Change the role of a membership',
    description: 'If the role before or after holds `auth:admin`, the caller must hold it, too.',
    body: ChangeMembershipBody,
    reply: changed(MembershipRecord),
    problems: ['last-administrator', 'role-organisation-mismatch', 'user-erased'],
    refusals: { 'role-organisation-mismatch': mismatch, ...restrictedAnswer },
    handle: async ({ tenant, isPlatformWide, caller, params, body, now, run }) => {
      const { membership } = await found(params.id, params.membershipId, tenant)
      const { membershipId, organisationId } = membership
      const by = { changedBy: changedByOf(caller), grantor: grantorOf({ isPlatformWide, caller }) }
      const command = { membershipId, organisationId, roleId: body.roleId, ...by, now }
      const done = await run(organisationRoles.of(organisationId), (state) => changeMembershipRole(command, state))
      return { ...done, record: await membershipRecordOf(deps, params.id, membership) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'DELETE',
    path: '/admin/users/:id/memberships/:membershipId',
    operationId: 'removeMembership',
    summary: 'Remove a user from an organisation',
    description: 'If the role of the user holds `auth:admin`, the caller must hold it, too.',
    reply: deleted,
    problems: ['last-administrator', 'user-erased'],
    handle: async ({ tenant, isPlatformWide, caller, params, context }) => {
      const { membership } = await found(params.id, params.membershipId, tenant)
      const { membershipId, organisationId } = membership
      const ids = { membershipId, organisationId, userId: params.id }
      const by = { changedBy: changedByOf(caller), grantor: grantorOf({ isPlatformWide, caller }) }
      const done = await endOrganisationMembership(deps, ids, by, context)
      return { ...done, record: null }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/admin/users/:id/memberships/:membershipId/products',
    operationId: 'grantProductAccess',
    summary: 'Grant a membership access to a product',
    description: 'A product that is granted already is 200 with the existing grant.',
    body: GrantProductBody,
    reply: createdOrFound(ProductAccessRecord, (_, { id }: { readonly id: string }) => `/admin/users/${id}`),
    problems: ['user-erased'],
    handle: async ({ tenant, caller, params, body, keyed, newId, now, run }) => {
      const membership = await foundWithRole(params.id, params.membershipId, tenant)
      const productAccessId = await newId()
      const ids = { ...membership, productAccessId, productId: body.productId }
      const command = { ...ids, isKeyed: keyed.isKeyed, changedBy: changedByOf(caller), now }
      const done = await run(users.of(params.id), (state) => grantProduct(command, state))
      const access = userOf(done.state).memberships.get(params.membershipId)?.products.get(body.productId)
      if (access === undefined) throw problem('not-found')
      const { productAccessId: id, grantedAt: createdAt } = access
      const record = { id, orgMembershipId: params.membershipId, productId: body.productId, createdAt }
      return { ...done, record, isFound: id !== productAccessId }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'DELETE',
    path: '/admin/users/:id/memberships/:membershipId/products/:productId',
    textParams: { productId: Type.String({ minLength: 1, maxLength: 255 }) },
    operationId: 'revokeProductAccess',
    summary: 'Revoke the access of a membership to a product',
    reply: deleted,
    problems: ['user-erased'],
    handle: async ({ tenant, caller, params, now, run }) => {
      const membership = await foundWithRole(params.id, params.membershipId, tenant)
      const command = { ...membership, productId: params.productId, changedBy: changedByOf(caller), now }
      const done = await run(users.of(params.id), (state) => revokeProduct(command, state))
      return { ...done, record: null }
    },
  })
}
