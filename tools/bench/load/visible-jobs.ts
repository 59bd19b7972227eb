import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, END, NO_STREAM, jsonEvent, streamNameFilter } from '@eventstore/db-client'
import { Pool as PostgresPool } from 'pg'
import { Pool } from 'undici'
import type { BareVisibleJob, JobDone, VisibleJob } from './jobs.ts'
import { memberOf, paced } from './work.ts'

/** Milliseconds from each 202 to the answer of a GET that waited for the position in that 202. */
export async function runVisibleJob({ requests, readPath, perSecond }: VisibleJob): Promise<JobDone> {
  const { baseUrl, paths, bodies, count, status } = requests
  const pool = new Pool(baseUrl, { connections: 64, pipelining: 1 })
  const headers = { ...requests.headers, 'content-type': 'application/json' }
  try {
    return await paced(count, perSecond, async (number) => {
      const body = bodies[number % bodies.length] ?? null
      const written = await pool.request({
        path: paths[0] ?? '',
        method: 'POST',
        headers: { ...headers, 'idempotency-key': randomUUID() },
        body,
      })
      const id = memberOf(await written.body.json(), 'id')
      const position = written.headers['x-commit-position']
      if (written.statusCode !== status || typeof id !== 'string' || typeof position !== 'string')
        throw new Error(`a request was answered ${written.statusCode}`)
      const acknowledged = performance.now()
      const path = readPath.replace('{id}', id)
      // An answer may report that the read model is behind. The client then repeats the request.
      for (;;) {
        const read = await pool.request({
          path,
          method: 'GET',
          headers: { ...requests.headers, 'x-min-commit-position': position },
        })
        const record: unknown = await read.body.json()
        if (read.headers['x-projection-lag-ms'] !== undefined) continue
        if (read.statusCode !== 200 || memberOf(record, 'id') !== id)
          throw new Error(`${path} was answered ${read.statusCode}`)
        return performance.now() - acknowledged
      }
    })
  } finally {
    await pool.close()
  }
}

/**
 * Milliseconds from each append, begun or acknowledged, to the commit of one transaction for the event from a
 * subscription.
 */
export async function runBareVisibleJob({
  append,
  databaseUrl,
  perSecond,
  from = 'acknowledged',
}: BareVisibleJob): Promise<JobDone> {
  const client = EventStoreDBClient.connectionString(append.url)
  const pool = new PostgresPool({ connectionString: databaseUrl, max: 8 })
  const run = randomUUID()
  const committed = new Map<string, PromiseWithResolvers<void>>()
  const commitOf = (stream: string) => {
    const existing = committed.get(stream)
    if (existing !== undefined) return existing
    const made = Promise.withResolvers<void>()
    committed.set(stream, made)
    return made
  }
  await pool.query(
    'create table if not exists visible (stream text primary key, data jsonb not null, position bigint not null)',
  )
  await pool.query('create table if not exists place (name text primary key, position bigint not null)')
  await pool.query("insert into place values ('bare', 0) on conflict do nothing")
  const subscription = client.subscribeToAll({
    fromPosition: END,
    filter: streamNameFilter({ prefixes: [`bare-${run}`] }),
  })
  const project = async (): Promise<void> => {
    for await (const { event } of subscription) {
      if (event === undefined || event.revision !== BigInt(append.events.length - 1)) continue
      const connection = await pool.connect()
      try {
        await connection.query('begin')
        await connection.query({
          name: 'row',
          text: 'insert into visible values ($1, $2, $3)',
          values: [event.streamId, JSON.stringify(event.data), event.position.commit],
        })
        await connection.query({
          name: 'place',
          text: "update place set position = $1 where name = 'bare'",
          values: [event.position.commit],
        })
        await connection.query('commit')
      } finally {
        connection.release()
      }
      commitOf(event.streamId).resolve()
    }
  }
  await new Promise((resolve) => subscription.once('confirmation', resolve))
  const projecting = project()
  try {
    return await paced(append.count, perSecond, async (number) => {
      const stream = `bare-${run}-${number}`
      const events = append.events.map(({ type, data, metadata }) =>
        jsonEvent({ type, data: JSON.parse(data), metadata: JSON.parse(metadata) }),
      )
      const begun = performance.now()
      await client.appendToStream(stream, events, { expectedRevision: NO_STREAM })
      const acknowledged = performance.now()
      await commitOf(stream).promise
      return Math.max(performance.now() - (from === 'begun' ? begun : acknowledged), 0)
    })
  } finally {
    await subscription.unsubscribe()
    await projecting
    await pool.end()
    await client.dispose()
  }
}
