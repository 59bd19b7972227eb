import { streamDeleted } from '../wire/errors.ts'
import { caughtUp, subscriptionConfirmed } from '../wire/read-reply.ts'
import type { ReadRequest } from '../wire/read-request.ts'
import { DELETED_STREAM } from '../streams/revision.ts'
import { readForwards, viewStream } from '../streams/read-stream.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import { REPLIES_AT_ONCE, replyOf } from './replies.ts'
import type { ReplyStream } from './reply-stream.ts'

/**
 * A catch-up subscription to a stream: everything behind a revision (excluded), then what is appended, until the client leaves.
 * A missing stream is waited for; a tombstone ends the subscription with an error.
 */
export async function subscribeToStream(
  store: StreamStore,
  replies: ReplyStream,
  request: ReadRequest,
  source: Extract<ReadRequest['source'], { kind: 'stream' }>,
  subscriptionId: string,
): Promise<void> {
  const { stream, from } = source
  const stop = store.onStream(stream, replies.signal)
  try {
    let next = from === 'start' ? 0 : from === 'end' ? store.index.head(stream) + 1 : from + 1
    let isLive = from === 'end'
    await replies.send(isLive ? [subscriptionConfirmed(subscriptionId), caughtUp()] : [subscriptionConfirmed(subscriptionId)])
    while (!replies.isOver) {
      const view = viewStream(store, stream)
      if (view.kind === 'deleted') {
        if (isLive) await sendRest(store, replies, request, stream, next)
        throw streamDeleted(stream)
      }
      if (view.kind === 'readable') {
        for (const page of readForwards(store, stream, next, Number.MAX_SAFE_INTEGER)) {
          await replies.send(page.map((event) => replyOf(store, request, event, isLive ? 'live' : 'reading')))
          if (replies.isOver) return
          next = (page.at(-1)?.revision ?? next - 1) + 1
        }
        if (!isLive) await replies.send([caughtUp()])
        isLive = true
      }
      await replies.wait()
    }
  } finally {
    stop()
  }
}

/** A live subscriber still gets the events up to the tombstone, and the tombstone itself. */
async function sendRest(store: StreamStore, replies: ReplyStream, request: ReadRequest, stream: string, from: number): Promise<void> {
  let next = from
  for (;;) {
    const places = store.index.placesFrom(stream, next, REPLIES_AT_ONCE)
    const last = places.at(-1)
    if (last === undefined || replies.isOver) return
    for (const place of places) {
      const { events } = store.eventsAt(stream, place)
      await replies.send(events.filter((event) => event.revision >= next).map((event) => replyOf(store, request, event, 'live')))
    }
    if (last.revision === DELETED_STREAM) return
    next = last.revision + last.count
  }
}
