import { v5 } from 'uuid'
import { recordRestored } from '../../commands/backups/record-backups.ts'
import { execute } from '../../engine/commands/execute.ts'
import type { BackupKeys } from '../../platform/backup/backup-keys.ts'
import { backupIds, openManifest, type OpenedManifest } from '../../platform/backup/manifests.ts'
import type { BackupPlace } from '../../platform/backup/place.ts'
import { verifyBackups, type BackupFault } from '../../platform/backup/verify-backups.ts'
import { loadConfiguration, type Configuration, type Environment } from '../../platform/configuration/configuration.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { comparePositions, formatPosition, parsePosition } from '../../platform/kit/positions.ts'
import { createGracefulStop } from '../../platform/lifecycle/graceful-stop.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import type { MasterKeyRing } from '../../platform/vault/master-keys.ts'
import { backupStream } from '../../streams/backups/aggregate.ts'
import { beginLogOfRestored } from '../audit/accept-older-log.ts'
import { connectAuditServers, type AuditServers } from '../audit/audit-servers.ts'
import { startEmbedded } from '../embedded.ts'
import { openMasterKeys } from '../master-keys.ts'
import { operatorAccount } from '../operator-account.ts'
import { clearly } from '../start-errors.ts'
import { backupContext, installationOf } from './create.ts'
import { enterErasures, readErasureFile } from './erasure-file.ts'
import { eventsText } from './events-text.ts'
import type { RestoreOrder } from './orders.ts'
import { beginRestoreFolder, replaceTakenPorts } from './restore-folder.ts'
import { proveRestore, type RestoreProof } from './prove-restore.ts'
import {
  destroyKeysOfLog,
  requireEmptyBucket,
  requireEventStoreOf,
  requireNewDatabase,
  requireSignedEvents,
} from './own-copy.ts'
import { everything } from './sources.ts'
import { fillObjects, fillVault, hasFile, openVaultsOf, writeFilesAndLog } from './restore-servers.ts'

export interface RestoredBackup {
  readonly backup: string
  readonly folder: string
  readonly position: string | null
  /** Null if the event store was restored by its own means. */
  readonly events: number | null
  /** When the last restored event was recorded. */
  readonly facts_until: string | null
  /** Keys of erased persons that newer backups or the given file name. */
  readonly erasures: number
  /** Embedded servers whose port was taken on this machine. */
  readonly other_ports: readonly string[]
  readonly proof: RestoreProof
}

/**
 * Makes a backup the data folder of a platform. Writes nothing unless the whole backup is intact.
 * @throws ConfigurationError, ManifestError
 */
export async function restoreBackup(
  env: Environment,
  place: BackupPlace,
  keys: BackupKeys,
  order: RestoreOrder,
): Promise<RestoredBackup | { readonly faults: readonly BackupFault[] }> {
  const configuration = loadConfiguration({ ...env, PLATFORM_DATA_DIR: order.folder })
  const ids = await backupIds(place)
  const id = order.id ?? ids.at(-1)
  if (id === undefined) throw new Error(`there is no backup in ${place.address}`)
  const opened = await openManifest(place, keys, id)
  await requireEventStoreOf(opened, configuration)
  const later = ids.filter((each) => each > id)
  const newer = await openVaultsOf(place, keys, later)
  const knowsErasures = order.acceptsLostErasures || order.erasures !== undefined
  if (newer.faults.length > 0 && !knowsErasures) return { faults: newer.faults.map(withRemedy) }
  if (newer.readable.length === 0 && !knowsErasures) throw lostErasures(opened)
  const { faults } = await verifyBackups(place, keys, [id])
  if (faults.length > 0) return { faults }
  if (configuration.masterKeys === undefined && !(await hasFile(place, opened, 'master-keys')))
    throw new ConfigurationError(
      'MASTER_KEYS must be set: the platform had them from its environment, so the backup does not contain them',
    )
  const listed = order.erasures === undefined ? [] : await readErasureFile(order.erasures)
  const { databaseUrl, s3Endpoint } = configuration
  if (databaseUrl !== undefined) await clearly('DATABASE_URL', () => requireNewDatabase(databaseUrl))
  if (s3Endpoint !== undefined) await requireEmptyBucket(configuration)
  const folder = await beginRestoreFolder(order.folder)
  try {
    await writeFilesAndLog(place, opened, order.folder)
    const other_ports = await replaceTakenPorts(order.folder)
    const { erasures, proof } = await onServers(configuration, env, async (found, masterKeys) => {
      const count = await fillVault(place, opened, newer.readable, { url: found.vaultDatabaseUrl ?? '', masterKeys })
      const servers = await connectAuditServers(found, masterKeys)
      try {
        await fillObjects(place, opened, servers.objects)
        await enterErasures(servers.vault, listed)
        await record(servers, opened)
        const proof = await proveRestore(servers, found.databaseUrl ?? '', new AbortController().signal)
        return { erasures: count + listed.length, proof }
      } finally {
        await servers.close()
      }
    })
    await folder.finish()
    const { position, events, facts_until } = opened.manifest
    return { backup: id, folder: order.folder, position, events, facts_until, erasures, other_ports, proof }
  } finally {
    folder.release()
  }
}

const remedy =
  'Add --erasures FILE with what "erasures export" printed, or --accept-lost-erasures if nobody was, or if you erase them again'

/** Who was erased after a backup would come back with it. A newer backup names them; nothing else does. */
function lostErasures({ manifest }: OpenedManifest): ConfigurationError {
  return new ConfigurationError(
    `no newer backup names who was erased after ${manifest.created_at}: such a person would come back. ${remedy}`,
  )
}

function withRemedy(fault: BackupFault): BackupFault {
  return { ...fault, detail: `${fault.detail}. This backup may name persons who were erased later. ${remedy}` }
}

/** The embedded servers of the folder, or those that the environment names. */
async function onServers<Result>(
  configuration: Configuration,
  env: Environment,
  work: (configuration: Configuration, masterKeys: MasterKeyRing) => Promise<Result>,
): Promise<Result> {
  const logger = createLogger({ level: 'silent' })
  const stop = createGracefulStop({ logger })
  try {
    const { environment } = await startEmbedded(configuration, { logger, stop, onLost: () => undefined })
    const masterKeys = await openMasterKeys(configuration)
    const { dataDir } = configuration
    return await work(loadConfiguration({ ...env, ...environment, PLATFORM_DATA_DIR: dataDir }), masterKeys)
  } finally {
    await stop.stop()
  }
}

/** The first events after the restored ones: they hold the calls, and begin a sealed log of their own. */
async function record(servers: AuditServers, { manifest }: OpenedManifest): Promise<void> {
  const { store, vault } = servers
  const { id, installation, position, facts_until: factsUntil, log_end: logEnd } = manifest
  if (installationOf(vault) !== installation) throw new Error('the restored vault is of another installation')
  const head = await store.head(everything)
  // The node has read the log again up to its end. Events of its own, such as metadata of streams, may come last.
  const end = parsePosition(position ?? '')
  if (end !== undefined && logEnd !== null && comparePositions(head, end) > 0)
    throw new Error(
      `the restored event store ends at ${formatPosition(head)}, behind the backup, ${formatPosition(end)}`,
    )
  if (logEnd === null) {
    await requireSignedEvents(store)
    await destroyKeysOfLog(servers)
  }
  const by = operatorAccount()
  const data = { backupId: id, position, factsUntil, restoredAt: new Date().toISOString(), by }
  await execute(store, backupStream, (state) => recordRestored(data, state), backupContext(v5('restored', id)))
  await beginLogOfRestored(servers, `restored from backup ${id}`)
}

export function restoredText({
  backup,
  folder,
  position,
  events,
  facts_until,
  erasures,
  other_ports,
  proof,
}: RestoredBackup): string {
  return [
    `Backup ${backup} is restored in ${folder}: ${eventsText(events)} up to position ${position ?? 'none'}.`,
    `It has facts until ${facts_until ?? 'never'}. What came later is lost.`,
    ...(erasures === 0 ? [] : [`${erasures} keys of persons who were erased later are destroyed here too.`]),
    ...(other_ports.length === 0 ? [] : [`Ports that are taken here were replaced: ${other_ports.join(', ')}.`]),
    `${proof.events.toLocaleString('en')} events were verified. ${proof.equal} read models were filled, filled again and compared: ${proof.faults.length === 0 ? 'all are equal' : 'NOT all are equal'}.`,
    ...proof.faults.map((fault) => `FAULT ${fault}`),
    ...proof.keys_missing.map((what) => `KEY MISSING for ${what}`),
    `Start it with PLATFORM_DATA_DIR=${folder}. It calls no other system before "platform backup release".`,
  ].join('\n')
}
