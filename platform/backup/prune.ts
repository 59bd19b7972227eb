import type { BackupKeys } from './backup-keys.ts'
import { ChunkError, chunkFile, chunkFolder, ChunkStore } from './chunks.ts'
import { entriesIn } from './index-lines.ts'
import { backupIds, openManifest, removeManifest, removeVerified, verifiedAt } from './manifests.ts'
import type { BackupPlace } from './place.ts'

export interface Pruned {
  readonly removed: readonly string[]
  readonly kept: readonly string[]
  readonly chunks: number
  /** Backups that were completed meanwhile and lack a removed chunk. They are not usable. */
  readonly broken: readonly string[]
}

/** A backup that is being made names its chunks at its end only. So young chunks that nothing names stay, in milliseconds. */
const youngMs = 24 * 3_600_000

/**
 * Removes all backups but the newest verified ones, and then the chunks that no other backup names. A backup that is being made
 * may just have found such a chunk. If it is completed before the removal, the chunk stays. If it is completed during
 * the removal, its own verification may have read the chunk before, so it is named here. Later than that, its own
 * verification names the chunk as missing.
 * @throws ManifestError, ChunkError; then no chunk was removed, because nobody can tell which chunks are needed
 */
export async function pruneBackups(place: BackupPlace, keys: BackupKeys, keep: number, now: Date): Promise<Pruned> {
  const ids = await backupIds(place)
  const kept = await newestOf(ids, place, keys, keep)
  const removed = ids.slice(0, ids.length - kept.length)
  const needed = await chunksOf(place, keys, kept)
  const freed = await chunksOf(place, keys, removed)
  for (const id of removed) await removeManifest(place, id)
  await place.flush()
  const unneeded: string[] = []
  for await (const { name, modifiedAt } of place.list(chunkFolder)) {
    if (needed.has(name)) continue
    if (!freed.has(name) && now.getTime() - modifiedAt.getTime() < youngMs) continue
    unneeded.push(name)
  }
  const later = (await backupIds(place)).filter((id) => !ids.includes(id))
  const neededLater = await chunksOf(place, keys, later)
  const gone = new Set(unneeded.filter((name) => !neededLater.has(name)))
  for (const name of gone) await place.remove(name)
  // They may have keys of the vault that were destroyed since.
  await place.removeUnfinished(new Date(now.getTime() - youngMs))
  const broken = await brokenBy(gone, { place, keys, known: [...ids, ...later] })
  return { removed, kept: [...kept, ...later], chunks: gone.size, broken }
}

/** So many verified backups, and what is newer than the oldest of them: one that was not verified may be unusable. */
async function newestOf(
  ids: readonly string[],
  place: BackupPlace,
  keys: BackupKeys,
  keep: number,
): Promise<readonly string[]> {
  const kept: string[] = []
  let verified = 0
  for (const id of ids.toReversed()) {
    if (verified === keep) break
    kept.unshift(id)
    if ((await verifiedAt(place, keys, id)) !== null) verified += 1
  }
  return kept
}

interface Checked {
  readonly place: BackupPlace
  readonly keys: BackupKeys
  /** Backups whose chunks were not removed. */
  readonly known: readonly string[]
}

/** The other backups that name a removed chunk. They do not count as verified any more. */
async function brokenBy(gone: ReadonlySet<string>, { place, keys, known }: Checked): Promise<string[]> {
  const broken: string[] = []
  for (const id of await backupIds(place)) {
    if (known.includes(id)) continue
    const files = await chunksOf(place, keys, [id]).catch((error: unknown) => {
      // A chunk of the index itself.
      if (error instanceof ChunkError && error.code === 'chunk-missing') return gone
      throw error
    })
    if (![...files].some((name) => gone.has(name))) continue
    await removeVerified(place, id)
    broken.push(id)
  }
  return broken
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
