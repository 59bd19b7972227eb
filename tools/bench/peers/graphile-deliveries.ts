import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { Pool } from 'undici'
import { v7 } from 'uuid'
import { createPool } from '../../../platform/database/database.ts'
import { answerJobs, type Job, type JobDone } from '../load/jobs.ts'
import { post } from '../load/webhook-jobs.ts'

/*
 * Webhooks with graphile-worker in the fastest form of its documentation: jobs are taken and ended in batches. The
 * optional log of attempts is a row of a separate table, written with the query function of the job.
 */

interface Delivery {
  readonly id: string
  readonly path: string
  readonly eventType: string
  readonly body: string
}

const jobsAtATime = 500
const batches = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }

const logged =
  'insert into delivery_log (delivery_id, attempt, status_code, duration_ms, error_class, at) values ($1, $2, $3, $4, $5, $6)'

async function makeLog(url: string): Promise<void> {
  const pool = createPool({ url, max: 1 })
  try {
    await pool.query(`
      create table if not exists delivery_log (
        delivery_id uuid not null, attempt integer not null, status_code integer, duration_ms integer not null, error_class text,
        at timestamptz not null, primary key (delivery_id, attempt)
      )`)
  } finally {
    await pool.end()
  }
}

answerJobs(async (job: Job): Promise<JobDone> => {
  if (job.kind !== 'peer-deliveries') throw new Error(`this process does not run ${job.kind}`)
  const { databaseUrl: connectionString, baseUrl, paths, sample, count, inFlight, keepsLog } = job
  const logger = new Logger(() => () => undefined)
  const deliveries = Array.from({ length: count }, (_, number): Delivery => {
    return {
      id: v7(),
      path: paths[number % paths.length] ?? '/',
      eventType: String(sample.headers['webhook-event-type']),
      body: sample.body,
    }
  })
  const jobs = await makeWorkerUtils({ connectionString, logger })
  try {
    await jobs.migrate()
    for (let at = 0; at < count; at += jobsAtATime) {
      await jobs.addJobs(deliveries.slice(at, at + jobsAtATime).map((payload) => ({ identifier: 'deliver', payload })))
    }
  } finally {
    await jobs.release()
  }
  if (keepsLog) await makeLog(connectionString)
  const webhook = new Webhook(randomBytes(24), { format: 'raw' })
  const pool = new Pool(baseUrl, { connections: inFlight, pipelining: 1 })
  const allDone = Promise.withResolvers<void>()
  let done = 0
  const deliver = async (
    payload: unknown,
    helpers: { query(text: string, values: unknown[]): Promise<unknown> },
  ): Promise<void> => {
    const { id, path, eventType, body } = payload as Delivery
    const sentAt = new Date()
    const startedAtMs = performance.now()
    const signed = {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
      'webhook-signature': webhook.sign(id, sentAt, body),
    }
    await post(pool, path, {
      headers: { 'content-type': 'application/json', ...signed, 'webhook-event-type': eventType },
      body,
    })
    if (keepsLog) await helpers.query(logged, [id, 1, 204, Math.round(performance.now() - startedAtMs), null, sentAt])
  }
  const started = performance.now()
  const options = {
    connectionString,
    logger,
    concurrency: inFlight,
    noHandleSignals: true,
    preset: { worker: { ...batches, maxPoolSize: 10 } },
  }
  const runner = await run({ ...options, taskList: { deliver } })
  try {
    runner.events.on('job:success', () => {
      done += 1
      if (done === count) allDone.resolve()
    })
    runner.events.on('job:error', ({ error }) =>
      allDone.reject(error instanceof Error ? error : new Error(String(error))),
    )
    await allDone.promise
  } finally {
    await runner.stop()
    await pool.close()
  }
  return { perSecond: (count * 1000) / (performance.now() - started), p50: NaN, p99: NaN }
})
