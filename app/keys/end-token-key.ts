import { v7 } from 'uuid'
import { execute } from '../../engine/commands/execute.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { operatorAccount } from '../operator-account.ts'
import { tokenKeys, type TokenKeyState } from '../../streams/token-key/aggregate.ts'
import type { TokenKeyEvent } from '../../streams/token-key/events.ts'

export interface EndedKey {
  readonly kid: string
  /** The key that signs from now on. */
  readonly signs: string
}

/**
 * Ends a key that signs tokens. The event comes first: every process then refuses its tokens and signs with another key.
 * The key is destroyed last. A repeat completes what was cut off.
 * @throws Error if the vault never had the key
 */
export async function endTokenKey(
  { store, vault }: { readonly store: EventStore; readonly vault: Vault },
  kid: string,
  now: Date,
): Promise<EndedKey> {
  const keys = (await vault.inventory()).keys.filter(({ purpose }) => purpose === 'token')
  const hasEnded = async (id: string) => (await store.load(tokenKeys.of(id))).state.hasEnded
  if (!keys.some(({ id }) => id === kid) && !(await hasEnded(kid)))
    throw new Error(`the vault has no key ${kid} for tokens: keys list names them`)
  let isAlone = true
  for (const { id, status } of keys) {
    if (id === kid) continue
    // Without its successor such a key would sign again, or none would.
    if (status === 'ended' || (await hasEnded(id))) await vault.destroySigningKey('token', id)
    else isAlone = false
  }
  // Otherwise no key would sign between the event and the new key.
  if (isAlone) await vault.rotateSigningKey('token')
  const data = { kid, endedBy: operatorAccount(), endedAt: now.toISOString() }
  const context = { commandId: v7(), correlationId: v7(), process: 'keys' }
  const decide = (state: TokenKeyState): TokenKeyEvent[] => (state.hasEnded ? [] : [{ type: 'TokenKeyEnded', data }])
  await execute(store, tokenKeys.of(kid), decide, context)
  await vault.destroySigningKey('token', kid)
  vault.endSigningKey('token', kid)
  // Another operator may have ended the others meanwhile. The last one of both finds none.
  if ((await vault.publicKeys('token')).length === 0) await vault.rotateSigningKey('token')
  return { kid, signs: (await vault.signingKey('token')).kid }
}
