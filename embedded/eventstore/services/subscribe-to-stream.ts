import type { StoredEvent } from '../log/frame.ts'
import { streamDeleted } from '../wire/errors.ts'
import { withStructuredId, withoutPosition } from '../wire/event-message.ts'
import { caughtUp, subscriptionConfirmed } from '../wire/read-reply.ts'
import type { ReadRequest } from '../wire/read-request.ts'
import { readForwards, viewStream } from '../streams/read-stream.ts'
import type { StreamStore } from '../streams/stream-store.ts'
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
      if (view.kind === 'deleted') throw streamDeleted(stream)
      if (view.kind === 'readable') {
        for (const page of readForwards(store, stream, next, Number.MAX_SAFE_INTEGER)) {
          await replies.send(page.map((event) => answerOf(request, event, isLive)))
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

/** The server tells the position of an event only once the subscription is live. */
function answerOf(request: ReadRequest, event: StoredEvent, isLive: boolean): Buffer {
  const answer = isLive ? event.message : withoutPosition(event.message, event.layout)
  return request.structuredIds ? withStructuredId(answer) : answer
}
