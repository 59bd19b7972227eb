import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadConfiguration, type Environment } from '../../platform/configuration/configuration.ts'
import { ensureDatabase } from '../../platform/database/database.ts'
import { keepCredentials, registerClients, serviceClientOf } from '../../app/credentials.ts'
import type { Credentials } from '../../app/credentials-file.ts'
import { createMasterKeyFile, parseMasterKeys } from '../../platform/vault/master-keys.ts'
import { openVault } from '../../platform/vault/vault.ts'
import { catalogue } from '../../streams/catalogue.ts'
import type { StandIns } from '../../app/embedded.ts'
import { openEventStore } from '../../engine/store/event-store.ts'

/** The master keys of a data folder, created if missing. */
export async function masterKeys(dataDir: string): Promise<string> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const path = join(dataDir, 'master-keys')
  await createMasterKeyFile(path)
  return (await readFile(path, 'utf8')).trim()
}

/**
 * The first clients, registered as an operator does it before the start. `service` is the client setting of the roles.
 */
export async function prepareClients(
  env: Environment,
  standIns?: StandIns,
): Promise<{ credentials: Credentials; service: Record<string, string> }> {
  const configuration = loadConfiguration(env)
  const credentials = await keepCredentials(configuration, standIns)
  const { client_id: id, client_secret: secret } = serviceClientOf(credentials)
  const { vaultDatabaseUrl = '', esdbUrl = '' } = configuration
  await ensureDatabase(vaultDatabaseUrl)
  const vault = await openVault({ url: vaultDatabaseUrl, masterKeys: parseMasterKeys(configuration.masterKeys ?? '') })
  const store = await openEventStore({ url: esdbUrl, catalogue, vault })
  try {
    await registerClients(store, vault, credentials, new Date())
  } finally {
    await store.close()
    await vault.close()
  }
  return { credentials, service: { SERVICE_CLIENT_ID: id, SERVICE_CLIENT_SECRET: secret } }
}
