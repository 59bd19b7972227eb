import type { Logger } from '../observability/logging.ts'
import { limited } from '../kit/time-limits.ts'

/** The order of a stop: no new step begins, no new request enters, running work ends, then its resources close. */
const order = ['reactions', 'intake', 'work', 'resources', 'servers'] as const
export type StopStage = (typeof order)[number]

export interface GracefulStop {
  /**
   * Registers a closer. `reactions`: workers, whose running steps still call our own services. `intake`: the HTTP
   * server (its running requests finish). `work`: relays, projections. `resources`: event store, pools. `servers`:
   * embedded children. Within a stage the last registered ends first.
   */
  onStop(stage: StopStage, name: string, close: () => Promise<void> | void): void
  readonly isStopping: boolean
  /** Aborted when the stop begins. */
  readonly signal: AbortSignal
  /** Ends everything once. Resolves to the exit code: `code` (0), or 1 after a failure or a time-out. */
  stop(options?: { readonly reason?: string; readonly code?: number }): Promise<number>
  /**
   * SIGINT, SIGTERM and SIGHUP (closed terminal) stop the program and exit. A repeat changes nothing: npm repeats the
   * terminal's signal to the group, so each Ctrl-C arrives twice. Returns a function that removes the handlers.
   */
  listen(exit?: (code: number) => void): () => void
}

/** The signals that end a program: Ctrl-C, the service manager, a closed terminal. */
export const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** A closer that hangs is abandoned, so the others can still close in time. */
const closerFraction = 0.4

export function createGracefulStop({
  logger,
  limitMs = 10_000,
}: {
  readonly logger: Logger
  readonly limitMs?: number
}): GracefulStop {
  const closers: { readonly stage: StopStage; readonly name: string; readonly close: () => Promise<void> | void }[] = []
  const stopping = new AbortController()
  let running: Promise<number> | undefined

  async function closeAll(): Promise<boolean> {
    let isClean = true
    for (const stage of order) {
      for (const { name, close } of closers.filter((one) => one.stage === stage).toReversed()) {
        try {
          await limited(limitMs * closerFraction, Promise.resolve(close()))
        } catch (err) {
          isClean = false
          logger.error({ component: name, err }, 'closing failed')
        }
      }
    }
    return isClean
  }

  async function run(code: number): Promise<number> {
    try {
      return (await limited(limitMs, closeAll())) ? code : 1
    } catch {
      logger.error({ delayMs: limitMs }, 'stop took too long')
      return 1
    }
  }

  const graceful: GracefulStop = {
    onStop: (stage, name, close) => void closers.push({ stage, name, close }),
    get isStopping() {
      return stopping.signal.aborted
    },
    signal: stopping.signal,
    stop({ reason = 'asked', code = 0 } = {}) {
      if (running === undefined) {
        logger.info({ reason }, 'stopping')
        stopping.abort()
        running = run(code)
      }
      return running
    },
    listen(exit = (code) => process.exit(code)) {
      const onSignal = (signal: NodeJS.Signals): void => {
        if (!graceful.isStopping) void graceful.stop({ reason: signal }).then(exit)
      }
      for (const signal of stopSignals) process.on(signal, onSignal)
      return () => {
        for (const signal of stopSignals) process.off(signal, onSignal)
      }
    },
  }
  return graceful
}

/** A place at which a crash test may kill the process. */
export type Failpoint = (name: string) => void

/**
 * Returns a function that kills this process (SIGKILL) at the configured name. So a crash happens exactly between two
 * steps. The configuration refuses FAILPOINT in production.
 */
export function createFailpoint(configuration: { readonly failpoint: string | undefined }): Failpoint {
  const { failpoint } = configuration
  if (failpoint === undefined) return () => undefined
  return (name) => {
    if (name === failpoint) process.kill(process.pid, 'SIGKILL')
  }
}
