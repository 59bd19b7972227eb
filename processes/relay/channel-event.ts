import type { EventStore } from '../../streams/store/event-store.ts'
import type { DomainEvent, RecordedEvent } from '../../streams/store/events.ts'

/** The public event that a to-do row stands for: rows name its place, so that payloads stay out of the list. */
export async function readChannelEvent<Event extends DomainEvent>(
  store: Pick<EventStore, 'readStream'>,
  channel: string,
  revision: bigint,
): Promise<RecordedEvent<Event>> {
  for await (const event of store.readStream<Event>(channel, { from: revision, limit: 1 })) {
    if (event.revision === revision) return event
  }
  throw new Error(`${channel} has no event ${revision}`)
}
