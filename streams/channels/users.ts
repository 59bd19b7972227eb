import { Type } from 'typebox'
import { ChangedBy } from '../organisation-roles/events.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant } from '../../engine/aggregates/types.ts'
import { UserType } from '../user/events.ts'
import { defineChannelStream, publicData } from '../../engine/aggregates/channel-stream.ts'

const cause = { changedBy: ChangedBy, timestamp: Instant }
/** `orgId` where the event concerns exactly one organisation. */
const organisations = { orgId: Type.Optional(Id), organisationIds: Type.Array(Id) }
const account = { userId: Id, externalId: Type.String(), ...organisations, ...cause }
const member = { orgId: Id, userId: Id, organisationId: Id, membershipId: Id, roleId: Id }
const membership = { ...member, ...cause }
const product = { ...member, productId: Type.String(), ...cause }
const created = { userId: Id, externalId: Type.String(), userType: UserType, ...organisations, ...cause }
const updated = { userId: Id, members: Type.Array(Type.String()), ...organisations, ...cause }

/** Stream of the public user events (specification 6). Ids only. */
export const usersChannelStream = defineChannelStream({
  name: 'users.events',
  organisationMember: null,
  events: {
    created: defineEvent('users.created', publicData(created)),
    updated: defineEvent('users.updated', publicData(updated)),
    suspended: defineEvent('users.suspended', publicData(account)),
    deactivated: defineEvent('users.deactivated', publicData(account)),
    reactivated: defineEvent('users.reactivated', publicData(account)),
    erased: defineEvent('users.erased', publicData({ userId: Id, ...organisations, ...cause })),
    membershipAdded: defineEvent('users.membership.added', publicData(membership)),
    membershipRemoved: defineEvent('users.membership.removed', publicData(membership)),
    productAccessGranted: defineEvent('users.product_access.granted', publicData(product)),
    productAccessRevoked: defineEvent('users.product_access.revoked', publicData(product)),
    roleChanged: defineEvent(
      'users.role.changed',
      publicData({
        orgId: Id,
        userId: Id,
        organisationId: Id,
        membershipId: Id,
        previousRoleId: Id,
        roleId: Id,
        ...cause,
      }),
    ),
    permissionsChanged: defineEvent(
      'users.permissions.changed',
      publicData({
        orgId: Id,
        roleId: Id,
        organisationId: Id,
        added: Type.Array(Type.String()),
        removed: Type.Array(Type.String()),
        ...cause,
      }),
    ),
  },
})

export type UsersChannelEvent = EventOf<typeof usersChannelStream.events>
