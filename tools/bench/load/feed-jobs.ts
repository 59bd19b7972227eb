import { randomUUID } from 'node:crypto'
import { EventStoreDBClient } from '@eventstore/db-client'
import { createClient } from 'clinical-assessment-client/source'
import { Pool } from 'undici'
import type { FeedLinesJob, FeedPagesJob, IdleStreamsJob, JobDone, ReadStreamJob } from './jobs.ts'
import { memberOf, paced, timed } from './work.ts'

/** Reads a channel by pages of the feed, from its oldest event to its end. */
export async function runFeedPagesJob({ baseUrl, path, headers, count }: FeedPagesJob): Promise<JobDone> {
  const pool = new Pool(baseUrl, { connections: 1 })
  try {
    return await perEvent(count, async () => {
      let found = 0
      for (let after = ''; ;) {
        const answer = await pool.request({ path: `${path}?limit=1000${after}`, method: 'GET', headers })
        const page: unknown = await answer.body.json()
        const data = memberOf(page, 'data')
        if (!Array.isArray(data)) throw new Error(`${path} was answered ${answer.statusCode}`)
        found += data.length
        after = `&after=${String(memberOf(page, 'next_cursor'))}`
        if (memberOf(page, 'has_more') !== true) return found
      }
    })
  } finally {
    await pool.close()
  }
}

/** Reads the same stream with the bare client. */
export async function runReadStreamJob({ url, stream, count }: ReadStreamJob): Promise<JobDone> {
  const client = EventStoreDBClient.connectionString(url)
  try {
    return await perEvent(count, async () => {
      let found = 0
      for await (const { event } of client.readStream(stream)) if (event !== undefined) found += 1
      return found
    })
  } finally {
    await client.dispose()
  }
}

/** Runs a read that must find this number of events. The rate is that of events. */
async function perEvent(count: number, read: () => Promise<number>): Promise<JobDone> {
  const done = await timed(1, 1, async () => {
    const found = await read()
    if (found !== count) throw new Error(`${found} of ${count} events were read`)
  })
  return { ...done, perSecond: done.perSecond * count }
}

/** Milliseconds from the answer to each request to the server-sent event about its patient. */
export async function runFeedLinesJob({ requests, channel, perSecond }: FeedLinesJob): Promise<JobDone> {
  const { baseUrl, paths, bodies, count, status, headers } = requests
  const token = (headers['authorization'] ?? '').slice('Bearer '.length)
  const pool = new Pool(baseUrl, { connections: 64, pipelining: 1 })
  const ending = new AbortController()
  const lines = new Map<string, PromiseWithResolvers<void>>()
  const listening = Promise.withResolvers<void>()
  const patientOf = (path: string) => path.split('/')[3] ?? ''
  const follow = async (): Promise<void> => {
    const client = createClient({ baseUrl, token })
    const answer = await client.request('GET', '/v1/events/{channel}', { params: { channel, after: 'now' } })
    const events = client.events(channel, { after: answer.data.next_cursor, signal: ending.signal })
    listening.resolve()
    for await (const { event } of events) lines.get(String(memberOf(event, 'patient_id')))?.resolve()
  }
  const following = follow()
  following.catch((error: unknown) => listening.reject(error))
  try {
    await listening.promise
    return await paced(count, perSecond, async (number) => {
      const path = paths[number % paths.length] ?? ''
      const line = Promise.withResolvers<void>()
      lines.set(patientOf(path), line)
      const written = await pool.request({
        path,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
        body: bodies[number % bodies.length] ?? null,
      })
      await written.body.dump()
      if (written.statusCode !== status) throw new Error(`a request was answered ${written.statusCode}`)
      const recorded = performance.now()
      await Promise.race([line.promise, following])
      return performance.now() - recorded
    })
  } finally {
    ending.abort()
    await following.catch(() => undefined)
    await pool.close()
  }
}

/** Opens idle streams of server-sent events and keeps them until the next job. */
export async function runIdleStreamsJob({ url, headers, count }: IdleStreamsJob): Promise<JobDone> {
  idle.abort()
  idle = new AbortController()
  const { signal } = idle
  const { origin, pathname, search } = new URL(url)
  return timed(count, 16, async () => {
    const pool = new Pool(origin, { connections: 1, bodyTimeout: 0 })
    const accept = 'text/event-stream'
    const { statusCode, body } = await pool.request({
      path: pathname + search,
      method: 'GET',
      headers: { ...headers, accept },
      signal,
    })
    if (statusCode !== 200) throw new Error(`${pathname} was answered ${statusCode}`)
    body.on('error', () => void pool.destroy())
    await new Promise((resolve) => body.once('data', resolve))
  })
}

let idle = new AbortController()
