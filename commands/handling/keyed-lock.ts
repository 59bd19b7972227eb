/** Runs work under a name when all earlier work under that name is over. */
export type KeyedLock = <Result>(name: string, work: () => Promise<Result>) => Promise<Result>

/** Turns within this process: they save work, and decide nothing, since other instances have turns of their own. */
export function createKeyedLock(): KeyedLock {
  const last = new Map<string, Promise<unknown>>()
  return async (name, work) => {
    const before = last.get(name)
    const mine = (async () => {
      // Whoever had the turn before hears of its failure; the next one begins all the same.
      await Promise.allSettled([before])
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
