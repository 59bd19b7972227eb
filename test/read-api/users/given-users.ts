import { randomUUID } from 'node:crypto'
import { tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'
import { organisationRoles } from '../../../streams/organisation-roles/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { roleFact, userFact, userIds } from '../../streams/user-facts.ts'
import type { UsersApi } from './users-api.ts'

/** An organisation with two roles: `Clinician`, and `Administrator` with the given permissions. */
export interface GivenOrganisation {
  readonly orgId: TenantId
  readonly clinician: string
  readonly administrator: string
}

export interface GivenUser {
  readonly userId: string
  readonly externalId: string
}

export interface GivenMembership extends GivenUser {
  readonly membershipId: string
  readonly organisationId: TenantId
}

export async function givenOrganisation(
  { append }: UsersApi,
  orgId: string = randomUUID(),
  permissions: readonly string[] = ['auth:admin', 'consents:admin', 'notifications:admin', 'users:admin'],
): Promise<GivenOrganisation> {
  const organisationId = tenantOfFact(orgId)
  const [clinician, administrator] = [randomUUID(), randomUUID()]
  await append(
    organisationRoles.of(organisationId),
    roleFact('RoleCreated', { roleId: clinician, organisationId }),
    roleFact('RoleCreated', {
      roleId: administrator,
      organisationId,
      name: 'Administrator',
      isDefault: false,
      permissions: [...permissions],
    }),
  )
  return { orgId: organisationId, clinician, administrator }
}

export async function givenUser({ append }: UsersApi, userId: string = randomUUID()): Promise<GivenUser> {
  const externalId = `subject of ${userId}`
  await append(users.of(userId), userFact('UserCreated', { userId, externalId }))
  return { userId, externalId }
}

export async function givenMember(
  api: UsersApi,
  { orgId: organisationId, clinician }: GivenOrganisation,
  roleId: string = clinician,
  user?: GivenUser,
): Promise<GivenMembership> {
  const { userId, externalId } = user ?? (await givenUser(api))
  const of = { userId, membershipId: randomUUID(), organisationId }
  await api.append(organisationRoles.of(organisationId), roleFact('MembershipRoleAssigned', { ...of, roleId }))
  await api.append(users.of(userId), userFact('UserMembershipAdded', { ...of, roleId }))
  await api.append(organisationRoles.of(organisationId), roleFact('MembershipConfirmed', of))
  return { ...of, externalId }
}

/** Revoked in the organisation. The user's stream follows later. */
export async function revoke({ append }: UsersApi, { membershipId, userId, organisationId }: GivenMembership) {
  const fact = roleFact('MembershipRevoked', { membershipId, userId, organisationId })
  await append(organisationRoles.of(organisationId), fact)
}

export async function changeRole({ append }: UsersApi, member: GivenMembership, roleId: string) {
  const { membershipId, userId, organisationId } = member
  const fact = roleFact('MembershipRoleChanged', { membershipId, userId, organisationId, roleId })
  await append(organisationRoles.of(organisationId), fact)
}

export async function changeStatus(
  { append }: UsersApi,
  { userId, externalId }: GivenUser,
  type: 'UserSuspended' | 'UserDeactivated' | 'UserReactivated' | 'UserErasureStarted',
  organisationIds: TenantId[],
) {
  await append(users.of(userId), userFact(type, { userId, externalId, organisationIds, holdId: userIds.hold }))
}
