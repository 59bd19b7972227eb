import { createErasureGuard } from '../contracts/clinical/erasure-guard.ts'
import { followPatientErasures, type FollowedPatientErasures } from '../contracts/clinical/followed-erasures.ts'
import { followErasures } from '../contracts/users/erasures.ts'
import type { Configuration } from '../platform/configuration/configuration.ts'
import { ConfigurationError } from '../platform/configuration/profile-rules.ts'
import { areSameDatabase, createPool, ensureDatabase, type Pool } from '../platform/database/database.ts'
import type { Tracer } from '../platform/kit/tracing.ts'
import type { GracefulStop } from '../platform/lifecycle/graceful-stop.ts'
import type { Logger } from '../platform/observability/logging.ts'
import type { OutsideCalls } from '../platform/outbound/outside-calls.ts'
import { connectObjectStore, type ObjectStore } from '../platform/storage/object-store.ts'
import type { MasterKeyRing } from '../platform/vault/master-keys.ts'
import { openVault, type Vault } from '../platform/vault/vault.ts'
import { ensureRuntimeSchema } from '../engine/projections/schema.ts'
import { catalogue } from '../streams/catalogue.ts'
import { openEventStore, type EndedAppend, type EventStore } from '../engine/store/event-store.ts'
import { requireBucket } from './bucket-check.ts'
import { appTables } from './runtime-tables.ts'
import { clearly } from './start-errors.ts'

interface Opening {
  readonly configuration: Configuration
  readonly masterKeys: MasterKeyRing
  readonly logger: Logger
  readonly stop: GracefulStop
  readonly now: () => Date
  readonly filter: { readonly streamPrefixes: readonly string[] }
  readonly onAppend: (append: EndedAppend) => void
  readonly tracer: Tracer
}

/** What every role needs. It closes when the process stops. */
interface Resources {
  readonly databaseUrl: string
  /** The database of the read models and of the to-do lists. */
  readonly pool: Pool
  readonly vault: Vault
  readonly store: EventStore
  /** The erasures of patients, as far as this process knows. */
  readonly erasures: FollowedPatientErasures
}

/** A stop waits so long for an event store that is away, in milliseconds. Its leader may just change. */
const stopWaitMs = 2_000

/** Connects to both databases and to the event store. From then on the process follows erasures. */
export async function openResources(opening: Opening): Promise<Resources> {
  const { configuration, masterKeys, logger, stop, now, filter, onAppend, tracer } = opening
  const databaseUrl = required(configuration.databaseUrl, 'DATABASE_URL')
  const vaultUrl = required(configuration.vaultDatabaseUrl, 'VAULT_DATABASE_URL')
  await Promise.all([
    clearly('DATABASE_URL', () => ensureDatabase(databaseUrl)),
    clearly('VAULT_DATABASE_URL', () => ensureDatabase(vaultUrl)),
  ])
  if (await clearly('VAULT_DATABASE_URL', () => areSameDatabase(databaseUrl, vaultUrl))) {
    throw new ConfigurationError(
      'VAULT_DATABASE_URL must be another database than DATABASE_URL: both lead to the same one',
    )
  }
  const vault = await clearly('VAULT_DATABASE_URL', () => openVault({ url: vaultUrl, masterKeys }))
  stop.onStop('resources', 'vault', () => vault.close())
  const esdbUrl = required(configuration.esdbUrl, 'ESDB_URL')
  const guard = createErasureGuard(vault)
  const store = await openEventStore({ url: esdbUrl, catalogue, vault, guard, now, logger, onAppend, tracer })
  stop.signal.addEventListener('abort', () => store.hurry(stopWaitMs))
  stop.onStop('resources', 'event store', () => store.close())
  const from = await clearly('ESDB_URL', () => store.head(filter))
  const ofUsers = followErasures({ store, vault, from, logger })
  stop.onStop('work', 'erasures', () => ofUsers.close())
  const erasures = followPatientErasures({ store, vault, logger })
  stop.onStop('work', 'erasures of patients', () => erasures.close())
  const pool = createPool({ url: databaseUrl, max: 20, logger, name: 'platform' })
  stop.onStop('resources', 'database', () => pool.end())
  await ensureRuntimeSchema(pool, appTables)
  return { databaseUrl, pool, vault, store, erasures }
}

export async function openObjectStore({
  configuration,
  stop,
  now,
  calls,
}: Pick<Opening, 'configuration' | 'stop' | 'now'> & { readonly calls: OutsideCalls }): Promise<ObjectStore> {
  const objects = connectObjectStore({
    endpoint: required(configuration.s3Endpoint, 'S3_ENDPOINT'),
    publicEndpoint: configuration.s3PublicEndpoint,
    region: configuration.s3Region,
    bucket: configuration.s3Bucket,
    accessKeyId: required(configuration.s3AccessKeyId, 'S3_ACCESS_KEY_ID'),
    secretAccessKey: required(configuration.s3SecretAccessKey, 'S3_SECRET_ACCESS_KEY'),
    now,
    calls,
  })
  stop.onStop('resources', 'object store', () => objects.close())
  await requireBucket(configuration)
  return objects
}

/** The embedded default sets it if the environment does not. Without it there is no address to connect to. */
function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new Error(`${name} must be set`)
  return value
}
