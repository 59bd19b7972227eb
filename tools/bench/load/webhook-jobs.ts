import { v7 } from 'uuid'
import { Pool } from 'undici'
import type { JobDone, PostsJob, Webhook } from './jobs.ts'
import { timed } from './work.ts'

/** Each post must be answered 204. */
export async function runPostsJob({ baseUrl, paths, sample, count, inFlight }: PostsJob): Promise<JobDone> {
  const pool = new Pool(baseUrl, { connections: inFlight, pipelining: 1 })
  const { headers, body } = sample
  try {
    return await timed(count, inFlight, (number) =>
      post(pool, paths[number % paths.length] ?? '/', { headers: { ...headers, 'webhook-id': v7() }, body }),
    )
  } finally {
    await pool.close()
  }
}

export async function post(pool: Pool, path: string, { headers, body }: Webhook): Promise<void> {
  const answer = await pool.request({ path, method: 'POST', headers, body })
  await answer.body.dump()
  if (answer.statusCode !== 204) throw new Error(`a webhook was answered ${answer.statusCode}`)
}
