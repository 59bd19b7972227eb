import { usersChannelStream } from '../../streams/channels/users.ts'
import { organisationRoles } from '../../streams/organisation-roles/aggregate.ts'
import { users } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import { defineChannel } from '../../engine/relay/channel.ts'

type StatusData = Extract<UserEvent, { type: 'UserSuspended' }>['data']

/** The envelope names the organisation where there is exactly one. */
function ofOrganisations(organisationIds: readonly string[]) {
  const [only, ...others] = organisationIds
  return { ...(only === undefined || others.length > 0 ? {} : { orgId: only }), organisationIds: [...organisationIds] }
}

function ofStatus({ userId, externalId, organisationIds, changedBy, changedAt: timestamp }: StatusData) {
  return { userId, externalId, ...ofOrganisations(organisationIds), changedBy, timestamp }
}

/**
 * Every change of a user, a membership or a role (specification section 6). The organisation's stream decides that a
 * membership ends, so its event is published.
 */
export const usersChannel = defineChannel({
  stream: usersChannelStream,
  sources: [users, organisationRoles],
  translate: {
    UserCreated: ({ data: { userId, externalId, userType, organisationIds, changedBy, createdAt } }, publish) => [
      publish('users.created', createdAt, {
        userId,
        externalId,
        userType,
        ...ofOrganisations(organisationIds),
        changedBy,
        timestamp: createdAt,
      }),
    ],
    UserChanged: ({ data: { userId, members, changedBy, changedAt, organisationIds } }, publish) => [
      publish('users.updated', changedAt, {
        userId,
        members,
        ...ofOrganisations(organisationIds),
        changedBy,
        timestamp: changedAt,
      }),
    ],
    UserSuspended: ({ data }, publish) => [publish('users.suspended', data.changedAt, ofStatus(data))],
    UserDeactivated: ({ data }, publish) => [publish('users.deactivated', data.changedAt, ofStatus(data))],
    UserReactivated: ({ data }, publish) => [publish('users.reactivated', data.changedAt, ofStatus(data))],
    UserErased: ({ data }, publish) => {
      const { externalId: _, ...erased } = ofStatus(data)
      return [publish('users.erased', data.changedAt, erased)]
    },
    UserMembershipAdded: ({ data }, publish) => {
      const { userId, membershipId, organisationId, roleId, changedBy, addedAt: timestamp } = data
      const payload = { orgId: organisationId, userId, organisationId, membershipId, roleId, changedBy, timestamp }
      return [publish('users.membership.added', timestamp, payload)]
    },
    MembershipRevoked: ({ data }, publish) => {
      const { userId, membershipId, organisationId, roleId, changedBy, revokedAt: timestamp } = data
      const payload = { orgId: organisationId, userId, organisationId, membershipId, roleId, changedBy, timestamp }
      return [publish('users.membership.removed', timestamp, payload)]
    },
    UserProductAccessGranted: ({ data }, publish) => {
      const { userId, membershipId, organisationId, roleId, productId, changedBy, grantedAt: timestamp } = data
      const ids = { orgId: organisationId, userId, organisationId, membershipId, roleId, productId }
      return [publish('users.product_access.granted', timestamp, { ...ids, changedBy, timestamp })]
    },
    UserProductAccessRevoked: ({ data }, publish) => {
      const { userId, membershipId, organisationId, roleId, productId, changedBy, revokedAt: timestamp } = data
      const ids = { orgId: organisationId, userId, organisationId, membershipId, roleId, productId }
      return [publish('users.product_access.revoked', timestamp, { ...ids, changedBy, timestamp })]
    },
    MembershipRoleChanged: ({ data }, publish) => {
      const { userId, membershipId, organisationId, previousRoleId, roleId, changedBy, changedAt: timestamp } = data
      const ids = { orgId: organisationId, userId, organisationId, membershipId, previousRoleId, roleId }
      return [publish('users.role.changed', timestamp, { ...ids, changedBy, timestamp })]
    },
    RoleChanged: ({ data }, publish) => {
      const { roleId, organisationId, addedPermissions, removedPermissions, changedBy, changedAt: timestamp } = data
      if (addedPermissions.length + removedPermissions.length === 0) return []
      const permissions = { added: addedPermissions, removed: removedPermissions }
      const payload = { orgId: organisationId, roleId, organisationId, ...permissions, changedBy, timestamp }
      return [publish('users.permissions.changed', timestamp, payload)]
    },
  },
})
