import { execFile } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Limits the size of each file that a child process may write, or removes the limit. Writes beyond it fail in the
 * kernel (EFBIG), as on a full disk. This needs no special rights and no extra disk. It uses `prlimit` of util-linux
 * and works only on Linux.
 */
export async function limitFileSize(pid: number, bytes: number | 'unlimited'): Promise<void> {
  await run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`])
}

/** Size of the newest segment of a node's log, including the room allocated ahead. */
export async function newestSegmentSize(dataDir: string): Promise<number> {
  const folder = join(dataDir, 'log')
  const newest = (await readdir(folder))
    .filter((name) => name.endsWith('.segment'))
    .toSorted()
    .at(-1)
  if (newest === undefined) throw new Error('the log has no segment')
  return (await stat(join(folder, newest))).size
}
