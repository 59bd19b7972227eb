import { answerJobs, type Job, type JobDone, type SelectJob } from './jobs.ts'
import { runAppendJob } from './append-job.ts'
import { runDurablePostsJob } from './durable-posts-job.ts'
import { runEndToEndJob, runMainJob, runOutsideCallsJob } from './end-to-end-jobs.ts'
import { runFeedLinesJob, runFeedPagesJob, runIdleStreamsJob, runReadStreamJob } from './feed-jobs.ts'
import { runHttpJob } from './http-job.ts'
import { runInlineJob } from './inline-job.ts'
import { runMailCallsJob, runMailedJob, runMailsJob } from './mail-jobs.ts'
import { runBareVisibleJob, runVisibleJob } from './visible-jobs.ts'
import { runPostsJob } from './webhook-jobs.ts'
import { Pool } from 'pg'
import { timed } from './work.ts'

/* Puts load on a system from its own process, so that the load costs neither side of a comparison. */

answerJobs(run)

async function run(job: Job): Promise<JobDone> {
  switch (job.kind) {
    case 'http':
      return runHttpJob(job)
    case 'inline':
      return runInlineJob(job)
    case 'append':
      return runAppendJob(job)
    case 'select':
      return runSelectJob(job)
    case 'visible':
      return runVisibleJob(job)
    case 'bare-visible':
      return runBareVisibleJob(job)
    case 'posts':
      return runPostsJob(job)
    case 'mails':
      return runMailsJob(job)
    case 'mailed':
      return runMailedJob(job)
    case 'mail-calls':
      return runMailCallsJob(job)
    case 'durable-posts':
      return runDurablePostsJob(job)
    case 'end-to-end':
      return runEndToEndJob(job)
    case 'main-job':
      return runMainJob(job)
    case 'outside-calls':
      return runOutsideCallsJob(job)
    case 'feed-pages':
      return runFeedPagesJob(job)
    case 'read-stream':
      return runReadStreamJob(job)
    case 'feed-lines':
      return runFeedLinesJob(job)
    case 'idle-streams':
      return runIdleStreamsJob(job)
    case 'peer-commands':
    case 'peer-deliveries':
      throw new Error('a peer needs its own process')
  }
}

/** Each query must return exactly one row. */
export async function runSelectJob({ databaseUrl, sql, ids, count, inFlight }: SelectJob): Promise<JobDone> {
  const pool = new Pool({ connectionString: databaseUrl, max: inFlight })
  try {
    return await timed(count, inFlight, async (number) => {
      const { rowCount } = await pool.query({ name: 'by-key', text: sql, values: [ids[number % ids.length]] })
      if (rowCount !== 1) throw new Error(`${rowCount} rows with one primary key`)
    })
  } finally {
    await pool.end()
  }
}
