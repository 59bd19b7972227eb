import { catalogue } from '../../streams/catalogue.ts'
import { openEventStore, type EventStore } from '../../engine/store/event-store.ts'
import { loadConfiguration, type Configuration, type Environment } from '../../platform/configuration/configuration.ts'
import { createPool, isDatabaseMissing, type Pool } from '../../platform/database/database.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import type { MasterKeyRing } from '../../platform/vault/master-keys.ts'
import { openVault } from '../../platform/vault/vault.ts'
import { openMasterKeys } from '../master-keys.ts'
import { requireVariables, serverNeeds } from '../roles.ts'
import { readServers, serversFile } from '../servers-file.ts'
import { clearly } from '../start-errors.ts'

/** The servers of a running system, for a separate command. Each connection opens on first use. */
export interface OpenServers {
  /** The read models. */
  readonly pool: Pool
  readonly configuration: Configuration
  eventStore(): Promise<EventStore>
  close(): Promise<void>
}

interface FoundServers {
  readonly configuration: Configuration
  readonly masterKeys: () => Promise<MasterKeyRing>
  /** Where the operator finds the address of a server that does not answer. */
  readonly foundIn: string
}

const addresses = ['ESDB_URL', 'DATABASE_URL', 'VAULT_DATABASE_URL'] as const
/** In milliseconds. Filling, indexing and comparing a large read model takes long statements. */
const statementTimeoutMs = 3_600_000

/**
 * Connects to the read models of the environment's servers, or of a `platform up` that runs on the data folder.
 * @throws ConfigurationError, and an Error that names the server that does not answer
 */
export async function openServers(env: Environment, command = 'projections'): Promise<OpenServers> {
  const { configuration, masterKeys, foundIn } = await findServers(env, serverNeeds, command)
  const { databaseUrl = '', vaultDatabaseUrl = '', esdbUrl = '' } = configuration
  const logger = createLogger({ level: 'silent' })
  const pool = createPool({ url: databaseUrl, max: 8, statementTimeoutMs, name: 'platform projections', logger })
  const closers: (() => Promise<void>)[] = [() => pool.end()]
  let opening: Promise<EventStore> | undefined
  let isClosed = false
  const end = async (): Promise<void> => {
    for (const each of closers.splice(0).toReversed()) await each()
  }
  /** Also what is being opened, which would keep the process alive. */
  const close = async (): Promise<void> => {
    isClosed = true
    await end()
    await opening?.catch(() => undefined)
    await end()
  }
  const reach = async <Result>(variable: string, work: () => Promise<Result>): Promise<Result> => {
    try {
      return await clearly(variable, work)
    } catch (error) {
      if (isDatabaseMissing(error))
        throw new Error(`the database of ${variable} does not exist (${foundIn})`, { cause: error })
      const message = error instanceof Error ? error.message : String(error)
      throw new Error(`${message} (${foundIn})`, { cause: error })
    }
  }
  // From then on the caller closes. Without an event store it may still read the database.
  await reach('DATABASE_URL', () => pool.query('select 1')).catch(async (error: unknown) => {
    await close()
    throw error
  })

  async function connect(): Promise<EventStore> {
    const keys = await masterKeys()
    const vault = await reach('VAULT_DATABASE_URL', () => openVault({ url: vaultDatabaseUrl, masterKeys: keys }))
    closers.push(() => vault.close())
    if (isClosed) throw new Error('the servers were closed')
    const store = await openEventStore({ url: esdbUrl, catalogue, vault, logger })
    closers.push(() => store.close())
    await reach('ESDB_URL', () => store.readMetadata('health'))
    return store
  }
  return { pool, configuration, eventStore: () => (opening ??= connect()), close }
}

/**
 * The servers of the environment if it names all that the command needs, else those of a `platform up` that runs on the
 * data folder.
 * @throws ConfigurationError
 */
export async function findServers(env: Environment, needs: readonly string[], command: string): Promise<FoundServers> {
  const configuration = loadConfiguration(env)
  const isGiven = (name: string) => env[name] !== undefined && env[name] !== ''
  const masterKeys = () => openMasterKeys(configuration)
  if (needs.every(isGiven)) return { configuration, masterKeys, foundIn: 'as the environment names it' }
  const { dataDir } = configuration
  const servers = await readServers(dataDir)
  // Mixed addresses of two systems would fill tables from foreign events.
  const isOfTheirs = servers !== undefined && addresses.every((name) => !isGiven(name) || env[name] === servers[name])
  if (!isOfTheirs) {
    const otherwise =
      servers === undefined
        ? `no platform runs over ${dataDir} (PLATFORM_DATA_DIR)`
        : `the servers named there are not those of the platform over ${dataDir} (PLATFORM_DATA_DIR)`
    requireVariables(env, needs, command, otherwise)
    throw new ConfigurationError(otherwise)
  }
  return {
    configuration: loadConfiguration({ ...env, ...servers }),
    masterKeys,
    foundIn: `as ${serversFile(dataDir)} names it: is that platform still running?`,
  }
}
