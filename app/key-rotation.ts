import type { Configuration } from '../platform/configuration/configuration.ts'
import type { SigningPurpose } from '../platform/kit/key-vault.ts'
import { parseMasterKeys } from '../platform/vault/master-keys.ts'
import { publishedAheadMs } from '../platform/vault/signing-keys.ts'
import { openVault } from '../platform/vault/vault.ts'
import { clearly } from './start-errors.ts'

export interface RotatedKey {
  readonly purpose: SigningPurpose
  readonly kid: string
  /** Every process signs with it half a minute later at most. */
  readonly signs_from: string
}

/** Adds a key pair to the vault. Running processes publish it within half a minute, without a restart. */
export async function rotateKeyOf(
  { vaultDatabaseUrl = '', masterKeys = '' }: Pick<Configuration, 'vaultDatabaseUrl' | 'masterKeys'>,
  purpose: SigningPurpose,
): Promise<RotatedKey> {
  const vault = await clearly('VAULT_DATABASE_URL', () =>
    openVault({ url: vaultDatabaseUrl, masterKeys: parseMasterKeys(masterKeys) }),
  )
  try {
    const { kid } = await vault.rotateSigningKey(purpose)
    return { purpose, kid, signs_from: new Date(Date.now() + publishedAheadMs).toISOString() }
  } finally {
    await vault.close()
  }
}
