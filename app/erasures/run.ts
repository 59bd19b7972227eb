import { ledgerText } from '../../contracts/clinical/erasure-ledger.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { openVault } from '../../platform/vault/vault.ts'
import { findServers } from '../projections/servers.ts'
import { clearly } from '../start-errors.ts'

/** Prints the ledger of erasures, from the vault of the environment or of the `platform up` over the data folder. */
export async function exportErasures(env: Environment, out: (text: string) => void): Promise<void> {
  const needs = ['DATABASE_URL', 'VAULT_DATABASE_URL', 'MASTER_KEYS']
  const { configuration, masterKeys } = await findServers(env, needs, 'erasures export')
  const ring = await masterKeys()
  const { vaultDatabaseUrl: url = '' } = configuration
  const vault = await clearly('VAULT_DATABASE_URL', () => openVault({ url, masterKeys: ring }))
  try {
    const lines: string[] = []
    for await (const entry of vault.erasures()) lines.push(ledgerText(entry))
    // All at once: an export that fails in the middle must not leave a file that looks whole.
    if (lines.length > 0) out(lines.join('\n'))
  } finally {
    await vault.close()
  }
}
