import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import { PartedMap } from '../../engine/aggregates/parted-map.ts'
import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { organisationRolesEvents, type OrganisationRolesEvent } from './events.ts'
import type { DataOf } from '../../engine/store/events.ts'

export interface Role extends Omit<
  DataOf<OrganisationRolesEvent, 'RoleCreated'>,
  'previousDefaultRoleId' | 'changedBy'
> {
  readonly updatedAt: string
  /** Revision of the role's last change, in the stream that all roles of the organisation share. */
  readonly revision: number
}

/** The role of one membership. */
export interface RoleAssignment {
  readonly membershipId: string
  readonly userId: string
  readonly roleId: string
  readonly assignedAt: string
  readonly fingerprint: string | null
  /** The user's stream contains the membership. Before, it counts as a use of the role, but not as an administrator. */
  readonly isConfirmed: boolean
  /** Each change of status that makes the user inactive has a hold of its own. Without any, the user counts as active. */
  readonly holds: ReadonlySet<string>
}

export interface OrganisationRolesState {
  /** Number of events so far. The stream is never truncated, so the next event has this revision. */
  readonly applied: number
  readonly roles: ReadonlyMap<string, Role>
  /** Fingerprints of deleted roles, by id. A repeat of their key creates nothing. */
  readonly deletedRoles: GrowingMap<string | null>
  /** By membership id. An organisation may have as many as it has patients with an account. */
  readonly assignments: PartedMap<RoleAssignment>
  /** Memberships that were revoked. A repeat of their key creates nothing. */
  readonly revoked: GrowingMap<true>
}

function evolve(state: OrganisationRolesState, event: OrganisationRolesEvent): OrganisationRolesState {
  return { ...changed(state, event), applied: state.applied + 1 }
}

function changed(state: OrganisationRolesState, event: OrganisationRolesEvent): OrganisationRolesState {
  switch (event.type) {
    case 'RoleCreated': {
      const { changedBy: _, previousDefaultRoleId: __, ...role } = event.data
      return withRole(state, event.data, { ...role, updatedAt: role.createdAt, revision: state.applied })
    }
    case 'RoleChanged': {
      const before = state.roles.get(event.data.roleId)
      if (before === undefined) return state
      const { name, description, isDefault, permissions, changedAt } = event.data
      const role = { ...before, name, description, isDefault, permissions, updatedAt: changedAt }
      return withRole(state, event.data, { ...role, revision: state.applied })
    }
    case 'RoleDeleted': {
      const { roleId } = event.data
      const roles = new Map(state.roles)
      roles.delete(roleId)
      const fingerprint = state.roles.get(roleId)?.fingerprint ?? null
      return { ...state, roles, deletedRoles: state.deletedRoles.with(roleId, fingerprint) }
    }
    case 'MembershipRoleAssigned': {
      const { membershipId, userId, roleId, assignedAt, fingerprint } = event.data
      const claim = {
        membershipId,
        userId,
        roleId,
        assignedAt,
        fingerprint,
        isConfirmed: false,
        holds: new Set<string>(),
      }
      return { ...state, assignments: state.assignments.with(membershipId, claim) }
    }
    case 'MembershipConfirmed': {
      const { membershipId, holdId } = event.data
      return withAssignment(state, membershipId, ({ holds }) => ({
        isConfirmed: true,
        holds: holdId === null ? holds : new Set(holds).add(holdId),
      }))
    }
    case 'MembershipRoleChanged':
      return withAssignment(state, event.data.membershipId, () => ({ roleId: event.data.roleId }))
    case 'MembershipHeld': {
      const { membershipId, holdId } = event.data
      return withAssignment(state, membershipId, ({ holds }) => ({ holds: new Set(holds).add(holdId) }))
    }
    case 'MembershipHoldEnded': {
      const { membershipId, holdId } = event.data
      return withAssignment(state, membershipId, ({ holds }) => ({
        holds: new Set([...holds].filter((one) => one !== holdId)),
      }))
    }
    case 'MembershipReleased':
      return { ...state, assignments: state.assignments.without(event.data.membershipId) }
    case 'MembershipRevoked': {
      const { membershipId } = event.data
      const revoked = state.revoked.with(membershipId, true)
      return { ...state, assignments: state.assignments.without(membershipId), revoked }
    }
  }
}

type RoleFact = Pick<DataOf<OrganisationRolesEvent, 'RoleCreated'>, 'previousDefaultRoleId'>

/** The previous default role changes with the new one, so its revision does too. */
function withRole(state: OrganisationRolesState, { previousDefaultRoleId }: RoleFact, role: Role) {
  const roles = new Map(state.roles).set(role.roleId, role)
  const previous = previousDefaultRoleId === null ? undefined : roles.get(previousDefaultRoleId)
  if (previous !== undefined) {
    const { updatedAt, revision } = role
    roles.set(previous.roleId, { ...previous, isDefault: false, updatedAt, revision })
  }
  return { ...state, roles }
}

function withAssignment(
  state: OrganisationRolesState,
  membershipId: string,
  change: (before: RoleAssignment) => Partial<RoleAssignment>,
): OrganisationRolesState {
  const before = state.assignments.get(membershipId)
  if (before === undefined) return state
  return { ...state, assignments: state.assignments.with(membershipId, { ...before, ...change(before) }) }
}

/**
 * One stream for each organisation. It decides role names, the default role, the use of a role, the one membership of a
 * user and the last administrator.
 */
export const organisationRoles = defineAggregate({
  category: 'role',
  id: (orgId: TenantId) => orgId,
  events: organisationRolesEvents,
  initialState: {
    applied: 0,
    roles: new Map(),
    deletedRoles: new GrowingMap<string | null>(),
    assignments: new PartedMap<RoleAssignment>(),
    revoked: new GrowingMap<true>(),
  },
  evolve,
})
