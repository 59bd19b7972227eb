import type { TenantId } from '../../platform/kit/tenants.ts'
import type { OrganisationRolesState, RoleAssignment } from '../../streams/organisation-roles/aggregate.ts'
import type { OrganisationRolesEvent } from '../../streams/organisation-roles/events.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'
import { administers, isLastAdministrator } from './administrators.ts'
import { refusedToGrant, type Grantor, type RestrictedRefusal } from './restricted-permission.ts'
import { defaultRoleOf } from './roles.ts'

export interface AssignRole {
  readonly membershipId: string
  readonly userId: string
  readonly organisationId: TenantId
  /** Undefined: the default role of the organisation. */
  readonly roleId: string | undefined
  readonly fingerprint: string | null
  readonly changedBy: string
  readonly grantor: Grantor
  readonly now: Date
}

/** Comes before the user's own append, so that the organisation's stream decides on the role and on the one membership. */
export function assignRole(
  { now, grantor, ...command }: AssignRole,
  state: OrganisationRolesState,
): Decision<
  OrganisationRolesEvent,
  | 'membership-exists'
  | 'membership-ended'
  | 'no-default-role'
  | 'role-organisation-mismatch'
  | RestrictedRefusal
  | 'idempotency-key-reused'
> {
  const existing = state.assignments.get(command.membershipId)
  if (existing !== undefined) return repeated(command, existing)
  if (state.revoked.has(command.membershipId)) return refused('membership-ended')
  if (assignmentOf(state, command.userId) !== undefined) return refused('membership-exists')
  const roleId = command.roleId ?? defaultRoleOf(state)?.roleId
  if (roleId === undefined) return refused('no-default-role')
  const role = state.roles.get(roleId)
  if (role === undefined) return refused('role-organisation-mismatch')
  const restriction = refusedToGrant(grantor, role)
  if (restriction !== null) return restriction
  return [{ type: 'MembershipRoleAssigned', data: { ...command, roleId, assignedAt: now.toISOString() } }]
}

export interface MembershipCommand {
  readonly membershipId: string
  readonly organisationId: TenantId
  readonly now: Date
}

/** What is needed to assign a role again that was released. */
export type LostAssignment = Pick<AssignRole, 'userId' | 'fingerprint' | 'changedBy'> & {
  readonly roleId: string
  /** When the user got the membership: the answer of the request has this instant, so the read model must. */
  readonly assignedAt: string
}

export interface ConfirmMembership extends MembershipCommand {
  /** The hold that the user had at its append. */
  readonly holdId: string | null
  /** Null: an assignment that is gone stays so. */
  readonly lost: LostAssignment | null
}

/**
 * After the user's own append. An earlier request of the same key, or the process in its place, may have released the
 * assignment after the request of that append had found it. Then it is assigned again, unless it was revoked, or the
 * role or the place of the user's one membership is gone.
 */
export function confirmMembership(
  { now, holdId, lost, ...command }: ConfirmMembership,
  state: OrganisationRolesState,
): Decision<OrganisationRolesEvent> {
  const { membershipId } = command
  const claim = state.assignments.get(membershipId)
  if (claim?.isConfirmed === true) return []
  const at = now.toISOString()
  const confirmed = ({ userId }: Pick<RoleAssignment, 'userId'>): OrganisationRolesEvent => ({
    type: 'MembershipConfirmed',
    data: { ...command, userId, holdId, confirmedAt: at },
  })
  if (claim !== undefined) return [confirmed(claim)]
  if (lost === null || state.revoked.has(membershipId) || !state.roles.has(lost.roleId)) return []
  if (assignmentOf(state, lost.userId) !== undefined) return []
  return [{ type: 'MembershipRoleAssigned', data: { ...command, ...lost } }, confirmed(lost)]
}

/** Ends an assignment whose membership the user's stream does not have. */
export function releaseMembership(
  { now, ...command }: MembershipCommand,
  state: OrganisationRolesState,
): Decision<OrganisationRolesEvent> {
  const claim = state.assignments.get(command.membershipId)
  if (claim === undefined || claim.isConfirmed) return []
  return [{ type: 'MembershipReleased', data: { ...ofUser(command, claim), releasedAt: now.toISOString() } }]
}

/**
 * Ends a membership that only the user's stream has, before that stream loses it. Otherwise a repeat of its key could
 * assign it between the two and be answered with a membership that is removed then. The event of the user is public, so
 * this one tells its readers that the membership ended.
 */
export function endUnassigned(
  { now, ...command }: MembershipCommand & Pick<LostAssignment, 'userId' | 'roleId' | 'changedBy'>,
  state: OrganisationRolesState,
): Decision<OrganisationRolesEvent> {
  if (state.assignments.has(command.membershipId) || state.revoked.has(command.membershipId)) return []
  return [{ type: 'MembershipRevoked', data: { ...command, revokedAt: now.toISOString() } }]
}

export interface ChangeMembershipRole extends MembershipCommand {
  readonly roleId: string
  readonly changedBy: string
  readonly grantor: Grantor
}

/** Taking a role away needs the same as giving it. Otherwise it would be the way around the rule for the holder's status. */
export function changeMembershipRole(
  { now, roleId, changedBy, grantor, ...command }: ChangeMembershipRole,
  state: OrganisationRolesState,
): Decision<
  OrganisationRolesEvent,
  'not-found' | 'role-organisation-mismatch' | RestrictedRefusal | 'last-administrator'
> {
  const before = state.assignments.get(command.membershipId)
  if (before === undefined || !before.isConfirmed) return refused('not-found')
  const role = state.roles.get(roleId)
  if (role === undefined) return refused('role-organisation-mismatch')
  if (before.roleId === roleId) return []
  const restriction = refusedToGrant(grantor, role) ?? refusedToGrant(grantor, state.roles.get(before.roleId))
  if (restriction !== null) return restriction
  if (!administers(role) && isLastAdministrator(state, before.membershipId)) return refused('last-administrator')
  const data = { ...ofUser(command, before), previousRoleId: before.roleId, roleId, changedBy }
  return [{ type: 'MembershipRoleChanged', data: { ...data, changedAt: now.toISOString() } }]
}

export interface RevokeMembership extends MembershipCommand, Pick<ChangeMembershipRole, 'changedBy' | 'grantor'> {
  readonly isErased?: boolean
}

/**
 * Ends the membership. The user's stream follows. An erased user leaves even if it is the last administrator: a backup
 * may have brought it back as one.
 */
export function revokeMembership(
  { now, changedBy, grantor, isErased = false, ...command }: RevokeMembership,
  state: OrganisationRolesState,
): Decision<OrganisationRolesEvent, RestrictedRefusal | 'last-administrator'> {
  const before = state.assignments.get(command.membershipId)
  if (before === undefined) return []
  const restriction = refusedToGrant(grantor, state.roles.get(before.roleId))
  if (restriction !== null) return restriction
  if (!isErased && isLastAdministrator(state, before.membershipId)) return refused('last-administrator')
  const data = { ...ofUser(command, before), roleId: before.roleId, revokedAt: now.toISOString(), changedBy }
  return [{ type: 'MembershipRevoked', data }]
}

/** Comes before the event that suspends or deactivates the user. */
export function holdMembership(
  { now, holdId, ...command }: MembershipCommand & { readonly holdId: string },
  state: OrganisationRolesState,
): Decision<OrganisationRolesEvent, 'last-administrator'> {
  const before = state.assignments.get(command.membershipId)
  if (before === undefined || before.holds.has(holdId)) return []
  if (isLastAdministrator(state, before.membershipId)) return refused('last-administrator')
  return [{ type: 'MembershipHeld', data: { ...ofUser(command, before), holdId, heldAt: now.toISOString() } }]
}

export function endHold(
  { now, holdId, ...command }: MembershipCommand & { readonly holdId: string },
  state: OrganisationRolesState,
): Decision<OrganisationRolesEvent> {
  const before = state.assignments.get(command.membershipId)
  if (before === undefined || !before.holds.has(holdId)) return []
  return [{ type: 'MembershipHoldEnded', data: { ...ofUser(command, before), holdId, endedAt: now.toISOString() } }]
}

/** The one assignment of a user in the organisation. */
export function assignmentOf(state: OrganisationRolesState, userId: string): RoleAssignment | undefined {
  return [...state.assignments.values()].find((one) => one.userId === userId)
}

function ofUser({ membershipId, organisationId }: Omit<MembershipCommand, 'now'>, { userId }: RoleAssignment) {
  return { membershipId, userId, organisationId }
}
