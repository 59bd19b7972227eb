import { frameEvents, type Frame, type StoredEvent } from '../log/frame.ts'
import { SEGMENT_HEADER } from '../log/segment.ts'
import { caughtUp, checkpointReached, subscriptionConfirmed } from '../wire/read-reply.ts'
import type { Place, ReadRequest } from '../wire/read-request.ts'
import { isHiddenFromAll } from '../streams/hidden-streams.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import type { OpenSubscription } from './open-subscriptions.ts'
import { replyOf } from './replies.ts'
import type { ReplyStream } from './reply-stream.ts'

/** Events the server reads in one page while catching up; its checkpoints fall on page ends. */
const SERVER_PAGE = 32

/** A catch-up subscription to `$all`: everything behind `from` (excluded), then whatever becomes durable, until the client leaves. */
export async function subscribeToAll(store: StreamStore, replies: ReplyStream, request: ReadRequest, from: Place, subscription: OpenSubscription): Promise<void> {
  const stop = store.onDurable(replies.signal)
  try {
    const after = from === 'start' ? -1 : from === 'end' ? store.log.durableEnd : from
    const checkpoints = request.filter === undefined ? undefined : new CheckpointPace(request.filter.window, request.filter.checkpointInterval)
    await replies.send([subscriptionConfirmed(subscription.id)])
    let at = from === 'end' ? after : (store.index.markBefore(Math.min(after, store.log.durableEnd)) ?? SEGMENT_HEADER)
    let isLive = false
    while (!replies.isOver) {
      subscription.reached = Math.max(at, after)
      const frames = store.log.readFrames(at)
      const last = frames.at(-1)
      if (last !== undefined) {
        at = last.end
        await sendFrames({ store, replies, request, reader: isLive ? 'live' : 'reading', checkpoints }, frames, after)
      } else if (isLive) await replies.wait()
      else {
        isLive = true
        checkpoints?.goLive()
        await replies.send([caughtUp()])
      }
    }
  } finally {
    stop()
  }
}

type Delivery = { store: StreamStore; replies: ReplyStream; request: ReadRequest; reader: 'reading' | 'live'; checkpoints: CheckpointPace | undefined }

async function sendFrames({ store, replies, request, reader, checkpoints }: Delivery, frames: Frame[], after: number): Promise<void> {
  await replies.sendEach(deliveries(request, checkpoints, frames, after), (due) =>
    typeof due === 'number' ? checkpointReached(due) : replyOf(store, request, due, reader),
  )
}

/** What is due to the client, in order: events, and the positions of checkpoints. */
function* deliveries(request: ReadRequest, checkpoints: CheckpointPace | undefined, frames: Frame[], after: number): Generator<StoredEvent | number> {
  for (const frame of frames) {
    if (frame.end <= after || isHiddenFromAll(frame.stream)) continue
    for (const event of frameEvents(frame)) {
      if (event.position <= after) continue
      const isAccepted = request.filter === undefined || request.filter.accepts(frame, event)
      if (isAccepted) yield event
      if (checkpoints?.considered(isAccepted) === true) yield event.position
    }
  }
}

/** When a filtered subscription is told how far it has come, whether or not an event passed the filter. */
class CheckpointPace {
  private readonly window: number
  private readonly interval: number
  private counter = 0
  private inPage = 0
  private acceptedInPage = 0
  private isLive = false

  constructor(window: number, interval: number) {
    this.window = window
    this.interval = interval
  }

  /** Counts one event; true when a checkpoint is due behind it. */
  considered(isAccepted: boolean): boolean {
    if (this.isLive) {
      this.counter += 1
      if (this.counter < this.interval) return false
      this.counter = 0
      return true
    }
    this.inPage += 1
    if (isAccepted) this.acceptedInPage += 1
    if (this.inPage < this.window && this.acceptedInPage < SERVER_PAGE) return false
    this.endPage()
    if (this.counter < this.interval) return false
    this.counter %= this.interval
    return true
  }

  /** From here on every event counts by itself instead of by pages. */
  goLive(): void {
    this.endPage()
    this.isLive = true
  }

  private endPage(): void {
    this.counter += this.inPage
    this.inPage = 0
    this.acceptedInPage = 0
  }
}
