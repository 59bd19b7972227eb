import { v5 } from 'uuid'
import { problem } from '../../platform/http/problems.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import { organisationRoles, type OrganisationRolesState } from '../../streams/organisation-roles/aggregate.ts'
import type { OrganisationRolesEvent } from '../../streams/organisation-roles/events.ts'
import { users, type User, type UserState } from '../../streams/user/aggregate.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute, type Executed } from '../../engine/commands/execute.ts'
import { answeringRefusals } from '../../engine/commands/refusals.ts'
import { addMembership, removeMembership } from './memberships.ts'
import { restrictedAnswer } from './restricted-permission.ts'
import {
  assignRole,
  confirmMembership,
  endHold,
  holdMembership,
  releaseMembership,
  revokeMembership,
  type AssignRole,
  type LostAssignment,
  type RevokeMembership,
} from './role-assignments.ts'

/**
 * A membership is in two streams. The organisation's stream decides: it has the membership first, and loses it first. The
 * user's stream follows, and the process `users` completes it after a crash.
 */
export interface MembershipOf {
  readonly membershipId: string
  readonly userId: string
  readonly organisationId: TenantId
}

const answering = answeringRefusals({
  'membership-ended': {
    code: 'idempotency-key-reused',
    detail: 'What this key created was removed. Use a fresh key.',
  },
  'role-organisation-mismatch': {
    code: 'role-organisation-mismatch',
    member: 'roleId',
    detail: 'is no role of the organisation',
  },
  ...restrictedAnswer,
})

/** One request makes several appends; each has a command id of its own. */
function named(context: CommandContext, name: string, { organisationId, membershipId }: Omit<MembershipOf, 'userId'>) {
  return {
    ...context,
    orgId: organisationId,
    commandId: v5(`${name} ${organisationId} ${membershipId}`, context.commandId),
  }
}

/** @throws Problem `membership-exists`, `no-default-role`, `role-organisation-mismatch`, `permission-missing` */
export async function assignRoleFirst(
  { store }: CommandDependencies,
  command: AssignRole,
  context: CommandContext,
): Promise<{ readonly roleId: string }> {
  const { organisationId, membershipId } = command
  const target = organisationRoles.of(organisationId)
  const { state } = await execute(
    store,
    target,
    (before) => answering(assignRole(command, before)),
    named(context, 'assign', command),
  )
  const roleId = state.assignments.get(membershipId)?.roleId
  if (roleId === undefined) throw new Error('an accepted assignment is missing')
  return { roleId }
}

/**
 * Confirms the assignment if the user's stream has the membership, and releases it otherwise. The membership with which
 * the user was created is assigned again if it was released meanwhile.
 */
export async function resolveMembership(
  { store, now }: CommandDependencies,
  membership: Omit<MembershipOf, 'userId'> & Pick<AssignRole, 'changedBy'>,
  user: UserState,
  context: CommandContext,
): Promise<Executed<OrganisationRolesState, OrganisationRolesEvent>> {
  const { membershipId, organisationId, changedBy } = membership
  const command = { membershipId, organisationId, now: now() }
  const isConfirmed = isMember(user, membership)
  const holdId = isConfirmed ? user.holdId : null
  const lost = isConfirmed ? lostWith(user, membershipId, changedBy) : null
  return execute(
    store,
    organisationRoles.of(organisationId),
    (state) =>
      isConfirmed ? confirmMembership({ ...command, holdId, lost }, state) : releaseMembership(command, state),
    named(context, isConfirmed ? 'confirm' : 'release', membership),
  )
}

/**
 * Only the key of the user's creation is known here. A request that adds a membership later is answered with a conflict.
 * An erasure may have ended the membership in the organisation's stream already.
 */
function lostWith(user: User, membershipId: string, changedBy: string): LostAssignment | null {
  const membership = user.memberships.get(membershipId)
  if (membership?.addedAt !== user.createdAt || user.status === 'erased') return null
  const { firstRoleId: roleId, addedAt: assignedAt } = membership
  return { userId: user.userId, roleId, fingerprint: user.fingerprint, changedBy, assignedAt }
}

/** The user's stream has the membership. */
export function isMember(user: UserState, { membershipId }: Pick<MembershipOf, 'membershipId'>): user is User {
  return 'externalId' in user && user.memberships.has(membershipId)
}

/**
 * Adds a membership to an existing user. The user's stream gets it only while the organisation's has the assignment:
 * otherwise it would take the place of the membership that another request added meanwhile.
 *
 * @throws Problem the refusals of `assignRoleFirst`, `not-found`, `conflict` when the assignment ended meanwhile: if the
 * user's stream has the membership then, the process `users` removes it
 */
export async function addOrganisationMembership(
  deps: CommandDependencies,
  command: AssignRole,
  context: CommandContext,
) {
  const { userId, membershipId, organisationId, changedBy, now } = command
  const target = users.of(userId)
  const { state: before } = await deps.store.load(target)
  const known = isMember(before, command) ? before.memberships.get(membershipId) : undefined
  const assignedAt = known === undefined ? now : new Date(known.addedAt)
  const { roleId } = await assignRoleFirst(deps, { ...command, now: assignedAt }, context)
  const requireAssigned = async () => {
    const { state } = await deps.store.load(organisationRoles.of(organisationId))
    if (!state.assignments.has(membershipId)) throw problem('conflict')
  }
  try {
    const added = { membershipId, organisationId, roleId, changedBy, now }
    const done = await execute(
      deps.store,
      target,
      (state) => answering(addMembership(added, state)),
      named(context, 'add', command),
      requireAssigned,
    )
    const { state: organisation } = await resolveMembership(deps, command, done.state, context)
    if (!organisation.assignments.has(membershipId)) throw problem('conflict')
    return done
  } catch (error) {
    const { state } = await deps.store.load(target)
    await resolveMembership(deps, command, state, context)
    throw error
  }
}

/** Ends a membership; repeated, it completes what is left. @throws Problem `last-administrator`, `permission-missing` */
export async function endOrganisationMembership(
  { store, now }: CommandDependencies,
  { userId, ...membership }: MembershipOf,
  by: Pick<RevokeMembership, 'changedBy' | 'grantor' | 'isErased'>,
  context: CommandContext,
) {
  const command = { ...membership, ...by, now: now() }
  await execute(
    store,
    organisationRoles.of(membership.organisationId),
    (state) => answering(revokeMembership(command, state)),
    named(context, 'revoke', membership),
  )
  return execute(
    store,
    users.of(userId),
    (state) => removeMembership(command, state),
    named(context, 'remove', membership),
  )
}

/** Holds a membership: its organisation no longer counts the user as active. @throws Problem `last-administrator` */
export async function holdMemberships(
  { store, now }: CommandDependencies,
  memberships: readonly Omit<MembershipOf, 'userId'>[],
  holdId: string,
  context: CommandContext,
): Promise<void> {
  for (const { membershipId, organisationId } of memberships) {
    const command = { membershipId, organisationId, holdId, now: now() }
    const target = organisationRoles.of(organisationId)
    const of = named(context, `hold ${holdId}`, command)
    await execute(store, target, (state) => answering(holdMembership(command, state)), of)
  }
}

/** Ends a hold where it is. Nothing is refused. */
export async function endHolds(
  { store, now }: Pick<CommandDependencies, 'store' | 'now'>,
  memberships: Iterable<Omit<MembershipOf, 'userId'>>,
  holdId: string,
  context: CommandContext,
): Promise<void> {
  for (const { membershipId, organisationId } of memberships) {
    const command = { membershipId, organisationId, holdId, now: now() }
    const of = named(context, `end hold ${holdId}`, command)
    await execute(store, organisationRoles.of(organisationId), (state) => endHold(command, state), of)
  }
}
