import type { Environment } from '../platform/configuration/configuration.ts'
import type { SigningPurpose } from '../platform/kit/key-vault.ts'
import { publishedAheadMs } from '../platform/vault/signing-keys.ts'
import { openVault } from '../platform/vault/vault.ts'
import { findServers } from './projections/servers.ts'
import { clearly } from './start-errors.ts'

export interface RotatedKey {
  readonly purpose: SigningPurpose
  readonly kid: string
  /** Every process signs with it half a minute later at most. */
  readonly signs_from: string
}

// Postgres databases are named together.
const needs = ['DATABASE_URL', 'VAULT_DATABASE_URL', 'MASTER_KEYS']

/**
 * Adds a key pair to the vault of the environment, or of the `platform up` that runs on the data folder. Running
 * processes publish it within half a minute, without a restart.
 */
export async function rotateKeyOf(env: Environment, purpose: SigningPurpose): Promise<RotatedKey> {
  const { configuration, masterKeys } = await findServers(env, needs, 'keys rotate')
  const { vaultDatabaseUrl: url = '' } = configuration
  const ring = await masterKeys()
  const vault = await clearly('VAULT_DATABASE_URL', () => openVault({ url, masterKeys: ring }))
  try {
    const { kid } = await vault.rotateSigningKey(purpose)
    return { purpose, kid, signs_from: new Date(Date.now() + publishedAheadMs).toISOString() }
  } finally {
    await vault.close()
  }
}
