import { within } from '../../platform/kit/time-limits.ts'

/** Runs work under a name after all earlier work under that name has ended. */
export type KeyedLock = <Result>(name: string, work: () => Promise<Result>) => Promise<Result>

/**
 * A lock within this process. It only saves work: other instances have their own locks, so no decision relies on it.
 *
 * @param mostWaitMs work that waited this long begins beside the earlier work. Default: no limit
 */
export function createKeyedLock(mostWaitMs?: number): KeyedLock {
  const last = new Map<string, Promise<unknown>>()
  return async (name, work) => {
    const before = last.get(name)
    const mine = (async () => {
      // The earlier caller gets its own error. The next one starts in any case.
      const ended = Promise.allSettled([before])
      await (mostWaitMs === undefined ? ended : within(mostWaitMs, ended))
      return work()
    })()
    last.set(name, mine)
    try {
      return await mine
    } finally {
      if (last.get(name) === mine) last.delete(name)
    }
  }
}
