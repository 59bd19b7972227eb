import { EventStoreDBClient } from '@eventstore/db-client'
import type { AppendJob } from './jobs.ts'

/** The stored events of a stream, for a bare append of the same bytes. */
export async function storedEvents(url: string, stream: string): Promise<AppendJob['events']> {
  const client = EventStoreDBClient.connectionString(url)
  const events: { type: string; data: string; metadata: string }[] = []
  try {
    for await (const { event } of client.readStream(stream)) {
      if (event !== undefined)
        events.push({ type: event.type, data: JSON.stringify(event.data), metadata: metadataText(event.metadata) })
    }
  } finally {
    await client.dispose()
  }
  return events
}

function metadataText(metadata: unknown): string {
  return metadata instanceof Uint8Array ? Buffer.from(metadata).toString('utf8') : JSON.stringify(metadata)
}
