import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export type PostmasterFile = { pid: number; status: string }

const POLL_MS = 50
const FAST_SHUTDOWN_MS = 6_000
const IMMEDIATE_SHUTDOWN_MS = 3_000

/**
 * The content of `postmaster.pid`, or undefined without one: the process id, and `ready` once connections are accepted.
 */
export async function readPostmasterFile(clusterDir: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(join(clusterDir, 'postmaster.pid'), 'utf8').catch(() => undefined)
  const lines = text?.split('\n') ?? []
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 1) return undefined
  return { pid, status: lines[7]?.trim() ?? '' }
}

/**
 * Ends the PostgreSQL that a killed holder left running on this folder, because it would keep the port and the folder.
 * If the process id now belongs to another program, only the stale file is removed.
 */
export async function endStalePostmaster(clusterDir: string): Promise<void> {
  const found = await readPostmasterFile(clusterDir)
  if (found === undefined) return
  if (!send(found.pid, 0)) return endOrphans(clusterDir)
  if (!(await isOurPostmaster(found.pid, clusterDir))) {
    // First, because a start without the file looks for none.
    await endOrphans(clusterDir)
    return rm(join(clusterDir, 'postmaster.pid'), { force: true })
  }
  // It may end meanwhile: its watcher stops it, too.
  send(found.pid, 'SIGINT')
  if (await gone(found.pid, FAST_SHUTDOWN_MS)) return
  send(found.pid, 'SIGQUIT')
  if (await gone(found.pid, IMMEDIATE_SHUTDOWN_MS)) return
  throw new Error(
    `embedded postgres cannot start: an earlier one (process ${found.pid}) on ${clusterDir} does not stop`,
  )
}

/**
 * Ends what is left of a server that was killed. A process that waits for a lock in shared memory does not notice that its
 * server is gone, and no server starts beside it. Finds such processes on Linux only.
 */
async function endOrphans(clusterDir: string): Promise<void> {
  const deadline = performance.now() + IMMEDIATE_SHUTDOWN_MS
  for (let left = await orphansOf(clusterDir); left.length > 0; left = await orphansOf(clusterDir)) {
    if (performance.now() > deadline)
      throw new Error(`embedded postgres cannot start: process ${left[0]} of an earlier one does not end`)
    for (const pid of left) send(pid, 'SIGKILL')
    await sleep(POLL_MS)
  }
}

async function orphansOf(clusterDir: string): Promise<number[]> {
  const ours = await stat(clusterDir)
  const pids = (await readdir('/proc').catch(() => [])).map(Number).filter((pid) => pid > 1)
  const found = pids.map(async (pid) => {
    const title = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    const working = title.startsWith('postgres: ') ? await stat(`/proc/${pid}/cwd`).catch(() => undefined) : undefined
    return working?.dev === ours.dev && working.ino === ours.ino ? [pid] : []
  })
  return (await Promise.all(found)).flat()
}

async function gone(pid: number, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs
  while (performance.now() < deadline) {
    if (!send(pid, 0)) return true
    await sleep(POLL_MS)
  }
  return false
}

/** Sends a signal; 0 only looks. False if there is no such process. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch {
    return false
  }
}

/**
 * Recognises a PostgreSQL server by its working folder, which is its data folder whatever path started it. On systems
 * other than Linux the working folder is not readable, and the id alone decides.
 */
async function isOurPostmaster(pid: number, clusterDir: string): Promise<boolean> {
  const [program] = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => 'postgres')).split('\0')
  if (program === undefined || !program.endsWith('postgres')) return false
  const [working, ours] = await Promise.all([stat(`/proc/${pid}/cwd`).catch(() => undefined), stat(clusterDir)])
  return working === undefined || (working.dev === ours.dev && working.ino === ours.ino)
}
