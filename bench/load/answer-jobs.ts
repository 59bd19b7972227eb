import type { JobAnswer } from './jobs.ts'

/** The life of a process that does jobs for its parent: one after the other, and it ends with its parent. */
export function answerJobs(run: (job: never) => Promise<unknown>): void {
  process.on('message', (job) => {
    const answer = (given: JobAnswer<unknown>) => process.send?.(given)
    run(job as never).then(
      (done) => answer({ done }),
      (error: unknown) => answer({ failed: error instanceof Error ? error.message : String(error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
