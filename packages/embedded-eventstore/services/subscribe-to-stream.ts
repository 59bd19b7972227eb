import { streamDeleted } from '../wire/errors.ts'
import { caughtUp, subscriptionConfirmed } from '../wire/read-reply.ts'
import type { ReadRequest } from '../wire/read-request.ts'
import { DELETED_STREAM } from '../streams/revision.ts'
import { readForwards, viewStream } from '../streams/read-stream.ts'
import { metastreamOf } from '../streams/stream-metadata.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import type { OpenSubscription } from './open-subscriptions.ts'
import { replyOf } from './replies.ts'
import type { ReplyStream } from './reply-stream.ts'

type StreamSource = Extract<ReadRequest['source'], { kind: 'stream' }>
type Subscription = {
  store: StreamStore
  replies: ReplyStream
  request: ReadRequest
  stream: string
  progress: OpenSubscription
}

/** Appends in one lookup. */
const PLACES = 64

/**
 * A catch-up subscription to a stream. It sends all events after a revision (exclusive), then new ones, until the
 * client leaves. It waits for a missing stream. A tombstone ends it with an error.
 */
export async function subscribeToStream(
  store: StreamStore,
  replies: ReplyStream,
  request: ReadRequest,
  source: StreamSource,
  progress: OpenSubscription,
): Promise<void> {
  const { stream, from } = source
  const subscription: Subscription = { store, replies, request, stream, progress }
  const stops = [store.onStream(stream, replies.signal), store.onStream(metastreamOf(stream), replies.signal)]
  try {
    const confirmation = subscriptionConfirmed(progress.id)
    if (from === 'end') {
      const head = store.index.head(stream)
      await replies.send([confirmation])
      await stayLive(subscription, head + 1)
    } else {
      if (viewStream(store, stream).kind === 'deleted') throw streamDeleted(stream)
      await replies.send([confirmation])
      await stayLive(subscription, await catchUp(subscription, from === 'start' ? 0 : from + 1))
    }
  } finally {
    for (const stop of stops) stop()
  }
}

/** Sends the events that a read would return now. Returns the revision from which every event is new. */
async function catchUp({ store, replies, request, stream, progress }: Subscription, from: number): Promise<number> {
  let next = from
  while (!replies.isOver) {
    for (const page of readForwards(store, stream, next, Number.MAX_SAFE_INTEGER)) {
      await replies.sendEach(page, (event) => replyOf(store, request, event))
      if (replies.isOver) return next
      next = (page.at(-1)?.revision ?? next - 1) + 1
      progress.reached = next - 1
    }
    const view = viewStream(store, stream)
    if (view.kind === 'deleted') throw streamDeleted(stream)
    if (view.kind === 'readable') return Math.max(next, view.head + 1)
    await replies.wait()
  }
  return next
}

/** Sends every append from a revision on. An event counts as new even if metadata hides it from readers by now. */
async function stayLive({ store, replies, request, stream, progress }: Subscription, from: number): Promise<void> {
  let next = from
  await replies.send([caughtUp()])
  while (!replies.isOver) {
    progress.reached = next - 1
    const places = store.index.placesFrom(stream, next, PLACES)
    for (const place of places) {
      const news = store.eventsAt(stream, place).events.filter((event) => event.revision >= next)
      await replies.sendEach(news, (event) => replyOf(store, request, event, 'live'))
      if (place.revision === DELETED_STREAM) throw streamDeleted(stream)
      if (replies.isOver) return
      next = place.revision + place.count
    }
    if (places.length === 0) await replies.wait()
  }
}
