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
  /** Some of them, if there are very many. */
  readonly faults: readonly BackupFault[]
  /** Ids of the backups that are what was stored. */
  readonly intact: readonly string[]
  /** Ids of those that are not. In neither list: those whose manifest does not open. */
  readonly damaged: readonly string[]
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
  const [intact, damaged] = [new Set<string>(), new Set<string>()]
  const intactFiles = new Set<string>()
  let bytes = 0

  async function verify(id: string): Promise<void> {
    const { manifest, key } = await openManifest(place, keys, id)
    const store = new ChunkStore(place, key)
    let entries = 0
    for await (const entry of entriesIn(store.read(manifest.index))) {
      entries += 1
      for (const name of entry.chunks) {
        const file = chunkFile(key.id, name)
        if (intactFiles.has(file)) continue
        try {
          bytes += (await store.readChunk(name)).length
          intactFiles.add(file)
        } catch (error) {
          if (!(error instanceof ChunkError)) throw error
          fault(id, error.code, `${error.chunk}, of ${entry.kind} ${entry.name}`)
        }
      }
    }
    if (entries !== manifest.entries) {
      fault(id, 'manifest-changed', 'the index has another length')
    }
    if (!damaged.has(id)) intact.add(id)
  }

  function fault(id: string, kind: BackupFault['kind'], detail: string): void {
    damaged.add(id)
    note(id, kind, detail)
  }

  function note(backup: string, kind: BackupFault['kind'], detail: string): void {
    if (faults.length < mostFaults) faults.push({ kind, backup, detail })
  }

  for (const id of ids) {
    try {
      await verify(id)
    } catch (error) {
      if (error instanceof ManifestError) note(id, error.code, error.message)
      else if (error instanceof ChunkError) {
        fault(id, error.code, `${error.chunk}, of the index`)
      } else throw error
    }
  }
  return { backups: ids.length, bytes, faults, intact: [...intact], damaged: [...damaged] }
}
