import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Fingerprint, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'

/** User id of the acting person, else the client id, else `bootstrap`. Never an address. */
export const ChangedBy = Type.String({ minLength: 1, maxLength: 255 })

const role = {
  roleId: Id,
  organisationId: OrgId,
  name: Type.String(),
  description: Nullable(Type.String()),
  isDefault: Type.Boolean(),
  permissions: Type.Array(Type.String()),
  /** The role that this event removes as the default one. */
  previousDefaultRoleId: Nullable(Id),
}
const membership = { membershipId: Id, userId: Id, organisationId: OrgId }

/** Roles of an organisation, and which membership has which role. */
export const organisationRolesEvents = {
  RoleCreated: defineEvent(
    'RoleCreated',
    Type.Object({ ...role, createdAt: Instant, changedBy: ChangedBy, fingerprint: Fingerprint }),
  ),
  /** The whole role after the change. */
  RoleChanged: defineEvent(
    'RoleChanged',
    Type.Object({
      ...role,
      addedPermissions: Type.Array(Type.String()),
      removedPermissions: Type.Array(Type.String()),
      changedAt: Instant,
      changedBy: ChangedBy,
    }),
  ),
  RoleDeleted: defineEvent(
    'RoleDeleted',
    Type.Object({ roleId: Id, organisationId: OrgId, deletedAt: Instant, changedBy: ChangedBy }),
  ),
  /** Comes before the event in the user's stream. Until the confirmation, the holder does not count as an administrator. */
  MembershipRoleAssigned: defineEvent(
    'MembershipRoleAssigned',
    Type.Object({ ...membership, roleId: Id, assignedAt: Instant, changedBy: ChangedBy, fingerprint: Fingerprint }),
  ),
  /** The user's stream contains the membership. `holdId` is the hold of a user who is not active, else null. */
  MembershipConfirmed: defineEvent(
    'MembershipConfirmed',
    Type.Object({ ...membership, holdId: Nullable(Id), confirmedAt: Instant }),
  ),
  /** The user's stream never contained the membership. */
  MembershipReleased: defineEvent('MembershipReleased', Type.Object({ ...membership, releasedAt: Instant })),
  MembershipRoleChanged: defineEvent(
    'MembershipRoleChanged',
    Type.Object({ ...membership, previousRoleId: Id, roleId: Id, changedAt: Instant, changedBy: ChangedBy }),
  ),
  /** The user is no longer a member. The user's stream follows. */
  MembershipRevoked: defineEvent(
    'MembershipRevoked',
    Type.Object({ ...membership, roleId: Id, revokedAt: Instant, changedBy: ChangedBy }),
  ),
  /** Comes before the event that suspends or deactivates the user. A member with a hold is no active administrator. */
  MembershipHeld: defineEvent('MembershipHeld', Type.Object({ ...membership, holdId: Id, heldAt: Instant })),
  /** The user is active again, or the change of status that needed the hold did not happen. */
  MembershipHoldEnded: defineEvent('MembershipHoldEnded', Type.Object({ ...membership, holdId: Id, endedAt: Instant })),
} as const

export type OrganisationRolesEvent = EventOf<typeof organisationRolesEvents>
