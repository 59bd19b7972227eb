import { EventStoreDBClient, START, StreamNotFoundError } from '@eventstore/db-client'

/** An event as a consumer of the event store reads it. */
export interface RecordedFact {
  readonly id: string
  readonly stream: string
  readonly type: string
  readonly data: unknown
  readonly metadata: unknown
}

/** The events of a stream, read with the official client. Empty if the stream does not exist. */
export async function eventsOf(url: string, stream: string): Promise<readonly RecordedFact[]> {
  return reading(url, async (client) => {
    const facts: RecordedFact[] = []
    try {
      for await (const { event } of client.readStream(stream)) if (event !== undefined) facts.push(factOf(event))
    } catch (error) {
      if (!(error instanceof StreamNotFoundError)) throw error
    }
    return facts
  })
}

/** All events of the log except system events, in order. */
export async function eventsOfAll(url: string): Promise<readonly RecordedFact[]> {
  return reading(url, async (client) => {
    const facts: RecordedFact[] = []
    for await (const { event } of client.readAll({ fromPosition: START })) {
      if (event !== undefined && !event.streamId.startsWith('$')) facts.push(factOf(event))
    }
    return facts
  })
}

async function reading<Read>(url: string, read: (client: EventStoreDBClient) => Promise<Read>): Promise<Read> {
  const client = EventStoreDBClient.connectionString(url)
  try {
    return await read(client)
  } finally {
    await client.dispose()
  }
}

function factOf({
  id,
  streamId,
  type,
  data,
  metadata,
}: {
  id: string
  streamId: string
  type: string
  data: unknown
  metadata: unknown
}): RecordedFact {
  return { id, stream: streamId, type, data, metadata }
}
