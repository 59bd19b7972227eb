import { ledgerText } from '../../contracts/clinical/erasure-ledger.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { openVault } from '../../platform/vault/vault.ts'
import { findServers } from '../projections/servers.ts'
import { clearly } from '../start-errors.ts'

/** Prints the ledger of erasures, from the vault of the environment or of the `platform up` over the data folder. */
export async function exportErasures(env: Environment, out: (line: string) => void): Promise<void> {
  const needs = ['DATABASE_URL', 'VAULT_DATABASE_URL', 'MASTER_KEYS']
  const { configuration, masterKeys } = await findServers(env, needs, 'erasures export')
  const ring = await masterKeys()
  const { vaultDatabaseUrl: url = '' } = configuration
  const vault = await clearly('VAULT_DATABASE_URL', () => openVault({ url, masterKeys: ring }))
  try {
    for await (const entry of vault.erasures()) out(ledgerText(entry))
  } finally {
    await vault.close()
  }
}
