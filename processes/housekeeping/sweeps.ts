import type { Logger } from '../../platform/logging.ts'
import { pause } from '../../streams/store/backoff.ts'
import type { Swept } from './sweep-objects.ts'

export interface SweepsOptions {
  readonly sweep: (signal: AbortSignal) => Promise<Swept>
  readonly everyMs: number
  readonly logger: Logger
}

/** Milliseconds between two sweeps: what is past its time is gone half of that time after, and ten minutes at most. */
export function sweepEveryMs({ stagingTtlSeconds }: { readonly stagingTtlSeconds: number }): number {
  return Math.min(stagingTtlSeconds * 500, 600_000)
}

/** Sweeps now and then, the first time at once. One that fails is logged and tried again when the next is due. */
export function startSweeps({ sweep, everyMs, logger }: SweepsOptions): { close(): Promise<void> } {
  const closing = new AbortController()
  const running = run()

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        const { staging, images, uploads } = await sweep(closing.signal)
        const count = staging + images + uploads
        if (count > 0) logger.info({ component: 'sweeps', count }, 'objects that nothing names were removed')
      } catch (error) {
        logger.warn({ component: 'sweeps', err: error }, 'sweeping the object store failed')
      }
      await pause(everyMs, closing.signal)
    }
  }

  return {
    close: async () => {
      closing.abort()
      await running
    },
  }
}
