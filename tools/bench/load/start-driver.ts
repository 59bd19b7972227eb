import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Job, JobAnswer, JobDone, PeerServiceDone, PeerServiceJob, ReceiverDone, ReceiverJob } from './jobs.ts'

/** A process that runs jobs for this one. */
export interface JobProcess<Task, Done> {
  readonly pid: number
  /** Runs one job at a time. Rejects with the error of the process. */
  readonly run: (job: Task) => Promise<Done>
  stop(): Promise<void>
}

export type Driver = JobProcess<Job, JobDone>
export type Receiver = JobProcess<ReceiverJob, ReceiverDone>

/** Starts a driver. Both sides of a comparison use its warm code. */
export function startDriver(): Promise<Driver> {
  return startJobProcess('driver.ts')
}

/** Starts a process that runs commands with `@event-driven-io/emmett`. Needs `installPeers` first. */
export function startEmmett(): Promise<Driver> {
  return startJobProcess('../peers/emmett-commands.ts')
}

/** Starts a process that delivers with `graphile-worker`. Needs `installPeers` first. */
export function startGraphile(): Promise<Driver> {
  return startJobProcess('../peers/graphile-deliveries.ts')
}

/** Starts a process that serves the main job with `@dbos-inc/dbos-sdk`. Needs `installPeers` first. */
export function startDbos(): Promise<JobProcess<PeerServiceJob, PeerServiceDone>> {
  return startJobProcess('../peers/dbos-main-job.ts')
}

/** Starts a process that receives webhooks. */
export function startReceiver(): Promise<Receiver> {
  return startJobProcess('receiver.ts')
}

async function startJobProcess<Task extends object, Done>(script: string): Promise<JobProcess<Task, Done>> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return {
    pid: child.pid ?? 0,
    run: async (job) => {
      const answered = Promise.withResolvers<JobAnswer<Done>>()
      child.once('message', (answer: JobAnswer<Done>) => answered.resolve(answer))
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
