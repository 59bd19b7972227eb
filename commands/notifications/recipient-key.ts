import { comparedChannel } from '../../contracts/notifications/settings.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { addressKey } from '../users/user-reservations.ts'

/**
 * HMAC by which lists find the notifications to a recipient. The reference itself is stored encrypted only. Addresses
 * and chat channels are compared as suppressions are. A chat channel has another form than an address and a user id, so
 * the reference is enough without its type.
 */
export function recipientKeyOf(vault: Pick<Vault, 'fingerprint'>, recipientRef: string): string {
  return vault.fingerprint(`notification recipient\0${comparable(recipientRef)}`)
}

function comparable(recipientRef: string): string {
  if (recipientRef.includes('@')) return addressKey(recipientRef)
  return comparedChannel(recipientRef)
}
