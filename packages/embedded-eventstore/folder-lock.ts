import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseSync } from 'node:sqlite'

const LONGEST_WAIT_MS = 10_000
const RETRY_MS = 50

/** A folder that only this process uses, until `release` or the end of the process. */
export type FolderLock = { release(): void }

/**
 * Locks a folder. Waits up to 10 s for a process that is about to end. The lock is SQLite's lock on a file of its own.
 * The operating system drops it with the process, for every kind of end. Throws when another process keeps the lock.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const database = new DatabaseSync(join(folder, 'lock.sqlite'), { timeout: 0 })
  const giveUpAt = performance.now() + LONGEST_WAIT_MS
  for (;;) {
    try {
      database.exec('BEGIN EXCLUSIVE')
      return { release: () => database.close() }
    } catch (error) {
      if (performance.now() > giveUpAt) {
        database.close()
        throw new Error(`another process is using ${folder}`, { cause: error })
      }
      await sleep(RETRY_MS)
    }
  }
}
