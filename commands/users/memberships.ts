import type { TenantId } from '../../platform/kit/tenants.ts'
import { isUser, type UserState } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'

interface Command {
  readonly membershipId: string
  readonly changedBy: string
  readonly now: Date
}

export interface AddMembership extends Command {
  readonly organisationId: TenantId
  readonly roleId: string
}

/** The organisation's stream has decided already (`role-assignments.ts`). */
export function addMembership({ now, ...command }: AddMembership, state: UserState): Decision<UserEvent, 'not-found'> {
  if (!isUser(state)) return refused('not-found')
  if (state.memberships.has(command.membershipId)) return []
  return [{ type: 'UserMembershipAdded', data: { ...command, userId: state.userId, addedAt: now.toISOString() } }]
}

/** The organisation's stream has revoked the membership already. */
export function removeMembership({ membershipId, changedBy, now }: Command, state: UserState): Decision<UserEvent> {
  const membership = 'externalId' in state ? state.memberships.get(membershipId) : undefined
  if (membership === undefined || !('externalId' in state)) return []
  const { organisationId } = membership
  const data = { userId: state.userId, membershipId, organisationId, removedAt: now.toISOString(), changedBy }
  return [{ type: 'UserMembershipRemoved', data }]
}

interface ProductCommand extends Command {
  readonly productId: string
  /** Of the membership at this moment, for the public event. */
  readonly roleId: string
}

export interface GrantProduct extends ProductCommand {
  readonly productAccessId: string
  /** The request has a key, so it may be repeated after the grant that answers it was revoked. */
  readonly isKeyed: boolean
}

/** A product that was granted already is not granted again. A key grants one product once: a late repeat restores nothing. */
export function grantProduct(
  { now, isKeyed, ...command }: GrantProduct,
  state: UserState,
): Decision<UserEvent, 'not-found' | 'idempotency-key-reused'> {
  const membership = isUser(state) ? state.memberships.get(command.membershipId) : undefined
  if (membership === undefined || !isUser(state)) return refused('not-found')
  const { productAccessId, productId, membershipId, changedBy } = command
  const granted = membership.products.get(productId)
  if (granted?.productAccessId === productAccessId || granted?.joinedIds.has(productAccessId) === true) return []
  if (state.usedIds.has(productAccessId)) return refused('idempotency-key-reused')
  const { organisationId } = membership
  const ids = { userId: state.userId, membershipId, organisationId, productId, productAccessId, changedBy }
  const at = now.toISOString()
  if (granted === undefined)
    return [{ type: 'UserProductAccessGranted', data: { ...ids, roleId: command.roleId, grantedAt: at } }]
  return isKeyed ? [{ type: 'UserProductAccessJoined', data: { ...ids, joinedAt: at } }] : []
}

export function revokeProduct({ now, ...command }: ProductCommand, state: UserState): Decision<UserEvent, 'not-found'> {
  const membership = isUser(state) ? state.memberships.get(command.membershipId) : undefined
  const access = membership?.products.get(command.productId)
  if (membership === undefined || access === undefined || !isUser(state)) return refused('not-found')
  const { userId } = state
  const { organisationId } = membership
  const { productAccessId } = access
  const data = { ...command, userId, organisationId, productAccessId, revokedAt: now.toISOString() }
  return [{ type: 'UserProductAccessRevoked', data }]
}
