import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Addresses } from './world.ts'

/** Reads the log by the bare client up to a position. */
export interface ReadJob {
  readonly kind: 'read'
  readonly eventStoreUrl: string
  /** As `formatPosition` writes it. */
  readonly upTo: string
}

/** Fills empty copies of read models from the log's start, in one reading of it, and drops them again. */
export interface FillJob {
  readonly kind: 'fill'
  readonly addresses: Addresses
  readonly models: readonly string[]
  readonly upTo: string
}

/** The same again and again, until the process is told to stop. */
export interface RefillJob extends Omit<FillJob, 'kind'> {
  readonly kind: 'refill'
}

/** Puts rows into a table by COPY. */
export interface CopyJob {
  readonly kind: 'copy'
  readonly databaseUrl: string
  /** Which is emptied before. */
  readonly table: string
  /** File of rows as COPY takes them. */
  readonly file: string
}

/** Rebuilds a read model of the same events by another library. */
export interface PeerRebuildJob {
  readonly kind: 'peer-rebuild'
  readonly databaseUrl: string
  /** JSON lines of `{ stream, type, data }`, appended once per database. */
  readonly file: string
}

export type LogJob = ReadJob | FillJob | RefillJob | CopyJob | PeerRebuildJob

export interface LogJobDone {
  readonly milliseconds: number
  /** Events that were read, or rows that were written by `copy`. */
  readonly events: number
  /** Most memory that the process has held, in bytes. */
  readonly peakBytes: number
  /** Rows of each table, `model.table`, and of those that a check names. */
  readonly rows: Readonly<Record<string, number>>
}

export type LogJobAnswer = { readonly done: LogJobDone } | { readonly failed: string }

/** A process that works on a log, one job at a time. */
export interface LogProcess {
  readonly run: (job: LogJob) => Promise<LogJobDone>
  /** Ends a `refill` after the round in hand. */
  readonly enough: () => void
  stop(): Promise<void>
}

/** Starts one, of our own code unless another script is named; its warm code serves later jobs. */
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

/** The life of such a process: `isEnough` tells a `refill` to end. */
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
      // Linux and macOS tell it in kilobytes.
      (done) => answer({ done: { ...done, peakBytes: process.resourceUsage().maxRSS * 1024 } }),
      (error: unknown) => answer({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
