import { v5 } from 'uuid'
import { comparedAddress } from '../../platform/kit/mail-address.ts'
import { noOrganisation, type CommandContext, type TenantId } from '../../platform/kit/tenants.ts'
import { isUser, users, type UserState } from '../../streams/user/aggregate.ts'
import { execute } from '../../engine/commands/execute.ts'
import {
  holderOf,
  reserve,
  reservationsOf,
  type OwnerState,
  type ReservationRequest,
  type ReservationResult,
  type Reservations,
} from '../../engine/commands/reservations.ts'
import { expireHold } from './status.ts'

export function addressKey(email: string): string {
  return `email\0${comparedAddress(email)}`
}

export function subjectKey(externalId: string): string {
  return `subject\0${externalId}`
}

type ReservationDependencies = Parameters<typeof reservationsOf>[0]

/**
 * Reserves an e-mail address or an identity-provider subject for a user, across all organisations. A user who may have
 * given up the key, and takes it again, renews the reservation.
 */
export async function reserveForUser(
  deps: ReservationDependencies,
  request: Pick<ReservationRequest, 'key' | 'fingerprint' | 'isRenewing'> & { readonly userId: string },
  context: CommandContext,
): Promise<ReservationResult> {
  const { userId, ...reservation } = request
  const owner = { ownerId: userId, ownerStream: users.of(userId).stream }
  const named = { ...context, commandId: v5(`reserve ${userId}`, context.commandId) }
  return reserve(userReservations(deps), { ...reservation, ...owner, orgId: noOrganisation }, named)
}

/** The user who has the address, or null. Read from the streams. */
export function holderOfAddress(deps: ReservationDependencies, email: string): Promise<string | null> {
  return holderOf(userReservations(deps), noOrganisation, addressKey(email))
}

/** The member of the organisation who has the address. Read from the streams, so the answer is current. */
export async function userWithAddress(
  deps: ReservationDependencies,
  email: string,
  orgId: TenantId,
): Promise<string | null> {
  const userId = await holderOfAddress(deps, email)
  if (userId === null) return null
  const { state } = await deps.store.load(users.of(userId))
  const isMember = isUser(state) && [...state.memberships.values()].some((one) => one.organisationId === orgId)
  return isMember ? userId : null
}

function userReservations(deps: ReservationDependencies): Reservations {
  const { store, now } = deps
  return reservationsOf(
    deps,
    async (ownerStream, key) => ownerStateOf((await store.load(users.at(ownerStream))).state, key),
    async ({ claimId, ownerStream, key }, context) => {
      const command = { holdId: claimId, now: now() }
      const expireLacking = (state: UserState) =>
        ownerStateOf(state, key) === 'lacking' ? expireHold(command, state) : []
      const { state } = await execute(store, users.at(ownerStream), expireLacking, context)
      return ownerStateOf(state, key)
    },
  )
}

/** While the account is created, the user has what it reserved. */
function ownerStateOf(state: UserState, key: string): OwnerState {
  if (state.status === 'absent') return 'absent'
  if (state.status === 'registering') return 'present'
  if (!isUser(state)) return 'revoked'
  const holds = key === subjectKey(state.externalId) || (state.email !== null && key === addressKey(state.email))
  return holds ? 'present' : 'lacking'
}
