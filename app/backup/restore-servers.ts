import { join } from 'node:path'
import { finishLogCopy, writeSegmentCopy } from 'embedded-eventstore/log-copy'
import { writeDurably } from 'embedded-eventstore/durable-file'
import type { BackupKeys } from '../../platform/backup/backup-keys.ts'
import { ChunkError, ChunkStore } from '../../platform/backup/chunks.ts'
import { entriesIn, linesIn, type Entry } from '../../platform/backup/index-lines.ts'
import { ManifestError, openManifest, type OpenedManifest } from '../../platform/backup/manifests.ts'
import type { BackupPlace } from '../../platform/backup/place.ts'
import type { BackupFault } from '../../platform/backup/verify-backups.ts'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { MasterKeyRing } from '../../platform/vault/master-keys.ts'
import { signingKind } from '../../platform/vault/signing-keys.ts'
import { openVaultRestore, type CopiedSecret } from '../../platform/vault/vault-copy.ts'
import { backedUpFiles, eventStoreFolder } from './sources.ts'

/** Keys of tokens stay behind. So every token that was signed before the restore is refused. */
const tokenKinds: ReadonlySet<string> = new Set([signingKind('token'), signingKind('actor-context')])
const secretsTable = 'vault_secrets'
const erasuresTable = 'vault_erasures'

interface ReadBackup {
  readonly chunks: ChunkStore
  readonly entries: AsyncIterable<Entry>
}

function read(place: BackupPlace, { manifest, key }: OpenedManifest): ReadBackup {
  const chunks = new ChunkStore(place, key)
  return { chunks, entries: entriesIn(chunks.read(manifest.index)) }
}

export async function hasFile(place: BackupPlace, backup: OpenedManifest, file: string): Promise<boolean> {
  for await (const { kind, name } of read(place, backup).entries) if (kind === 'file' && name === file) return true
  return false
}

export async function writeFilesAndLog(place: BackupPlace, backup: OpenedManifest, dataDir: string): Promise<void> {
  const { chunks, entries } = read(place, backup)
  const eventStore = eventStoreFolder(dataDir)
  for await (const entry of entries) {
    if (entry.kind === 'segment') await writeSegmentCopy(eventStore, Number(entry.name), chunks.read(entry))
    const file = backedUpFiles.find((name) => entry.kind === 'file' && name === entry.name)
    if (file !== undefined) await writeDurably(join(dataDir, file), await textOf(chunks, entry), 0o600)
  }
  const { log_end: end } = backup.manifest
  if (end !== null) finishLogCopy(eventStore, end)
}

/** Backups whose vaults can be read, and the faults of the others. */
export async function openVaultsOf(
  place: BackupPlace,
  keys: BackupKeys,
  ids: readonly string[],
): Promise<{ readonly readable: readonly OpenedManifest[]; readonly faults: readonly BackupFault[] }> {
  const readable: OpenedManifest[] = []
  const faults: BackupFault[] = []
  for (const id of ids) {
    try {
      const opened = await openManifest(place, keys, id)
      const { chunks, entries } = read(place, opened)
      for await (const entry of entries)
        if (entry.kind === 'table') for (const name of entry.chunks) await chunks.readChunk(name)
      readable.push(opened)
    } catch (error) {
      if (!(error instanceof ManifestError || error instanceof ChunkError)) throw error
      faults.push({ kind: error.code, backup: id, detail: error.message })
    }
  }
  return { readable, faults }
}

/** Returns how many keys of subjects are destroyed because a newer backup names them so. */
export async function fillVault(
  place: BackupPlace,
  backup: OpenedManifest,
  newer: readonly OpenedManifest[],
  { url, masterKeys }: { readonly url: string; readonly masterKeys: MasterKeyRing },
): Promise<number> {
  const vault = await openVaultRestore(url, masterKeys)
  try {
    const { chunks, entries } = read(place, backup)
    const known = new Set<string>()
    for await (const entry of entries) {
      if (entry.kind !== 'table') continue
      const lines = linesIn(chunks.read(entry))
      await vault.table(entry.name, entry.name === secretsTable ? kept(lines, known) : lines)
    }
    let erasures = 0
    for (const each of newer) {
      erasures += await vault.destroySubjects(destroyedIn(place, each, known))
      await vault.addErasures(erasuresIn(place, each))
    }
    return erasures
  } finally {
    await vault.close()
  }
}

/** Adds the subjects that are destroyed already to `destroyed`. */
async function* kept(lines: AsyncIterable<string>, destroyed: Set<string>): AsyncGenerator<string, void, undefined> {
  for await (const line of lines) {
    const { kind, id, isDestroyed } = secretIn(line)
    if (tokenKinds.has(kind)) continue
    if (kind === 'subject' && isDestroyed) destroyed.add(id)
    yield line
  }
}

async function* destroyedIn(
  place: BackupPlace,
  backup: OpenedManifest,
  known: Set<string>,
): AsyncGenerator<string, void, undefined> {
  const { chunks, entries } = read(place, backup)
  for await (const entry of entries) {
    if (entry.kind !== 'table' || entry.name !== secretsTable) continue
    for await (const line of linesIn(chunks.read(entry))) {
      const { kind, id, isDestroyed } = secretIn(line)
      if (kind !== 'subject' || !isDestroyed || known.has(id)) continue
      known.add(id)
      yield id
    }
  }
}

/** The ledger of a newer backup. The first start of the restored platform applies it, so objects go as well. */
async function* erasuresIn(place: BackupPlace, backup: OpenedManifest): AsyncGenerator<string, void, undefined> {
  const { chunks, entries } = read(place, backup)
  for await (const entry of entries)
    if (entry.kind === 'table' && entry.name === erasuresTable) yield* linesIn(chunks.read(entry))
}

function secretIn(line: string): CopiedSecret {
  const row = jsonOf(line)
  if (typeof row === 'object' && row !== null && 'kind' in row && 'id' in row && 'destroyed_at' in row)
    return { kind: String(row.kind), id: String(row.id), isDestroyed: row.destroyed_at !== null }
  throw new Error(`a row of ${secretsTable} has another form: another version of the platform made the backup`)
}

export async function fillObjects(place: BackupPlace, backup: OpenedManifest, objects: ObjectStore): Promise<void> {
  const { chunks, entries } = read(place, backup)
  for await (const entry of entries) {
    if (entry.kind !== 'object') continue
    const { name, bytes, sha256, type = 'application/octet-stream' } = entry
    if (sha256 === undefined) throw new Error(`the backup has no hash of the object ${name}`)
    await objects.putStream(name, () => chunks.read(entry), { bytes, sha256 }, type)
  }
}

async function textOf(chunks: ChunkStore, entry: Entry): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of chunks.read(entry)) parts.push(part)
  return Buffer.concat(parts).toString('utf8')
}
