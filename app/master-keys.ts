import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Configuration } from '../platform/configuration/configuration.ts'
import { ConfigurationError } from '../platform/configuration/profile-rules.ts'
import { createEgress, type Egress } from '../platform/outbound/egress.ts'
import { masterKeyFile, newMasterKey, parseMasterKeys, type MasterKeyRing } from '../platform/vault/master-keys.ts'
import { unwrapMasterKeys, wrappedMasterKey, type TransitSettings } from '../platform/vault/transit.ts'

/**
 * The master keys of this process: those of MASTER_KEYS, else those of the data folder. With a transit engine they are
 * unwrapped here, and then stay in memory.
 * @param makesFile a file that is missing is made, with a first key
 * @throws MasterKeyError, ConfigurationError
 */
export async function openMasterKeys(configuration: Configuration, makesFile = false): Promise<MasterKeyRing> {
  const { masterKeys, dataDir } = configuration
  const text = masterKeys ?? (await textOfFile(join(dataDir, 'master-keys'), configuration, makesFile))
  const transit = transitOf(configuration)
  if (transit === undefined) return parseMasterKeys(text)
  return parseMasterKeys(await withEgress(configuration, (egress) => unwrapMasterKeys(text, transit, egress)))
}

/** A new master key as an entry of MASTER_KEYS: wrapped by the transit engine if there is one. */
export async function makeMasterKey(configuration: Configuration, id: string): Promise<string> {
  const transit = transitOf(configuration)
  return transit === undefined
    ? newMasterKey(id)
    : withEgress(configuration, (egress) => wrappedMasterKey(id, transit, egress))
}

async function textOfFile(file: string, configuration: Configuration, makesFile: boolean): Promise<string> {
  if (makesFile) return masterKeyFile(file, (id) => makeMasterKey(configuration, id))
  const isThere = await stat(file).then(
    () => true,
    () => false,
  )
  if (!isThere)
    throw new ConfigurationError(
      `MASTER_KEYS must be set: ${file} does not exist, so the platform was started with keys of its own`,
    )
  return masterKeyFile(file)
}

/** The settings are complete: the configuration was checked. */
function transitOf({
  masterKeyProvider,
  transitUrl,
  transitKey,
  transitToken,
}: Configuration): TransitSettings | undefined {
  if (masterKeyProvider !== 'transit') return undefined
  return { url: transitUrl ?? '', key: transitKey ?? '', token: transitToken ?? '' }
}

async function withEgress<Result>(
  configuration: Configuration,
  work: (egress: Egress) => Promise<Result>,
): Promise<Result> {
  const egress = createEgress({ configuration })
  try {
    return await work(egress)
  } finally {
    await egress.close()
  }
}
