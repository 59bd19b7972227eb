import { randomUUID } from 'node:crypto'
import { EventStoreDBClient, NO_STREAM, jsonEvent } from '@eventstore/db-client'
import type { AppendJob, JobDone } from './jobs.ts'
import { timed } from './work.ts'

/** Each append must be acknowledged as the first of its stream. */
export async function runAppendJob({ url, events, count, inFlight }: AppendJob): Promise<JobDone> {
  const client = EventStoreDBClient.connectionString(url)
  const run = randomUUID()
  // Every append has its own data object. The client serialises it for each append, as it does for a caller's data.
  const data = events.map(({ type, data, metadata }) => ({ type, data: parsed(data), metadata: parsed(metadata) }))
  try {
    return await timed(count, inFlight, async (number) => {
      const appended = await client.appendToStream(
        `bare-${run}-${number}`,
        data.map((event) => jsonEvent(event)),
        { expectedRevision: NO_STREAM },
      )
      if (!appended.success || appended.nextExpectedRevision !== BigInt(events.length - 1))
        throw new Error(`append ${number} was not acknowledged as the first of its stream`)
    })
  } finally {
    await client.dispose()
  }
}

function parsed(text: string): Record<string, unknown> {
  return JSON.parse(text)
}
