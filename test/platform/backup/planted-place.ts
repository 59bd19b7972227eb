import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import { readBackupKeys, type BackupKeys } from '../../../platform/backup/backup-keys.ts'
import { ChunkStore } from '../../../platform/backup/chunks.ts'
import { toLines, type Entry } from '../../../platform/backup/index-lines.ts'
import { claimPlace, putManifest, putVerified, type Manifest } from '../../../platform/backup/manifests.ts'
import type { BackupPlace } from '../../../platform/backup/place.ts'

/** New random keys, with these ids. */
export function newKeys(...ids: readonly string[]): BackupKeys {
  return readBackupKeys(newKeysText(...ids))
}

export function newKeysText(...ids: readonly string[]): string {
  return ids.map((id) => `${id}:${randomBytes(32).toString('base64')}`).join(',')
}

export async function* pieces(...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts
}

/** A verified backup of one object for each text. */
export async function plantBackup(
  place: BackupPlace,
  keys: BackupKeys,
  texts: readonly string[],
  installation = 'one',
): Promise<Manifest> {
  await claimPlace(place, keys, installation)
  const chunks = new ChunkStore(place, keys.newest)
  async function* entries(): AsyncGenerator<Entry> {
    for (const text of texts)
      yield { kind: 'object', name: `object of ${text}`, ...(await chunks.store(pieces(Buffer.from(text)))) }
  }
  const index = await chunks.store(toLines(entries()))
  const manifest: Manifest = {
    format: 1,
    id: v7(),
    installation,
    created_at: new Date(0).toISOString(),
    position: null,
    facts_until: null,
    events: 0,
    log_end: 0,
    entries: texts.length,
    bytes: texts.join('').length,
    index,
  }
  await putManifest(place, keys.newest, manifest)
  await putVerified(place, keys.newest, manifest.id, new Date())
  return manifest
}
