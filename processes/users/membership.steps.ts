import { Type, type Static } from 'typebox'
import { appends } from '../../engine/processes/attempt.ts'
import { execute } from '../../engine/commands/execute.ts'
import { removeMembership } from '../../commands/users/memberships.ts'
import { resolveMembership } from '../../commands/users/organisation-membership.ts'
import { abandonRegistration } from '../../commands/users/registration.ts'
import { endHold, endUnassigned } from '../../commands/users/role-assignments.ts'
import { expireHold } from '../../commands/users/status.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import { organisationRoles } from '../../streams/organisation-roles/aggregate.ts'
import { users } from '../../streams/user/aggregate.ts'
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
  const resolved = await resolveMembership(deps, { membershipId, organisationId, changedBy }, user, todo.attempt())
  if (resolved.state.assignments.has(membershipId)) return { kind: 'done', position: resolved.position }
  const ended = await endWithoutClaim(todo, deps, step)
  // If the user gets the membership from now on, its event makes a row of its own.
  if (ended === undefined) return { kind: 'done', position: resolved.position }
  if (ended.state.assignments.has(membershipId)) return { kind: 'done', position: ended.position }
  const removed = await remove(todo, deps, step)
  return { kind: 'done', position: removed ?? ended.position }
}

/** Undefined if the user does not have the membership either. It may have got it since the claim was released. */
async function endWithoutClaim(todo: MembershipTodo, { store }: ProcessDependencies, step: StepContext) {
  const { key: membershipId, payload } = todo
  const { userId, changedBy } = payload
  const { state: user } = await store.load(users.of(userId))
  const membership = 'externalId' in user ? user.memberships.get(membershipId) : undefined
  if (membership === undefined) return undefined
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
