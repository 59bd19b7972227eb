import type { BackupKeys } from './backup-keys.ts'
import { chunkFile, chunkFolder, ChunkStore } from './chunks.ts'
import { entriesIn } from './index-lines.ts'
import { backupIds, openManifest, removeManifest } from './manifests.ts'
import type { BackupPlace } from './place.ts'

export interface Pruned {
  readonly removed: readonly string[]
  readonly kept: readonly string[]
  readonly chunks: number
}

/** A backup that is being made names its chunks at its end only. So young chunks that nothing names stay, in milliseconds. */
const youngMs = 24 * 3_600_000

/**
 * Removes all backups but the newest ones, and then the chunks that no other backup names. A backup that is being made
 * may just have found such a chunk: its own verification then names the chunk as missing.
 * @throws ManifestError, ChunkError; then nothing was removed, because nobody can tell which chunks are needed
 */
export async function pruneBackups(place: BackupPlace, keys: BackupKeys, keep: number, now: Date): Promise<Pruned> {
  const ids = await backupIds(place)
  const kept = ids.slice(Math.max(ids.length - keep, 0))
  const removed = ids.slice(0, ids.length - kept.length)
  const needed = await chunksOf(place, keys, kept)
  const freed = await chunksOf(place, keys, removed)
  for (const id of removed) await removeManifest(place, id)
  await place.flush()
  let chunks = 0
  for await (const { name, modifiedAt } of place.list(chunkFolder)) {
    if (needed.has(name)) continue
    if (!freed.has(name) && now.getTime() - modifiedAt.getTime() < youngMs) continue
    await place.remove(name)
    chunks += 1
  }
  return { removed, kept, chunks }
}

async function chunksOf(place: BackupPlace, keys: BackupKeys, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const files = new Set<string>()
  for (const id of ids) {
    const { manifest, key } = await openManifest(place, keys, id)
    const store = new ChunkStore(place, key)
    for (const name of manifest.index.chunks) files.add(chunkFile(key.id, name))
    for await (const { chunks } of entriesIn(store.read(manifest.index)))
      for (const name of chunks) files.add(chunkFile(key.id, name))
  }
  return files
}
