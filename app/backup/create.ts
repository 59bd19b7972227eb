import { resolve, sep } from 'node:path'
import { recordVerified } from '../../commands/backups/record-backups.ts'
import { execute } from '../../engine/commands/execute.ts'
import type { BackupKeys } from '../../platform/backup/backup-keys.ts'
import { ChunkStore } from '../../platform/backup/chunks.ts'
import { toLines, type Entry } from '../../platform/backup/index-lines.ts'
import { claimPlace, nextBackupId, putManifest, putVerified, type Manifest } from '../../platform/backup/manifests.ts'
import type { BackupPlace } from '../../platform/backup/place.ts'
import { verifyBackups, type BackupFault } from '../../platform/backup/verify-backups.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import { backupStream } from '../../streams/backups/aggregate.ts'
import { openAuditServers, type AuditServers } from '../audit/audit-servers.ts'
import { eventsText } from './events-text.ts'
import { copyEventStore, storeSources } from './sources.ts'
import { faultLines } from './verify.ts'

export interface CreatedBackup extends Omit<Manifest, 'format' | 'index' | 'installation' | 'log_end'> {
  /** Bytes that the place did not have before. */
  readonly new_bytes: number
  /** Null if it has faults. */
  readonly verified_at: string | null
  readonly faults: readonly BackupFault[]
}

/** Of events about backups. */
export function backupContext(commandId: string): CommandContext {
  return { commandId, correlationId: commandId, process: 'backup' }
}

/** The same for all backups of an installation, and for what was restored from them. */
export function installationOf(vault: { fingerprint(text: string): string }): string {
  return vault.fingerprint('installation of backups').slice(0, 32)
}

interface CreateOptions {
  readonly place: BackupPlace
  readonly keys: BackupKeys
  /** Receives why the log has no record of the backup. */
  readonly say: (line: string) => void
}

/** Backs up the running platform, reads everything again, and records the result. */
export async function createBackup(env: Environment, options: CreateOptions): Promise<CreatedBackup> {
  const servers = await openAuditServers(env, 'backup create')
  try {
    return await createOf(servers, options)
  } finally {
    await servers.close()
  }
}

type CopiedServers = Pick<AuditServers, 'configuration' | 'store' | 'vault' | 'objects'>

/** An event store that takes no writes must not cost the backup, which is there and whole. */
export async function createOf(servers: CopiedServers, { place, keys, say }: CreateOptions): Promise<CreatedBackup> {
  requirePlaceElsewhere(place.address, servers.configuration.dataDir)
  const { manifest, newBytes } = await write(servers, place, keys)
  const { id, position, events, bytes, created_at: createdAt } = manifest
  const { faults } = await verifyBackups(place, keys, [id])
  const { format: _format, index: _index, installation: _installation, log_end: _end, ...shown } = manifest
  if (faults.length > 0) return { ...shown, new_bytes: newBytes, verified_at: null, faults }
  const verifiedAt = new Date()
  await putVerified(place, keys.newest, id, verifiedAt)
  const data = { backupId: id, position, events, bytes, createdAt, verifiedAt: verifiedAt.toISOString() }
  await execute(servers.store, backupStream, (state) => recordVerified(data, state), backupContext(id)).catch(
    (error: unknown) =>
      say(`the log has no record of backup ${id}: ${error instanceof Error ? error.message : String(error)}`),
  )
  return { ...shown, new_bytes: newBytes, verified_at: data.verifiedAt, faults }
}

/** The manifest comes last: without it there are only chunks. */
async function write(
  { configuration, store, vault, objects }: CopiedServers,
  place: BackupPlace,
  keys: BackupKeys,
): Promise<{ readonly manifest: Manifest; readonly newBytes: number }> {
  const { dataDir, vaultDatabaseUrl = '' } = configuration
  const installation = installationOf(vault)
  await claimPlace(place, keys, installation)
  const createdAt = new Date()
  const id = await nextBackupId(place, createdAt)
  const chunks = new ChunkStore(place, keys.newest)
  const eventStore = await copyEventStore(configuration, store, id)
  const total = { entries: 0, bytes: 0 }
  async function* counted(entries: AsyncIterable<Entry>): AsyncGenerator<Entry, void, undefined> {
    for await (const entry of entries) {
      total.entries += 1
      total.bytes += entry.bytes
      yield entry
    }
  }
  try {
    const index = await chunks.store(
      toLines(counted(storeSources({ eventStore, vaultUrl: vaultDatabaseUrl, objects, dataDir }, chunks))),
    )
    const manifest: Manifest = {
      format: 1,
      id,
      installation,
      created_at: createdAt.toISOString(),
      ...eventStore.contents(),
      ...total,
      index,
    }
    await putManifest(place, keys.newest, manifest)
    return { manifest, newBytes: chunks.writtenBytes }
  } finally {
    eventStore.close()
  }
}

function requirePlaceElsewhere(place: string, dataDir: string): void {
  const folder = resolve(dataDir)
  if (place === folder || place.startsWith(folder + sep))
    throw new ConfigurationError(`${place} is in the data folder: a backup there is lost together with it`)
}

export function createdText({ id, position, events, bytes, new_bytes: newBytes, faults }: CreatedBackup): string {
  const count = (number: number) => number.toLocaleString('en')
  return [
    `Backup ${id}: ${eventsText(events)} up to position ${position ?? 'none'}, ${count(bytes)} bytes, ${count(newBytes)} of them new in this place.`,
    ...faultLines(faults),
    faults.length === 0
      ? 'It was read again and is complete.'
      : 'It is NOT usable. Remove the named files, and create a backup again.',
  ].join('\n')
}
