import { v5 } from 'uuid'
import { noOrganisation, type CommandContext } from '../../platform/kit/tenants.ts'
import { isUser, users, type UserState } from '../../streams/user/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import {
  reserve,
  reservationsOf,
  type OwnerState,
  type ReservationRequest,
  type ReservationResult,
} from '../handling/reservations.ts'

/** The form in which e-mail addresses are compared: without case, after NFC. */
export function comparedAddress(email: string): string {
  return email.normalize('NFC').toLowerCase().normalize('NFC')
}

export function addressKey(email: string): string {
  return `email\0${comparedAddress(email)}`
}

export function subjectKey(externalId: string): string {
  return `subject\0${externalId}`
}

/**
 * Reserves an e-mail address or an identity-provider subject for a user, across all organisations. A user who may have
 * given the key up and wants it again renews its reservation.
 */
export async function reserveForUser(
  deps: CommandDependencies,
  request: Pick<ReservationRequest, 'key' | 'fingerprint' | 'isRenewing'> & { readonly userId: string },
  context: CommandContext,
): Promise<ReservationResult> {
  const reservations = reservationsOf(deps, async (ownerStream, key) => {
    const { state } = await deps.store.load(users.at(ownerStream))
    return ownerStateOf(state, key)
  })
  const { userId, ...reservation } = request
  const owner = { ownerId: userId, ownerStream: users.of(userId).stream }
  const named = { ...context, commandId: v5(`reserve ${userId}`, context.commandId) }
  return reserve(reservations, { ...reservation, ...owner, orgId: noOrganisation }, named)
}

/** While the account is created, the user has what it reserved. */
function ownerStateOf(state: UserState, key: string): OwnerState {
  if (state.status === 'absent') return 'absent'
  if (state.status === 'registering') return 'present'
  if (!isUser(state)) return 'revoked'
  const holds = key === subjectKey(state.externalId) || (state.email !== null && key === addressKey(state.email))
  return holds ? 'present' : 'lacking'
}
