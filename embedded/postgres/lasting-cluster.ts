import { statfs } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClusterOptions, clusterFolder, type RunningCluster, startCluster } from './cluster.ts'

/** Free bytes that PostgreSQL needs for its recovery: two files of its write-ahead log and a checkpoint. */
const ROOM = 48 << 20
const LOOK_MS = 500
/** PostgreSQL's exit code after a failed recovery. A killed process has no code. */
const GAVE_UP = 1

/**
 * Starts the server like `startCluster`, and starts it again whenever a full disk ended it. A checkpoint without room
 * is a panic, and so is the recovery after it. `exited` resolves when the server ended for another reason, or when it
 * cannot start although there is room.
 */
export async function startLastingCluster(
  options: ClusterOptions & { port: number },
  start = startCluster,
): Promise<RunningCluster> {
  let cluster: RunningCluster | undefined = await start(options)
  const stopping = new AbortController()

  async function live(): Promise<number | null> {
    for (;;) {
      const code = cluster === undefined ? GAVE_UP : await cluster.exited
      cluster = undefined
      if (stopping.signal.aborted || code !== GAVE_UP) return code
      options.onLog('embedded postgres stopped because its disk is full; it starts again when there is room')
      while (!stopping.signal.aborted && !(await hasRoom(options.dataDir))) await sleep(LOOK_MS)
      if (stopping.signal.aborted) return code
      cluster = await start(options).catch(() => undefined)
      if (stopping.signal.aborted) {
        await cluster?.stop()
        return code
      }
      if (cluster === undefined && (await hasRoom(options.dataDir))) return code
    }
  }

  const exited = live()
  const stop = async (): Promise<void> => {
    stopping.abort()
    await cluster?.stop()
    await exited
  }
  return { exited, stop }
}

/** If the free space cannot be read, the result is true and the start is the test. */
async function hasRoom(dataDir: string): Promise<boolean> {
  return await statfs(clusterFolder(dataDir)).then(
    ({ bavail, bsize }) => bavail * bsize >= ROOM,
    () => true,
  )
}
