import { organisationRoles } from '../../streams/organisation-roles/aggregate.ts'
import type { OrganisationRolesEvent } from '../../streams/organisation-roles/events.ts'
import { permissions } from '../../streams/permission/aggregate.ts'
import type { PermissionEvent } from '../../streams/permission/events.ts'
import { users } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import type { UsersChannelEvent } from '../../streams/channels/users.ts'
import { envelope } from './channel-facts.ts'
import { at, factsOf, hash, ids } from './facts.ts'

const id = (digits: string) => `00000000-0000-4000-8000-${digits.padStart(12, '0')}`

/** A clinician of the organisation, the role that the membership has, and a second role. */
export const userIds = {
  user: id('81'),
  otherUser: id('82'),
  role: id('83'),
  adminRole: id('84'),
  membership: id('85'),
  productAccess: id('86'),
  profile: id('87'),
  attempt: id('88'),
  hold: id('89'),
  reset: id('8a'),
  permission: id('8b'),
} as const

const { user: userId, role: roleId, membership: membershipId } = userIds
const organisationId = ids.org
const changedBy = ids.client
const externalId = 'provider-subject-1'
const profile = {
  email: 'canary-address@example.org',
  displayName: 'canary-name',
  locale: 'en-GB',
  practitionerProfile: {
    id: userIds.profile,
    professionalId: 'canary-professional-id',
    professionalIdType: 'GMC',
    speciality: 'canary-speciality',
    credentials: null,
    createdAt: at(1),
    updatedAt: at(1),
  },
  patientAccount: null,
}
/** The link of a patient's user to the clinical record. */
export function patientAccount(clinicalPatientId: string) {
  return { id: userIds.profile, clinicalPatientId, contactPreferences: null, createdAt: at(1), updatedAt: at(1) }
}

const membership = { userId, membershipId, organisationId }
const product = { ...membership, roleId, productAccessId: userIds.productAccess, productId: ids.product }
const status = { userId, externalId, organisationIds: [organisationId], holdId: userIds.hold }
const reset = { userId, requestId: userIds.reset }

export const userFact = factsOf<UserEvent>({
  UserRegistrationStarted: {
    userId,
    attemptId: userIds.attempt,
    fingerprint: hash('f'),
    startedAt: at(0),
    leaseUntil: at(25),
    changedBy,
  },
  UserRegistrationAbandoned: { userId, reason: 'lease-ended', abandonedAt: at(26) },
  UserRegistrationClearAttempted: { userId, attemptId: userIds.reset, attemptedAt: at(27), leaseUntil: at(47) },
  UserRegistrationCleared: { userId, clearedAt: at(27) },
  UserCreated: {
    userId,
    externalId,
    userType: 'clinician',
    ...profile,
    organisationIds: [organisationId],
    createdAt: at(1),
    changedBy,
    fingerprint: hash('f'),
  },
  UserChanged: {
    userId,
    ...profile,
    displayName: 'canary-new-name',
    members: ['displayName'],
    organisationIds: [organisationId],
    changedAt: at(5),
    changedBy,
  },
  UserSuspended: { ...status, changedAt: at(10), changedBy },
  UserDeactivated: { ...status, changedAt: at(11), changedBy },
  UserReactivated: { ...status, changedAt: at(12), changedBy },
  UserHoldExpired: { userId, holdId: userIds.hold, expiredAt: at(40) },
  UserErasureStarted: { ...status, changedAt: at(50), changedBy },
  UserKeyDestroyed: { userId, destroyedAt: at(52) },
  UserErased: { ...status, changedAt: at(53), changedBy },
  UserMembershipAdded: { ...membership, roleId, addedAt: at(1), changedBy },
  UserMembershipRemoved: { ...membership, removedAt: at(20), changedBy },
  UserProductAccessGranted: { ...product, grantedAt: at(2), changedBy },
  UserProductAccessJoined: {
    ...membership,
    productId: ids.product,
    productAccessId: userIds.hold,
    joinedAt: at(2),
    changedBy,
  },
  UserProductAccessRevoked: { ...product, revokedAt: at(3), changedBy },
  UserPasswordResetRequested: { ...reset, requestedAt: at(6), changedBy },
  UserPasswordResetJoined: { userId, requestId: userIds.hold, joinedAt: at(6), changedBy },
  UserPasswordResetAttempted: {
    ...reset,
    attemptId: userIds.attempt,
    attempt: 1,
    attemptedAt: at(7),
    leaseUntil: at(27),
  },
  UserPasswordResetPostponed: { ...reset, attemptId: userIds.attempt, nextAttemptAt: at(30), postponedAt: at(8) },
  UserPasswordResetEnded: { ...reset, outcome: 'sent', endedAt: at(8) },
  UserAccountAligned: { userId, account: 'disabled', alignedAt: at(13) },
})

const assignment = { membershipId, userId, organisationId }
const role = {
  roleId,
  organisationId,
  name: 'Clinician',
  description: 'Sees patients',
  isDefault: true,
  permissions: ['clinic:patients:read'],
  previousDefaultRoleId: null,
}

export const roleFact = factsOf<OrganisationRolesEvent>({
  RoleCreated: { ...role, createdAt: at(0), changedBy, fingerprint: hash('f') },
  RoleChanged: {
    ...role,
    permissions: ['clinic:patients:read', 'users:admin'],
    addedPermissions: ['users:admin'],
    removedPermissions: [],
    changedAt: at(4),
    changedBy,
  },
  RoleDeleted: { roleId, organisationId, deletedAt: at(30), changedBy },
  MembershipRoleAssigned: { ...assignment, roleId, assignedAt: at(0), changedBy, fingerprint: hash('f') },
  MembershipConfirmed: { ...assignment, holdId: null, confirmedAt: at(2) },
  MembershipReleased: { ...assignment, releasedAt: at(2) },
  MembershipRoleChanged: {
    ...assignment,
    previousRoleId: roleId,
    roleId: userIds.adminRole,
    changedAt: at(8),
    changedBy,
  },
  MembershipRevoked: { ...assignment, roleId, revokedAt: at(19), changedBy },
  MembershipHeld: { ...assignment, holdId: userIds.hold, heldAt: at(9) },
  MembershipHoldEnded: { ...assignment, holdId: userIds.hold, endedAt: at(13) },
})

export const permissionFact = factsOf<PermissionEvent>({
  PermissionsRegistered: {
    serviceId: 'clinic',
    clientId: ids.client,
    created: [{ permissionId: userIds.permission, permission: 'clinic:patients:read', description: 'Read patients' }],
    updated: [],
    registeredAt: at(0),
    changedBy,
  },
})

const organisations = { orgId: organisationId, organisationIds: [organisationId] }
const cause = (seconds: number) => ({ changedBy, timestamp: at(seconds) })
const account = { userId, externalId, ...organisations }
const ofOrganisation = { orgId: organisationId, userId, organisationId, membershipId }
const publicMembership = { ...ofOrganisation, roleId }
const publicProduct = { ...ofOrganisation, roleId, productId: ids.product }

/** The events of the users channel for the same story. */
export const usersPublicFact = factsOf<UsersChannelEvent>({
  'users.created': {
    userId,
    externalId,
    userType: 'clinician',
    ...organisations,
    ...cause(1),
    ...envelope('users.created', 1),
  },
  'users.updated': {
    userId,
    members: ['displayName'],
    ...organisations,
    ...cause(5),
    ...envelope('users.updated', 5),
  },
  'users.suspended': { ...account, ...cause(10), ...envelope('users.suspended', 10) },
  'users.deactivated': { ...account, ...cause(11), ...envelope('users.deactivated', 11) },
  'users.reactivated': { ...account, ...cause(12), ...envelope('users.reactivated', 12) },
  'users.erased': { userId, ...organisations, ...cause(50), ...envelope('users.erased', 50) },
  'users.membership.added': { ...publicMembership, ...cause(1), ...envelope('users.membership.added', 1) },
  'users.membership.removed': { ...publicMembership, ...cause(19), ...envelope('users.membership.removed', 19) },
  'users.product_access.granted': { ...publicProduct, ...cause(2), ...envelope('users.product_access.granted', 2) },
  'users.product_access.revoked': { ...publicProduct, ...cause(3), ...envelope('users.product_access.revoked', 3) },
  'users.role.changed': {
    ...ofOrganisation,
    previousRoleId: roleId,
    roleId: userIds.adminRole,
    ...cause(8),
    ...envelope('users.role.changed', 8),
  },
  'users.permissions.changed': {
    orgId: organisationId,
    roleId,
    organisationId,
    added: ['users:admin'],
    removed: [],
    ...cause(4),
    ...envelope('users.permissions.changed', 4),
  },
})

/** A user with both profiles: no personal member is null. */
export const completeUser = userFact('UserCreated', {
  patientAccount: {
    id: userIds.profile,
    clinicalPatientId: 'canary-patient',
    contactPreferences: { email: true },
    createdAt: at(1),
    updatedAt: at(1),
  },
})

/** A fact in the stream of the story. */
export const ofUser = (event: UserEvent) => ({ ...event, stream: users.of(userId).stream })
export const ofRoles = (event: OrganisationRolesEvent) => ({
  ...event,
  stream: organisationRoles.of(organisationId).stream,
})
export const ofPermissions = (event: PermissionEvent) => ({ ...event, stream: permissions.of().stream })
