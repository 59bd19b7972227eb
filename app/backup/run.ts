import { readBackupKeys, type BackupKeys } from '../../platform/backup/backup-keys.ts'
import { ChunkError } from '../../platform/backup/chunks.ts'
import { ManifestError } from '../../platform/backup/manifests.ts'
import type { BackupPlace } from '../../platform/backup/place.ts'
import { loadConfiguration, type Environment } from '../../platform/configuration/configuration.ts'
import { openPlace } from './open-place.ts'
import { listBackups, listText } from './list.ts'
import type { BackupOrder } from './orders.ts'

export interface Outcome {
  /** 0 done, 1 damaged. */
  readonly code: 0 | 1
  readonly text: string
}

/**
 * @param say receives what is no result
 * @throws Error if it could not be done
 */
export async function runBackup(order: BackupOrder, env: Environment, say: (line: string) => void): Promise<Outcome> {
  if (order.action === 'release') {
    const { releaseHeldCalls } = await import('./release.ts')
    return { code: 0, text: await releaseHeldCalls(env) }
  }
  const configuration = loadConfiguration(env)
  const keys = readBackupKeys(configuration.backupKeys)
  const place = openPlace(order.place, configuration)
  try {
    return await inPlace(order, env, { place, keys, say })
  } catch (error) {
    // A place that is damaged or of another installation is a finding. So is a key that is missing.
    if (error instanceof ManifestError) return { code: 1, text: `FAULT ${error.code}: ${error.message}` }
    if (error instanceof ChunkError) return { code: 1, text: `FAULT ${error.message}` }
    throw error
  } finally {
    place.close()
  }
}

interface OpenedPlace {
  readonly place: BackupPlace
  readonly keys: BackupKeys
  readonly say: (line: string) => void
}

async function inPlace(
  order: Exclude<BackupOrder, { action: 'release' }>,
  env: Environment,
  { place, keys, say }: OpenedPlace,
): Promise<Outcome> {
  switch (order.action) {
    case 'create': {
      const { createBackup, createdText } = await import('./create.ts')
      const created = await createBackup(env, { place, keys, say })
      const text = order.isJson ? JSON.stringify(created, null, 2) : createdText(created)
      return { code: created.faults.length === 0 ? 0 : 1, text }
    }
    case 'list': {
      const { backups, faults } = await listBackups(place, keys)
      // The list of JSON has backups only.
      if (order.isJson) for (const fault of faults) say(fault)
      const text = order.isJson ? JSON.stringify(backups, null, 2) : listText(backups, faults)
      return { code: faults.length === 0 ? 0 : 1, text }
    }
    case 'verify': {
      const { isWhole, verifyPlace, verifiedText } = await import('./verify.ts')
      const checked = await verifyPlace(place, keys, order.id, say)
      const text = order.isJson ? JSON.stringify(checked, null, 2) : verifiedText(checked)
      return { code: isWhole(checked) ? 0 : 1, text }
    }
    case 'restore': {
      const { restoreBackup, restoredText } = await import('./restore.ts')
      const restored = await restoreBackup(env, place, keys, order)
      if ('faults' in restored) {
        const { faultLines } = await import('./verify.ts')
        return { code: 1, text: [...faultLines(restored.faults), 'Nothing was restored.'].join('\n') }
      }
      const { faults, keys_missing: missing } = restored.proof
      const code = faults.length === 0 && missing.length === 0 ? 0 : 1
      return { code, text: order.isJson ? JSON.stringify(restored, null, 2) : restoredText(restored) }
    }
    case 'prune': {
      const { pruneBackups } = await import('../../platform/backup/prune.ts')
      const { removed, kept, chunks, broken } = await pruneBackups(place, keys, order.keep, new Date())
      const text = `Removed: backups ${removed.length}, chunks ${chunks}. Left: backups ${kept.length}.`
      const faults = broken.map(
        (id) => `FAULT chunk-missing in backup ${id}: it was completed during the removal. Create a backup again`,
      )
      return { code: faults.length === 0 ? 0 : 1, text: [...faults, text].join('\n') }
    }
  }
}
