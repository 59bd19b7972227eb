import { Type, type Static } from 'typebox'
import { ChangedBy } from '../organisation-roles/events.ts'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'
import { Fingerprint, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'

export const UserType = Type.Enum(['clinician', 'admin', 'patient'])
export type UserType = Static<typeof UserType>

const ownTimes = { createdAt: Instant, updatedAt: Instant }

/** Professional details of a clinician. */
export const PractitionerProfile = Type.Object({
  id: Id,
  professionalId: Nullable(Type.String()),
  professionalIdType: Nullable(Type.String()),
  speciality: Nullable(Type.String()),
  credentials: Nullable(Type.String()),
  ...ownTimes,
})
export type PractitionerProfile = Static<typeof PractitionerProfile>

/** Link of a patient's user to the clinical record, and how the patient wants to be contacted. */
export const PatientAccount = Type.Object({
  id: Id,
  clinicalPatientId: Nullable(Type.String()),
  /** True or false for each channel. */
  contactPreferences: Nullable(Type.Record(Type.String(), Type.Boolean())),
  ...ownTimes,
})
export type PatientAccount = Static<typeof PatientAccount>

const profile = {
  email: Phi(Type.String()),
  displayName: Phi(Type.String()),
  /** BCP 47. */
  locale: Nullable(Type.String()),
  /** Null unless the user is a clinician. */
  practitionerProfile: Phi(Nullable(PractitionerProfile)),
  /** Null unless the user is a patient. */
  patientAccount: Phi(Nullable(PatientAccount)),
}
/** A user belongs to no organisation, so the platform owns the key of the user's personal data. */
const personal = { subject: 'userId', keyOwner: 'platform' } as const
const ofStatus = {
  userId: Id,
  externalId: Type.String(),
  organisationIds: Type.Array(OrgId),
  /** The hold by which the user's organisations do not count it as an active administrator. */
  holdId: Id,
  changedAt: Instant,
  changedBy: ChangedBy,
}
/** Users that were created before `organisationIds` was recorded. */
const createdUpcasters = { 1: (data: unknown) => ({ ...Object(data), organisationIds: [] }) }
const membership = { userId: Id, membershipId: Id, organisationId: OrgId }
const product = { ...membership, roleId: Id, productAccessId: Id, productId: Type.String() }
const reset = { userId: Id, requestId: Id }

export const userEvents = {
  /** Comes before the call that creates the account at the identity provider. Another attempt starts after `leaseUntil`. */
  UserRegistrationStarted: defineEvent(
    'UserRegistrationStarted',
    Type.Object({
      userId: Id,
      /** A later attempt has another id, so a slow one cannot complete it. */
      attemptId: Id,
      fingerprint: Fingerprint,
      startedAt: Instant,
      leaseUntil: Instant,
      changedBy: ChangedBy,
    }),
  ),
  /** The identity provider may still have an account for this user. A process removes it. */
  UserRegistrationAbandoned: defineEvent(
    'UserRegistrationAbandoned',
    Type.Object({
      userId: Id,
      reason: Type.Enum(['lease-ended', 'provider-unavailable', 'provider-rejected', 'address-in-use']),
      abandonedAt: Instant,
    }),
  ),
  /** Comes before the account is deleted. No other attempt starts until `leaseUntil`, or until the registration is cleared. */
  UserRegistrationClearAttempted: defineEvent(
    'UserRegistrationClearAttempted',
    Type.Object({ userId: Id, attemptId: Id, attemptedAt: Instant, leaseUntil: Instant }),
  ),
  /** The identity provider has no account for this user. */
  UserRegistrationCleared: defineEvent('UserRegistrationCleared', Type.Object({ userId: Id, clearedAt: Instant })),
  UserCreated: defineEvent(
    'UserCreated',
    Type.Object({
      userId: Id,
      /** Subject of the account at the identity provider. */
      externalId: Type.String(),
      userType: UserType,
      ...profile,
      /** The organisation of which the user is a member from the start, if any. */
      organisationIds: Type.Array(OrgId),
      createdAt: Instant,
      changedBy: ChangedBy,
      fingerprint: Fingerprint,
    }),
    { ...personal, version: 2, upcasters: createdUpcasters },
  ),
  /** The whole profile after the change. */
  UserChanged: defineEvent(
    'UserChanged',
    Type.Object({
      userId: Id,
      ...profile,
      /** Names of the changed members. */
      members: Type.Array(Type.String()),
      organisationIds: Type.Array(OrgId),
      changedAt: Instant,
      changedBy: ChangedBy,
    }),
    personal,
  ),
  UserSuspended: defineEvent('UserSuspended', Type.Object(ofStatus)),
  UserDeactivated: defineEvent('UserDeactivated', Type.Object(ofStatus)),
  UserReactivated: defineEvent('UserReactivated', Type.Object(ofStatus)),
  /**
   * A change that placed this hold took too long. It can no longer happen, so the hold may end. A change of address holds
   * the address by its claim, and the id is that of the claim.
   */
  UserHoldExpired: defineEvent('UserHoldExpired', Type.Object({ userId: Id, holdId: Id, expiredAt: Instant })),
  /** From here on the user is shown and changed no more. */
  UserErasureStarted: defineEvent('UserErasureStarted', Type.Object(ofStatus)),
  /** Nothing personal can be decrypted any more, and the erasure is in the ledger. */
  UserKeyDestroyed: defineEvent('UserKeyDestroyed', Type.Object({ userId: Id, destroyedAt: Instant })),
  /** The last event: no file of the vault has the key any more. */
  UserErased: defineEvent('UserErased', Type.Object(ofStatus)),
  /** The organisation's stream assigned the role before. */
  UserMembershipAdded: defineEvent(
    'UserMembershipAdded',
    Type.Object({ ...membership, roleId: Id, addedAt: Instant, changedBy: ChangedBy }),
  ),
  /** The organisation's stream revoked the membership before. */
  UserMembershipRemoved: defineEvent(
    'UserMembershipRemoved',
    Type.Object({ ...membership, removedAt: Instant, changedBy: ChangedBy }),
  ),
  UserProductAccessGranted: defineEvent(
    'UserProductAccessGranted',
    Type.Object({ ...product, grantedAt: Instant, changedBy: ChangedBy }),
  ),
  /** A request with a key, for a product that is granted already. That grant answers it, also when it is repeated. */
  UserProductAccessJoined: defineEvent(
    'UserProductAccessJoined',
    Type.Object({
      ...membership,
      productId: Type.String(),
      /** Of the request. The grant has another one. */
      productAccessId: Id,
      joinedAt: Instant,
      changedBy: ChangedBy,
    }),
  ),
  UserProductAccessRevoked: defineEvent(
    'UserProductAccessRevoked',
    Type.Object({ ...product, revokedAt: Instant, changedBy: ChangedBy }),
  ),
  UserPasswordResetRequested: defineEvent(
    'UserPasswordResetRequested',
    Type.Object({ ...reset, requestedAt: Instant, changedBy: ChangedBy }),
  ),
  /** A request with a key, while another one is under way. The message of that one answers it, also when it is repeated. */
  UserPasswordResetJoined: defineEvent(
    'UserPasswordResetJoined',
    Type.Object({ ...reset, joinedAt: Instant, changedBy: ChangedBy }),
  ),
  /** Comes before the call to the identity provider. */
  UserPasswordResetAttempted: defineEvent(
    'UserPasswordResetAttempted',
    Type.Object({
      ...reset,
      attemptId: Id,
      attempt: Type.Integer({ minimum: 1 }),
      attemptedAt: Instant,
      leaseUntil: Instant,
    }),
  ),
  UserPasswordResetPostponed: defineEvent(
    'UserPasswordResetPostponed',
    Type.Object({ ...reset, attemptId: Id, nextAttemptAt: Instant, postponedAt: Instant }),
  ),
  /** The identity provider sent the message, or will not send it. */
  UserPasswordResetEnded: defineEvent(
    'UserPasswordResetEnded',
    Type.Object({ ...reset, outcome: Type.Enum(['sent', 'rejected', 'unavailable', 'unknown']), endedAt: Instant }),
  ),
  /** The account at the identity provider has this state now. */
  UserAccountAligned: defineEvent(
    'UserAccountAligned',
    Type.Object({ userId: Id, account: Type.Enum(['enabled', 'disabled', 'deleted']), alignedAt: Instant }),
  ),
} as const

export type UserEvent = EventOf<typeof userEvents>
