import type { ChannelPlace } from '../../contracts/events/channels.ts'
import { followFeed, type FeedDependencies, type Subject } from './reader.ts'

/** Events of one look into the read model. */
const partLimit = 500
/** So long a client waits before it connects again, in milliseconds. */
const retryMs = 2_000

export interface EventStreamOptions {
  readonly subject: Subject
  readonly after: ChannelPlace
  readonly cursorOf: (place: ChannelPlace) => string
  readonly signal: AbortSignal
}

/**
 * The text of a stream of server-sent events (HTML standard, 9.2). Each block has a cursor as its id, and an event as its
 * data. A block without data names a place: the first one where the stream begins, and one in each silence how far it
 * has read. The comment in it keeps proxies from closing an idle stream.
 */
export async function* eventStream(
  deps: FeedDependencies,
  { subject, after, cursorOf, signal }: EventStreamOptions,
): AsyncGenerator<string, void, undefined> {
  yield `retry: ${retryMs}\nid: ${cursorOf(after)}\n\n`
  for await (const { items, reached } of followFeed(deps, subject, after, partLimit, signal)) {
    yield items.length === 0
      ? `: no event\nid: ${cursorOf(reached)}\n\n`
      : items.map(({ place, payload }) => `id: ${cursorOf(place)}\ndata: ${payload}\n\n`).join('')
  }
}
