import { Type, type Static } from 'typebox'
import { appends } from '../../engine/processes/attempt.ts'
import { execute } from '../../engine/commands/execute.ts'
import { removeMembership } from '../../commands/users/memberships.ts'
import { isMember, resolveMembership } from '../../commands/users/organisation-membership.ts'
import { abandonRegistration } from '../../commands/users/registration.ts'
import { endHold, endUnassigned } from '../../commands/users/role-assignments.ts'
import { expireHold } from '../../commands/users/status.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import { organisationRoles } from '../../streams/organisation-roles/aggregate.ts'
import { users, type User, type UserState } from '../../streams/user/aggregate.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext } from '../../engine/processes/process.ts'
import { leaseOf } from './registration.steps.ts'

/** The row's key is the membership. */
export const MembershipPayload = Type.Object({
  userId: Type.String(),
  organisationId: Type.String(),
  changedBy: Type.String(),
})
type MembershipTodo = Todo<Static<typeof MembershipPayload>>

/** Both streams agree afterwards: the membership is in both, or in none. */
export const resolve: ProcessStep<Static<typeof MembershipPayload>> = async (todo, deps, step) => {
  const { store } = deps
  const { key: membershipId, payload } = todo
  const { userId, changedBy } = payload
  const organisationId = tenantOfFact(payload.organisationId)
  const target = users.of(userId)
  const { state: before } = await store.load(target)
  const until = leaseOf(before, step.now())
  if (until !== null) return { kind: 'wait', until }
  const abandon = { attemptId: null, reason: 'lease-ended', now: step.now() } as const
  const { state: user } = await execute(store, target, (state) => abandonRegistration(abandon, state), todo.attempt())
  const resolveAt = (state: UserState) =>
    resolveMembership(deps, { membershipId, organisationId, changedBy }, state, todo.attempt())
  let { state, position } = await resolveAt(user)
  if (state.assignments.has(membershipId)) return { kind: 'done', position }
  // A request may have given the membership to the user since the state was read.
  const { state: newest } = await store.load(target)
  // If it does so from now on, its event makes a row of its own.
  if (!isMember(newest, { membershipId })) return { kind: 'done', position }
  ;({ state, position } = await resolveAt(newest))
  if (!state.assignments.has(membershipId)) ({ state, position } = await endWithoutClaim(todo, deps, newest, step))
  if (state.assignments.has(membershipId)) return { kind: 'done', position }
  const removed = await remove(todo, deps, step)
  return { kind: 'done', position: removed ?? position }
}

/** The organisation's stream does not have what the user's stream has. */
function endWithoutClaim(todo: MembershipTodo, { store }: ProcessDependencies, user: User, step: StepContext) {
  const { key: membershipId, payload } = todo
  const { userId, changedBy } = payload
  const membership = user.memberships.get(membershipId)
  if (membership === undefined) throw new Error('the user has no such membership')
  const { organisationId, firstRoleId: roleId } = membership
  const command = { membershipId, userId, organisationId, roleId, changedBy, now: step.now() }
  return execute(store, organisationRoles.of(organisationId), (state) => endUnassigned(command, state), {
    ...todo.attempt(),
    orgId: organisationId,
  })
}

/** The organisation's stream revoked the membership; the user's stream follows. */
export const completeRemoval: ProcessStep<Static<typeof MembershipPayload>> = async (todo, deps, step) => {
  return { kind: 'done', position: await remove(todo, deps, step) }
}

async function remove(todo: MembershipTodo, { store }: ProcessDependencies, step: StepContext) {
  const { userId, changedBy } = todo.payload
  const command = { membershipId: todo.key, changedBy, now: step.now() }
  const done = await execute(store, users.of(userId), (state) => removeMembership(command, state), todo.attempt())
  return done.position
}

export const HoldPayload = Type.Object({
  userId: Type.String(),
  membershipId: Type.String(),
  organisationId: Type.String(),
  holdId: Type.String(),
})

/**
 * A request placed the hold for a change of status, and did not change the status in time. First the stream of the user
 * refuses that change from now on. Otherwise a slow request could suspend the user after the hold has ended.
 */
export const expireHoldOf: ProcessStep<Static<typeof HoldPayload>> = async (todo, deps, step) => {
  const { userId, holdId } = todo.payload
  const command = { holdId, now: step.now() }
  const target = users.of(userId)
  const { state } = await execute(deps.store, target, (before) => expireHold(command, before), todo.attempt())
  if ('externalId' in state && state.holdId === holdId) return { kind: 'done' }
  return endHoldOf(todo, deps, step)
}

/** The user is active again. */
export const endHoldOf: ProcessStep<Static<typeof HoldPayload>> = async (todo, { store }, step) => {
  const { membershipId, holdId } = todo.payload
  const organisationId = tenantOfFact(todo.payload.organisationId)
  const command = { membershipId, organisationId, holdId, now: step.now() }
  const target = organisationRoles.of(organisationId)
  return appends(store, target, (state) => endHold(command, state), {
    ...todo.attempt(),
    orgId: organisationId,
  })
}
