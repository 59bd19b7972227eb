import type { Configuration } from '../platform/configuration/configuration.ts'
import { ensureDatabase } from '../platform/database/database.ts'
import type { Logger } from '../platform/observability/logging.ts'
import { openVault, type Vault } from '../platform/vault/vault.ts'
import { catalogue } from '../streams/catalogue.ts'
import { openEventStore, type EventStore } from '../engine/store/event-store.ts'
import { openMasterKeys } from './master-keys.ts'
import { clearly } from './start-errors.ts'

/** Does the work of one command with the configured event store and vault, and closes both. */
export async function onConfiguredServers<Result>(
  configuration: Configuration,
  logger: Logger,
  work: (opened: { readonly store: EventStore; readonly vault: Vault }) => Promise<Result>,
): Promise<Result> {
  const { vaultDatabaseUrl = '', esdbUrl = '' } = configuration
  await clearly('VAULT_DATABASE_URL', () => ensureDatabase(vaultDatabaseUrl))
  const vault = await openVault({ url: vaultDatabaseUrl, masterKeys: await openMasterKeys(configuration) })
  try {
    const store = await openEventStore({ url: esdbUrl, catalogue, vault, logger })
    try {
      return await clearly('VAULT_DATABASE_URL', () => work({ store, vault }))
    } finally {
      await store.close()
    }
  } finally {
    await vault.close()
  }
}
