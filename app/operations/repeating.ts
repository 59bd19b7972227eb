import { pause } from '../../platform/kit/backoff.ts'
import type { Logger } from '../../platform/observability/logging.ts'

interface RepeatedWork {
  readonly everyMs: number
  /** May fail. The next turn comes all the same. */
  readonly work: (signal: AbortSignal) => Promise<void>
  /** At the end, after the last turn. */
  readonly last?: () => Promise<void>
  readonly logger: Logger
  /** Of the log line, once for failures in a row. */
  readonly component: string
}

export interface Repeating {
  /** The first turn has ended. */
  readonly first: Promise<void>
  close(): Promise<void>
}

/** Repeats work beside everything else: its failure is a log line, and a slow turn delays the next one only. */
export function repeat({ everyMs, work, last, logger, component }: RepeatedWork): Repeating {
  const closing = new AbortController()
  let isFailing = false
  const first = turn()
  const running = first.then(async () => {
    while (!closing.signal.aborted) {
      await pause(everyMs, closing.signal)
      if (!closing.signal.aborted) await turn()
    }
  })

  async function turn(): Promise<void> {
    try {
      await work(closing.signal)
      isFailing = false
    } catch (err) {
      if (!isFailing && !closing.signal.aborted) logger.warn({ component, err }, 'what operators see is not stored')
      isFailing = true
    }
  }

  return {
    first,
    async close() {
      closing.abort()
      await running
      await last?.().catch(() => undefined)
    },
  }
}
