import type { EventStore } from '../../engine/store/event-store.ts'
import { turningKinds, type SigningPurpose, type TurningKind } from '../../platform/kit/key-vault.ts'
import { publishedAheadMs } from '../../platform/vault/signing-keys.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { RotatedPurpose } from './orders.ts'
import { rotateEventKey } from './rotate-event-key.ts'

export interface RotatedKey {
  readonly purpose: RotatedPurpose
  readonly kid: string
  /** Every process signs with it half a minute later at most. */
  readonly signs_from: string
}

/** Adds a key to the vault. Running processes use it within half a minute, without a restart; key pairs are published first. */
export async function rotateKey(vault: Vault, purpose: SigningPurpose | TurningKind): Promise<RotatedKey> {
  const nowMs = Date.now()
  if (isTurning(purpose))
    return { purpose, kid: await vault.rotateSecret(purpose), signs_from: new Date(nowMs).toISOString() }
  const { kid } = await vault.rotateSigningKey(purpose)
  return { purpose, kid, signs_from: new Date(nowMs + publishedAheadMs).toISOString() }
}

/** Gives events another key to be signed with. */
export async function rotateEvents(servers: {
  readonly store: EventStore
  readonly vault: Vault
}): Promise<RotatedKey> {
  const now = new Date()
  return { purpose: 'event-signature', kid: await rotateEventKey(servers, now), signs_from: now.toISOString() }
}

function isTurning(purpose: SigningPurpose | TurningKind): purpose is TurningKind {
  return turningKinds.some((each) => each === purpose)
}
