import { mkdir, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'

export type DataFolderLock = { release(): void }

const POLL_MS = 100
const DYING_HOLDER_MS = 10_000
const SQLITE_BUSY = 5
const WRITABLE_BY_OTHERS = 0o022

/**
 * Takes the data folder for this process alone. The lock is a POSIX lock on `<data dir>/lock`, taken through SQLite.
 * The kernel drops it when the process ends: a killed holder blocks nobody and leaves no stale file. The call waits at
 * most `waitMs` for a holder that is about to end, then throws. It also throws when other users can write to the
 * folder: they could replace its secrets. The owner of a folder can always write to it.
 */
export async function lockDataFolder(dataDir: string, waitMs: number = DYING_HOLDER_MS): Promise<DataFolderLock> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await requirePrivate(dataDir)
  const file = join(dataDir, 'lock')
  // SQLite would create a file that every user can read, and so lock.
  await (await open(file, 'a', 0o600)).close()
  const database = new DatabaseSync(file, { timeout: 0 })
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

/** Does nothing on Windows, which has no such modes. */
async function requirePrivate(dataDir: string): Promise<void> {
  if (process.platform === 'win32') return
  const { mode, uid } = await stat(dataDir)
  const ownUid = process.geteuid?.()
  if (uid !== ownUid)
    throw new Error(
      `the data folder ${dataDir} belongs to another user (uid ${uid}, not ${ownUid}): run "chown" on it, or name a new folder`,
    )
  if ((mode & WRITABLE_BY_OTHERS) === 0) return
  throw new Error(
    `the data folder ${dataDir} is writable by other users (mode ${(mode & 0o777).toString(8)}): run "chmod 700" on it, or name a new folder`,
  )
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
