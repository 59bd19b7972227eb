import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { userEvents, type UserEvent } from './events.ts'
import type { DataOf } from '../../engine/store/events.ts'

export type AccountState = DataOf<UserEvent, 'UserAccountAligned'>['account']

export interface UserMembership {
  readonly membershipId: string
  readonly organisationId: TenantId
  /** The role that it began with. */
  readonly firstRoleId: string
  readonly addedAt: string
  /** By product id. */
  readonly products: ReadonlyMap<string, ProductAccess>
}

export interface ProductAccess {
  readonly productAccessId: string
  readonly grantedAt: string
  /** Ids of later requests with a key that this grant answers. */
  readonly joinedIds: GrowingMap<true>
}

export interface PasswordReset {
  readonly requestId: string
  readonly attempts: number
  /** Null unless the last attempt was postponed. */
  readonly nextAttemptAt: string | null
  /** The attempt whose outcome is not recorded yet. */
  readonly open: { readonly attemptId: string; readonly leaseUntil: string } | null
}

export interface User extends Omit<DataOf<UserEvent, 'UserCreated'>, 'changedBy' | 'organisationIds'> {
  readonly status: 'active' | 'suspended' | 'deactivated' | 'erased'
  readonly updatedAt: string
  /** By membership id. */
  readonly memberships: ReadonlyMap<string, UserMembership>
  /** State of the account at the identity provider. Null after a change that concerns it, until the account follows. */
  readonly account: AccountState | null
  readonly passwordReset: PasswordReset | null
  /** The hold of a user who is not active; null for an active one. */
  readonly holdId: string | null
  /** Holds, and claims of an address, whose change can no longer happen. */
  readonly expiredHolds: readonly string[]
  /** Requests for a password reset and product accesses, also ended ones. A repeat of their keys changes nothing. */
  readonly usedIds: GrowingMap<true>
  /** Organisations that the user has belonged to since the account names its patient, also those that it has left. */
  readonly linkOrganisationIds: readonly TenantId[]
  /** Organisations of the user when its erasure started. */
  readonly formerOrganisationIds: readonly TenantId[]
  /** Null unless the user is erased. */
  readonly erasure: { readonly startedBy: string; readonly reached: 'started' | 'key_destroyed' | 'completed' } | null
}

export type UserState =
  | { readonly status: 'absent' }
  /** The identity provider is about to create the account. Readers see no user yet. */
  | (DataOf<UserEvent, 'UserRegistrationStarted'> & { readonly status: 'registering' })
  | {
      readonly status: 'abandoned'
      readonly userId: string
      readonly fingerprint: string | null
      readonly reason: DataOf<UserEvent, 'UserRegistrationAbandoned'>['reason']
      /** A worker may be deleting the account at the identity provider. */
      readonly clearing: { readonly attemptId: string; readonly leaseUntil: string } | null
      readonly isCleared: boolean
    }
  | User

/** A user that was created and whose erasure has not started. */
export function isUser(state: UserState): state is User & { readonly status: 'active' | 'suspended' | 'deactivated' } {
  return 'externalId' in state && state.status !== 'erased'
}

function evolve(state: UserState, event: UserEvent): UserState {
  switch (event.type) {
    case 'UserRegistrationStarted':
      return { ...event.data, status: 'registering' }
    case 'UserRegistrationAbandoned':
      return state.status === 'registering' ? abandoned(state, event.data.reason) : state
    case 'UserRegistrationClearAttempted': {
      const { attemptId, leaseUntil } = event.data
      return state.status === 'abandoned' ? { ...state, clearing: { attemptId, leaseUntil } } : state
    }
    case 'UserRegistrationCleared':
      return state.status === 'abandoned' ? { ...state, clearing: null, isCleared: true } : state
    case 'UserCreated': {
      const { changedBy: _, organisationIds: linkOrganisationIds, ...data } = event.data
      return {
        ...data,
        linkOrganisationIds,
        status: 'active',
        updatedAt: data.createdAt,
        memberships: new Map(),
        account: 'enabled',
        passwordReset: null,
        holdId: null,
        expiredHolds: [],
        usedIds: new GrowingMap(),
        formerOrganisationIds: [],
        erasure: null,
      }
    }
  }
  return 'externalId' in state ? changed(state, event) : state
}

function abandoned(
  { userId, fingerprint }: DataOf<UserEvent, 'UserRegistrationStarted'>,
  reason: DataOf<UserEvent, 'UserRegistrationAbandoned'>['reason'],
): UserState {
  return { status: 'abandoned', userId, fingerprint, reason, clearing: null, isCleared: false }
}

type Change = Exclude<UserEvent, { type: `UserRegistration${string}` | 'UserCreated' }>

function changed(user: User, event: Change): User {
  switch (event.type) {
    case 'UserChanged': {
      const { changedBy: _, changedAt, members, organisationIds, ...data } = event.data
      const account = concernsAccount(members) ? null : user.account
      const isSameLink = clinicalPatientOf(data) === clinicalPatientOf(user)
      const linkOrganisationIds = isSameLink ? user.linkOrganisationIds : organisationIds
      return { ...user, ...data, linkOrganisationIds, updatedAt: changedAt, account }
    }
    case 'UserSuspended':
      return withStatus(user, 'suspended', event.data.changedAt, event.data.holdId)
    case 'UserDeactivated':
      return withStatus(user, 'deactivated', event.data.changedAt, event.data.holdId)
    case 'UserReactivated':
      return withStatus(user, 'active', event.data.changedAt, null)
    case 'UserHoldExpired':
      return { ...user, expiredHolds: [...user.expiredHolds, event.data.holdId] }
    case 'UserErasureStarted': {
      const { changedAt, changedBy: startedBy, organisationIds, holdId } = event.data
      const erased = { email: null, displayName: null, practitionerProfile: null, patientAccount: null }
      const after = withStatus(user, 'erased', changedAt, holdId)
      return { ...after, ...erased, formerOrganisationIds: organisationIds, erasure: { startedBy, reached: 'started' } }
    }
    case 'UserKeyDestroyed':
      return { ...user, erasure: user.erasure && { ...user.erasure, reached: 'key_destroyed' } }
    case 'UserErased':
      return { ...user, erasure: user.erasure && { ...user.erasure, reached: 'completed' } }
    case 'UserMembershipAdded': {
      const { membershipId, organisationId, roleId: firstRoleId, addedAt } = event.data
      // The organisation's stream allows one membership, so an older one is only left over from a removal.
      const others = [...user.memberships].filter(([, other]) => other.organisationId !== organisationId)
      const added = { membershipId, organisationId, firstRoleId, addedAt, products: new Map() }
      const linkOrganisationIds = [...new Set([...user.linkOrganisationIds, organisationId])]
      return { ...user, linkOrganisationIds, memberships: new Map([...others, [membershipId, added]]) }
    }
    case 'UserMembershipRemoved': {
      const memberships = new Map(user.memberships)
      memberships.delete(event.data.membershipId)
      return { ...user, memberships }
    }
    case 'UserProductAccessGranted': {
      const { productId, productAccessId, grantedAt } = event.data
      return withProducts(withUsedId(user, productAccessId), event.data.membershipId, (products) =>
        products.set(productId, { productAccessId, grantedAt, joinedIds: new GrowingMap() }),
      )
    }
    case 'UserProductAccessJoined': {
      const { membershipId, productId, productAccessId } = event.data
      return withProducts(withUsedId(user, productAccessId), membershipId, (products) => {
        const access = products.get(productId)
        return access === undefined
          ? products
          : products.set(productId, { ...access, joinedIds: access.joinedIds.with(productAccessId, true) })
      })
    }
    case 'UserProductAccessRevoked':
      return withProducts(user, event.data.membershipId, (products) => {
        products.delete(event.data.productId)
        return products
      })
    case 'UserPasswordResetRequested':
      return {
        ...withUsedId(user, event.data.requestId),
        passwordReset: { requestId: event.data.requestId, attempts: 0, nextAttemptAt: null, open: null },
      }
    case 'UserPasswordResetJoined':
      return withUsedId(user, event.data.requestId)
    case 'UserPasswordResetAttempted': {
      const { requestId, attempt, attemptId, leaseUntil } = event.data
      const open = { attemptId, leaseUntil }
      return { ...user, passwordReset: { requestId, attempts: attempt, nextAttemptAt: null, open } }
    }
    case 'UserPasswordResetPostponed': {
      const { nextAttemptAt } = event.data
      return { ...user, passwordReset: user.passwordReset && { ...user.passwordReset, nextAttemptAt, open: null } }
    }
    case 'UserPasswordResetEnded':
      return { ...user, passwordReset: null }
    case 'UserAccountAligned':
      return { ...user, account: event.data.account }
  }
}

/** The clinical patient that an account names. */
export function clinicalPatientOf({ patientAccount }: Pick<User, 'patientAccount'>): string | null {
  return patientAccount?.clinicalPatientId ?? null
}

/** Whether the account at the identity provider has one of these members too. */
export function concernsAccount(members: readonly string[]): boolean {
  return members.some((member) => ['email', 'displayName', 'locale'].includes(member))
}

function withStatus(user: User, status: User['status'], updatedAt: string, holdId: string | null): User {
  return { ...user, status, updatedAt, holdId, account: null }
}

function withUsedId(user: User, id: string): User {
  return { ...user, usedIds: user.usedIds.with(id, true) }
}

type Products = Map<string, ProductAccess>

function withProducts(user: User, membershipId: string, change: (products: Products) => Products): User {
  const membership = user.memberships.get(membershipId)
  if (membership === undefined) return user
  const products = change(new Map(membership.products))
  return { ...user, memberships: new Map(user.memberships).set(membershipId, { ...membership, products }) }
}

/** No organisation owns a user's stream: a user may belong to several. */
export const users = defineAggregate({
  category: 'user',
  id: (userId: string) => userId,
  events: userEvents,
  initialState: { status: 'absent' },
  evolve,
})
