import { turningKinds, type SigningPurpose, type TurningKind } from '../../platform/kit/key-vault.ts'
import { publishedAheadMs } from '../../platform/vault/signing-keys.ts'
import type { Vault } from '../../platform/vault/vault.ts'

export interface RotatedKey {
  readonly purpose: SigningPurpose | TurningKind
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

function isTurning(purpose: SigningPurpose | TurningKind): purpose is TurningKind {
  return turningKinds.some((each) => each === purpose)
}
