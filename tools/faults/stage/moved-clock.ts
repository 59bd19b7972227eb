import { access, chmod, glob, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A clock for processes that moves while they run. It uses libfaketime, a package of Debian. */
export interface MovedClock {
  /** Variables for the processes. */
  readonly env: Readonly<Record<string, string>>
  /** Moves the clock to this many hours from the true time. Processes notice it within a second. */
  moveTo(hours: number): Promise<void>
  remove(): Promise<void>
}

/** Rejects when libfaketime is not installed. */
export async function openMovedClock(): Promise<MovedClock> {
  const library = await libraryPath()
  const folder = await mkdtemp(join(tmpdir(), 'clock-'))
  await chmod(folder, 0o755)
  const file = join(folder, 'offset')
  const moveTo = (hours: number) => writeFile(file, `${hours < 0 ? '-' : '+'}${Math.abs(hours)}h\n`)
  await moveTo(0)
  return {
    // Timers and waits use the monotonic clock, which does not move.
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    moveTo,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

async function libraryPath(): Promise<string> {
  for await (const path of glob('/usr/lib/*/faketime/libfaketimeMT.so.1')) {
    await access(path)
    return path
  }
  throw new Error('libfaketime is not installed (apt-get install libfaketime)')
}
