import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { DriverAnswer, Job, JobDone } from './jobs.ts'

export interface Driver {
  readonly pid: number
  /** One job at a time. Rejects with what went wrong in the driver. */
  readonly run: (job: Job) => Promise<JobDone>
  stop(): Promise<void>
}

/** Starts a driver; warm code of earlier jobs serves later ones, on either side of a comparison. */
export function startDriver(): Promise<Driver> {
  return startJobProcess('driver.ts')
}

/** Starts a process that does commands by `@event-driven-io/emmett`, once `installPeers` is through. */
export function startEmmett(): Promise<Driver> {
  return startJobProcess('../peers/emmett-commands.ts')
}

async function startJobProcess(script: string): Promise<Driver> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), { serialization: 'advanced', stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    pid: child.pid ?? 0,
    run: async (job) => {
      const answered = Promise.withResolvers<DriverAnswer>()
      child.once('message', (answer: DriverAnswer) => answered.resolve(answer))
      void exited.then(() => answered.reject(new Error('the driver ended')))
      child.send(job)
      const answer = await answered.promise
      if ('failed' in answer) throw new Error(answer.failed)
      return answer.done
    },
    stop: async () => {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
