import type { DriverAnswer, Job, JobDone } from './jobs.ts'

/** The life of a process that does jobs for its parent: one after the other, and it ends with its parent. */
export function answerJobs(run: (job: Job) => Promise<JobDone>): void {
  process.on('message', (job: Job) => {
    const answer = (given: DriverAnswer) => process.send?.(given)
    run(job).then(
      (done) => answer({ done }),
      (error: unknown) => answer({ failed: error instanceof Error ? error.message : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
