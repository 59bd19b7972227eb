import { organisationRoles } from '../../streams/organisation-roles/aggregate.ts'
import { permissions } from '../../streams/permission/aggregate.ts'
import { users } from '../../streams/user/aggregate.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import { ids } from '../../test/streams/facts.ts'
import { permissionFact, roleFact, userFact } from '../../test/streams/user-facts.ts'
import type { Act } from './clinical-acts.ts'

/** Two roles of a new organisation, and a user from the registration to the end of its membership. */
export const employUser: Act = (story, random, text) => {
  const organisationId = tenantOfFact(story.id(random).toLowerCase())
  const [userId, membershipId, roleId, otherRoleId] = [1, 2, 3, 4].map(() => story.id(random))
  const roles = organisationRoles.of(organisationId)
  const user = users.of(userId ?? '')
  const of = { userId: userId ?? '', membershipId: membershipId ?? '', organisationId }
  const named = { roleId: roleId ?? '', organisationId }
  const second = { roleId: otherRoleId ?? '', organisationId, name: text, previousDefaultRoleId: named.roleId }
  const ofRoles = (fact: ReturnType<typeof roleFact>) => story.append(organisationId, roles.stream, fact)
  const ofUser = (...facts: ReturnType<typeof userFact>[]) => story.append(organisationId, user.stream, ...facts)
  const now = () => story.instant(random)

  ofRoles(roleFact('RoleCreated', { ...named, description: text, createdAt: now() }))
  ofRoles(roleFact('RoleCreated', { ...second, createdAt: now() }))
  ofRoles(roleFact('RoleChanged', { ...named, previousDefaultRoleId: second.roleId, changedAt: now() }))
  ofRoles(roleFact('MembershipRoleAssigned', { ...of, roleId: named.roleId, assignedAt: now() }))
  const { practitionerProfile } = userFact('UserCreated').data
  const profile = { displayName: text, practitionerProfile: random.oneIn(2) ? null : practitionerProfile }
  ofUser(
    userFact('UserCreated', { userId: of.userId, ...profile, externalId: of.userId, createdAt: now() }),
    userFact('UserMembershipAdded', { ...of, roleId: named.roleId, addedAt: now() }),
  )
  ofRoles(roleFact('MembershipConfirmed', of))
  const product = { ...of, productId: text === '' ? ids.product : text }
  ofUser(userFact('UserProductAccessGranted', { ...product, grantedAt: now() }))
  ofUser(userFact('UserProductAccessJoined', { ...product }))
  if (random.oneIn(2)) {
    ofUser(userFact('UserChanged', { userId: of.userId, ...profile, locale: null, changedAt: now() }))
    ofRoles(roleFact('MembershipRoleChanged', { ...of, roleId: second.roleId, changedAt: now() }))
    ofUser(userFact('UserSuspended', { userId: of.userId, changedAt: now() }))
    ofUser(userFact('UserReactivated', { userId: of.userId, changedAt: now() }))
    ofUser(userFact('UserProductAccessRevoked', { ...product, revokedAt: now() }))
  }
  if (random.oneIn(3)) return
  ofUser(userFact('UserDeactivated', { userId: of.userId, changedAt: now() }))
  ofRoles(roleFact('MembershipRevoked', { ...of, roleId: named.roleId, revokedAt: now() }))
  ofUser(userFact('UserMembershipRemoved', { ...of, removedAt: now() }))
  ofRoles(roleFact('RoleDeleted', { ...named, deletedAt: now() }))
  const organisationIds = [organisationId]
  if (random.oneIn(2)) return
  const erased = { userId: of.userId, organisationIds }
  ofUser(
    userFact('UserErasureStarted', { ...erased, changedAt: now() }),
    userFact('UserKeyDestroyed', { userId: of.userId, destroyedAt: now() }),
    userFact('UserErased', { ...erased, changedAt: now() }),
  )
}

/** A registration in two attempts, then an account that changes its state, a hold that expires and two password resets. */
export const keepAccount: Act = (story, random) => {
  const organisationId = tenantOfFact(story.id(random).toLowerCase())
  const of = { userId: story.id(random), membershipId: story.id(random), organisationId }
  const { userId } = of
  const hold = { ...of, holdId: story.id(random) }
  const { stream } = users.of(userId)
  const roles = organisationRoles.of(organisationId).stream
  const ofUser = (...facts: ReturnType<typeof userFact>[]) => story.append(organisationId, stream, ...facts)
  const ofRoles = (...facts: ReturnType<typeof roleFact>[]) => story.append(organisationId, roles, ...facts)
  ofUser(userFact('UserRegistrationStarted', { userId }), userFact('UserRegistrationAbandoned', { userId }))
  ofUser(userFact('UserRegistrationClearAttempted', { userId }))
  ofUser(userFact('UserRegistrationCleared', { userId }), userFact('UserRegistrationStarted', { userId }))
  if (random.oneIn(3)) return
  ofRoles(roleFact('MembershipRoleAssigned', of))
  ofUser(userFact('UserCreated', { userId, externalId: userId }), userFact('UserMembershipAdded', of))
  ofRoles(roleFact('MembershipHeld', hold))
  ofUser(userFact('UserHoldExpired', { userId, holdId: hold.holdId }))
  ofRoles(roleFact('MembershipHoldEnded', hold))
  ofUser(userFact('UserSuspended', { userId }), userFact('UserAccountAligned', { userId }))
  const reset = { userId, requestId: story.id(random) }
  ofUser(userFact('UserPasswordResetRequested', reset), userFact('UserPasswordResetAttempted', reset))
  ofUser(userFact('UserPasswordResetPostponed', reset), userFact('UserPasswordResetJoined', { userId }))
  if (random.oneIn(2)) ofUser(userFact('UserPasswordResetEnded', reset))
}

/** A claim that was released before the slow append of its membership. */
export const releaseMembership: Act = (story, random) => {
  const organisationId = tenantOfFact(story.id(random).toLowerCase())
  const of = { userId: story.id(random), membershipId: story.id(random), organisationId }
  const roles = organisationRoles.of(organisationId).stream
  const { stream } = users.of(of.userId)
  story.append(organisationId, stream, userFact('UserCreated', { userId: of.userId, externalId: of.userId }))
  story.append(organisationId, roles, roleFact('MembershipRoleAssigned', of))
  story.append(organisationId, roles, roleFact('MembershipReleased', of))
  if (random.oneIn(2)) story.append(organisationId, stream, userFact('UserMembershipAdded', of))
}

/** New permissions of a service, and a new description of one that is registered. */
export const registerPermissions: Act = (story, random, text) => {
  const one = { permissionId: story.id(random), permission: `clinic:x${story.id(random)}:read`, description: text }
  const { stream } = permissions.of()
  const append = (changes: Parameters<typeof permissionFact<'PermissionsRegistered'>>[1]) =>
    story.append(
      ids.org,
      stream,
      permissionFact('PermissionsRegistered', { ...changes, registeredAt: story.instant(random) }),
    )
  append({ created: [one], updated: [] })
  if (random.oneIn(2)) append({ created: [], updated: [{ ...one, description: null }] })
}
