import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Addresses } from './world.ts'

/** Reads the log with the bare client up to a position. */
export interface ReadJob {
  readonly kind: 'read'
  readonly eventStoreUrl: string
  /** In the format of `formatPosition`. */
  readonly upTo: string
}

/** Fills empty copies of read models from the start of the log in one reading, then drops them. */
export interface FillJob {
  readonly kind: 'fill'
  readonly addresses: Addresses
  readonly models: readonly string[]
  readonly upTo: string
}

/** Repeats the same job until the process gets a stop signal. */
export interface RefillJob extends Omit<FillJob, 'kind'> {
  readonly kind: 'refill'
}

/** Copies rows into a table with COPY. */
export interface CopyJob {
  readonly kind: 'copy'
  readonly databaseUrl: string
  /** The table. It is emptied first. */
  readonly table: string
  /** File of rows in the format of COPY. */
  readonly file: string
}

/** Rebuilds a read model of the same events with another library. */
export interface PeerRebuildJob {
  readonly kind: 'peer-rebuild'
  readonly databaseUrl: string
  /** JSON lines of `{ stream, type, data }`. They are appended once per database. */
  readonly file: string
}

export type LogJob = ReadJob | FillJob | RefillJob | CopyJob | PeerRebuildJob

export interface LogJobDone {
  readonly milliseconds: number
  /** Number of events that were read, or of rows that `copy` wrote. */
  readonly events: number
  /** Peak memory of the process in bytes. */
  readonly peakBytes: number
  /** Number of rows of each table, as `model.table`, and further counts for checks. */
  readonly rows: Readonly<Record<string, number>>
}

type LogJobAnswer = { readonly done: LogJobDone } | { readonly failed: string }

/** A process that works on a log, one job at a time. */
export interface LogProcess {
  readonly run: (job: LogJob) => Promise<LogJobDone>
  /** Ends a `refill` after the current round. */
  readonly enough: () => void
  stop(): Promise<void>
}

/** Starts a process. Its default script is the platform's own. Later jobs use its warm code. */
export async function startLogProcess(script = 'log-process.ts'): Promise<LogProcess> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    run: async (job) => {
      const answered = Promise.withResolvers<LogJobAnswer>()
      child.once('message', (answer: LogJobAnswer) => answered.resolve(answer))
      void exited.then(() => answered.reject(new Error('the process ended')))
      child.send(job)
      const answer = await answered.promise
      if ('failed' in answer) throw new Error(answer.failed)
      return answer.done
    },
    enough: () => void child.send('enough'),
    stop: async () => {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}

/** Runs the jobs of such a process. `isEnough` ends a `refill`. */
export function answerLogJobs(
  run: (job: LogJob, isEnough: () => boolean) => Promise<Omit<LogJobDone, 'peakBytes'>>,
): void {
  let isEnough = false
  process.on('message', (message: LogJob | 'enough') => {
    if (message === 'enough') {
      isEnough = true
      return
    }
    isEnough = false
    const answer = (given: LogJobAnswer) => process.send?.(given)
    run(message, () => isEnough).then(
      // maxRSS is in kilobytes on Linux and macOS.
      (done) => answer({ done: { ...done, peakBytes: process.resourceUsage().maxRSS * 1024 } }),
      (error: unknown) => answer({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
