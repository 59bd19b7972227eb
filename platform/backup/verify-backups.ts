import type { BackupKeys } from './backup-keys.ts'
import { chunkFile, ChunkError, ChunkStore, type ChunkFault } from './chunks.ts'
import { entriesIn } from './index-lines.ts'
import { ManifestError, openManifest, type ManifestFault } from './manifests.ts'
import type { BackupPlace } from './place.ts'

export interface BackupFault {
  readonly kind: ManifestFault | ChunkFault
  readonly backup: string
  /** The damaged file, and what it belongs to. */
  readonly detail: string
}

export interface BackupsChecked {
  readonly backups: number
  /** Bytes that were read, each chunk once. */
  readonly bytes: number
  readonly faults: readonly BackupFault[]
}

const mostFaults = 1_000

/**
 * Reads every chunk of the backups. Each opens only in its own place, with its own name; the index and the manifest name
 * them. So what opens is what was stored.
 */
export async function verifyBackups(
  place: BackupPlace,
  keys: BackupKeys,
  ids: readonly string[],
): Promise<BackupsChecked> {
  const faults: BackupFault[] = []
  const intact = new Set<string>()
  let bytes = 0

  async function verify(id: string): Promise<void> {
    const { manifest, key } = await openManifest(place, keys, id)
    const store = new ChunkStore(place, key)
    let entries = 0
    for await (const entry of entriesIn(store.read(manifest.index))) {
      entries += 1
      for (const name of entry.chunks) {
        const file = chunkFile(key.id, name)
        if (intact.has(file)) continue
        try {
          bytes += (await store.readChunk(name)).length
          intact.add(file)
        } catch (error) {
          if (!(error instanceof ChunkError)) throw error
          note(id, error.code, `${error.chunk}, of ${entry.kind} ${entry.name}`)
        }
      }
    }
    if (entries !== manifest.entries) note(id, 'manifest-changed', 'the index has another length')
  }

  function note(backup: string, kind: BackupFault['kind'], detail: string): void {
    if (faults.length < mostFaults) faults.push({ kind, backup, detail })
  }

  for (const id of ids) {
    try {
      await verify(id)
    } catch (error) {
      if (error instanceof ManifestError) note(id, error.code, error.message)
      else if (error instanceof ChunkError) note(id, error.code, `${error.chunk}, of the index`)
      else throw error
    }
  }
  return { backups: ids.length, bytes, faults }
}
