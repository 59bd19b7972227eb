/** Runs few tasks at a time. The others wait in the order in which they came. */
export interface Turns {
  /** Tasks that wait. */
  readonly waiting: number
  run<Result>(task: () => Promise<Result>): Promise<Result>
}

export function createTurns(atOnce: number): Turns {
  let free = atOnce
  const waiting: (() => void)[] = []
  return {
    get waiting() {
      return waiting.length
    },
    async run(task) {
      if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
      else free -= 1
      try {
        return await task()
      } finally {
        const next = waiting.shift()
        if (next === undefined) free += 1
        else next()
      }
    },
  }
}
