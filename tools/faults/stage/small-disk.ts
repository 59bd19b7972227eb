import { execFile } from 'node:child_process'
import { chmod, mkdtemp, open, rm, rmdir, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A disk of a few megabytes that can be filled: its own tmpfs. */
export interface SmallDisk {
  readonly path: string
  /** Fills the disk to the last byte. */
  fill(): Promise<void>
  /** Frees the bytes that `fill` took. */
  empty(): Promise<void>
  /** Unmounts the disk. */
  release(): Promise<void>
}

/** Mounts the disk. It needs root and rejects without that right. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const path = await mkdtemp(join(tmpdir(), 'small-disk-'))
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path])
  } catch (error) {
    await rmdir(path)
    throw new Error('this machine allows no mount of a disk', { cause: error })
  }
  // PostgreSQL runs as another user.
  await chmod(path, 0o755)
  const ballast = join(path, 'ballast')
  return {
    path,
    async fill() {
      const file = await open(ballast, 'a')
      try {
        for (let bytes = 1 << 20; bytes >= 4096;) {
          const isWritten = await file.write(Buffer.alloc(bytes)).then(
            () => true,
            () => false,
          )
          if (!isWritten) bytes >>= 1
        }
      } finally {
        await file.close()
      }
      const { bavail } = await statfs(path)
      if (bavail > 0) throw new Error(`${bavail} blocks of ${path} are still free`)
    },
    empty: () => rm(ballast, { force: true }),
    async release() {
      await run('umount', ['-l', path])
      await rmdir(path)
    },
  }
}
