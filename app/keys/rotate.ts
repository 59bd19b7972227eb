import type { SigningPurpose } from '../../platform/kit/key-vault.ts'
import { publishedAheadMs } from '../../platform/vault/signing-keys.ts'
import type { Vault } from '../../platform/vault/vault.ts'

export interface RotatedKey {
  readonly purpose: SigningPurpose
  readonly kid: string
  /** Every process signs with it half a minute later at most. */
  readonly signs_from: string
}

/** Adds a key pair to the vault. Running processes publish it within half a minute, without a restart. */
export async function rotateKey(vault: Vault, purpose: SigningPurpose): Promise<RotatedKey> {
  const { kid } = await vault.rotateSigningKey(purpose)
  return { purpose, kid, signs_from: new Date(Date.now() + publishedAheadMs).toISOString() }
}
