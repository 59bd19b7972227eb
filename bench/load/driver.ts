import { runAppendJob } from './append-job.ts'
import { runHttpJob } from './http-job.ts'
import type { DriverAnswer, Job, JobDone } from './jobs.ts'
import { runSelectJob } from './select-job.ts'

/* A process of its own that puts load on something, so that neither side of a comparison pays for it. */

process.on('message', (job: Job) => {
  const answer = (given: DriverAnswer) => process.send?.(given)
  run(job).then(
    (done) => answer({ done }),
    (error: unknown) => answer({ failed: error instanceof Error ? error.message : String(error) }),
  )
})
process.on('disconnect', () => process.exit(0))

function run(job: Job): Promise<JobDone> {
  switch (job.kind) {
    case 'http':
      return runHttpJob(job)
    case 'append':
      return runAppendJob(job)
    case 'select':
      return runSelectJob(job)
  }
}
