import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, NO_STREAM, jsonEvent, type AppendResult } from '@eventstore/db-client'
import { Pool } from 'undici'
import { v7 } from 'uuid'
import type { AppendJob, DurablePostsJob, JobDone } from './jobs.ts'
import { post } from './webhook-jobs.ts'
import { timed } from './work.ts'

/**
 * The minimum of an event-sourced delivery: an append for its start, the post, an append for its result. Each waits for
 * the acknowledgement of the one before. It does not claim, read, decide, sign or show anything.
 */
export async function runDurablePostsJob({
  baseUrl,
  paths,
  sample,
  count,
  inFlight,
  appends,
}: DurablePostsJob): Promise<JobDone> {
  const client = EventStoreDBClient.connectionString(appends.url)
  const pool = new Pool(baseUrl, { connections: inFlight, pipelining: 1 })
  const run = randomUUID()
  const { headers, body } = sample
  const [begin, end] = [dataOf(appends.begin), dataOf(appends.end)]
  const last = BigInt(begin.length - 1)
  try {
    return await timed(count, inFlight, async (number) => {
      const stream = `bare-delivery-${run}-${number}`
      acknowledged(
        await client.appendToStream(
          stream,
          begin.map((event) => jsonEvent(event)),
          { expectedRevision: NO_STREAM },
        ),
        last,
      )
      await post(pool, paths[number % paths.length] ?? '/', { headers: { ...headers, 'webhook-id': v7() }, body })
      acknowledged(
        await client.appendToStream(
          stream,
          end.map((event) => jsonEvent(event)),
          { expectedRevision: last },
        ),
        last + BigInt(end.length),
      )
    })
  } finally {
    await Promise.all([pool.close(), client.dispose()])
  }
}

function dataOf(events: AppendJob['events']) {
  return events.map(({ type, data, metadata }) => ({ type, data: parsed(data), metadata: parsed(metadata) }))
}

function parsed(text: string): Record<string, unknown> {
  return JSON.parse(text)
}

function acknowledged({ success, nextExpectedRevision }: AppendResult, revision: bigint): void {
  if (!success || nextExpectedRevision !== revision) throw new Error('an append was acknowledged at a wrong place')
}
