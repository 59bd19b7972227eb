import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'

export type DataFolderLock = { release(): void }

const POLL_MS = 100
const DYING_HOLDER_MS = 10_000
const SQLITE_BUSY = 5

/**
 * Takes the data folder for this process. The lock is a POSIX lock on `<data dir>/lock`, taken through SQLite: the kernel
 * drops it with the process, so a killed holder blocks nobody and no stale file has to be judged.
 * A holder that is just dying is waited for, at most `waitMs`; then this throws.
 */
export async function lockDataFolder(dataDir: string, waitMs: number = DYING_HOLDER_MS): Promise<DataFolderLock> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const database = new DatabaseSync(join(dataDir, 'lock'), { timeout: 0 })
  const deadline = performance.now() + waitMs
  while (!tryLock(database)) {
    if (performance.now() >= deadline) {
      database.close()
      throw new Error(`the data folder ${dataDir} is in use by another running platform`)
    }
    await sleep(POLL_MS)
  }
  return { release: () => database.close() }
}

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false
    throw error
  }
}
