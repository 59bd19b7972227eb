import { randomUUID } from 'node:crypto'
import { Pool } from 'undici'
import { memberOf, timed } from './work.ts'
import type { HttpJob, JobDone } from './jobs.ts'

/** Reads each answer to its end and checks it. */
export async function runHttpJob(job: HttpJob): Promise<JobDone> {
  const { baseUrl, method, paths, bodies, count, inFlight, status, makesRecords } = job
  const pool = new Pool(baseUrl, { connections: inFlight, pipelining: 1 })
  const ids = new Set<unknown>()
  const headers = bodies.length === 0 ? job.headers : { ...job.headers, 'content-type': 'application/json' }
  try {
    const done = await timed(count, inFlight, async (number) => {
      const path = paths[number % paths.length] ?? ''
      const body = bodies[number % bodies.length] ?? null
      const own = job.isKeyed ? { ...headers, 'idempotency-key': randomUUID() } : headers
      const answer = await pool.request({ path, method, headers: own, body })
      const text = await answer.body.text()
      if (answer.statusCode !== status)
        throw new Error(`${method} ${path} was answered ${answer.statusCode}: ${text.slice(0, 300)}`)
      if (makesRecords) ids.add(memberOf(JSON.parse(text), 'id'))
    })
    if (makesRecords && ids.size !== count) throw new Error(`${count} requests made ${ids.size} records`)
    return done
  } finally {
    await pool.close()
  }
}
