import { readFileSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'

const folder = '/dev/shm'
/** A run of all tests fills a part of it. The rest is for the programs. */
const neededBytes = 8 * 2 ** 30

/** A folder in memory for temporary files. Undefined if there is none with room in which programs may run. */
export function memoryFolder(): string | undefined {
  try {
    const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
    const options = mounts.map((line) => line.split(' ')).find(([, path]) => path === folder)?.[3]
    if (options === undefined || options.split(',').includes('noexec')) return undefined
    const { bavail, bsize } = statfsSync(folder)
    return Math.min(bavail * bsize, freemem()) < neededBytes ? undefined : folder
  } catch {
    return undefined
  }
}
