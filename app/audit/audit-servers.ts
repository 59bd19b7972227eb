import type { Configuration, Environment } from '../../platform/configuration/configuration.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { createEgress, type Egress } from '../../platform/outbound/egress.ts'
import { connectObjectStore, type ObjectStore } from '../../platform/storage/object-store.ts'
import type { MasterKeyRing } from '../../platform/vault/master-keys.ts'
import { openVault, type Vault } from '../../platform/vault/vault.ts'
import { openEventStore, type EventStore } from '../../engine/store/event-store.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { findServers } from '../projections/servers.ts'
import { objectStoreNeeds, serverNeeds } from '../roles.ts'
import { clearly } from '../start-errors.ts'

/** What commands about the sealed log need. */
export interface AuditServers {
  readonly configuration: Configuration
  readonly store: EventStore
  readonly vault: Vault
  readonly objects: ObjectStore
  readonly egress: Egress
  close(): Promise<void>
}

/** Connects to the servers of the environment, or of a `platform up` that runs on the data folder. */
export async function openAuditServers(env: Environment, command = 'audit'): Promise<AuditServers> {
  const found = await findServers(env, [...serverNeeds, ...objectStoreNeeds], command)
  return connectAuditServers(found.configuration, await found.masterKeys())
}

export async function connectAuditServers(
  configuration: Configuration,
  masterKeys: MasterKeyRing,
): Promise<AuditServers> {
  const { vaultDatabaseUrl = '', esdbUrl = '' } = configuration
  const logger = createLogger({ level: 'silent' })
  const vault = await clearly('VAULT_DATABASE_URL', () => openVault({ url: vaultDatabaseUrl, masterKeys }))
  const store = await openEventStore({ url: esdbUrl, catalogue, vault, logger })
  const egress = createEgress({ configuration, logger })
  const objects = connectObjects(configuration)
  return {
    configuration,
    store,
    vault,
    objects,
    egress,
    async close() {
      objects.close()
      await egress.close()
      await store.close()
      await vault.close()
    },
  }
}

export function connectObjects({
  s3Endpoint: endpoint = '',
  s3Region: region,
  s3Bucket: bucket,
  s3AccessKeyId: accessKeyId = '',
  s3SecretAccessKey: secretAccessKey = '',
}: Configuration): ObjectStore {
  return connectObjectStore({ endpoint, region, bucket, accessKeyId, secretAccessKey, now: () => new Date() })
}
