import { frameEvents, type Frame, type StoredEvent } from '../log/frame.ts'
import { SEGMENT_HEADER } from '../log/segment.ts'
import { caughtUp, checkpointReached, subscriptionConfirmed } from '../wire/read-reply.ts'
import type { Place, ReadRequest } from '../wire/read-request.ts'
import type { LinkReader } from '../streams/links.ts'
import { isHiddenFromAll } from '../streams/read-stream.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import type { OpenSubscription } from './open-subscriptions.ts'
import { replyOf } from './replies.ts'
import type { ReplyStream } from './reply-stream.ts'

/** Events that the server reads in one page during catch-up. Its checkpoints fall on page ends. */
const SERVER_PAGE = 32

/**
 * A catch-up subscription to `$all`. It sends all events after `from` (exclusive), then new durable events, until the
 * client leaves.
 */
export async function subscribeToAll(
  store: StreamStore,
  replies: ReplyStream,
  request: ReadRequest,
  from: Place,
  subscription: OpenSubscription,
): Promise<void> {
  const subscriber = new AllSubscriber(store, replies, request, from, subscription)
  const stop = store.onDurable((frames) => subscriber.hear(frames))
  try {
    await subscriber.follow()
  } finally {
    stop()
  }
}

class AllSubscriber {
  private readonly store: StreamStore
  private readonly replies: ReplyStream
  private readonly request: ReadRequest
  private readonly subscription: OpenSubscription
  private readonly after: number
  private readonly checkpoints: CheckpointPace | undefined
  /** Position of the next frame to read. */
  private at: number
  private isLive = false

  constructor(
    store: StreamStore,
    replies: ReplyStream,
    request: ReadRequest,
    from: Place,
    subscription: OpenSubscription,
  ) {
    this.store = store
    this.replies = replies
    this.request = request
    this.subscription = subscription
    const end = store.log.durableEnd
    // A position beyond the end is of another log or of a lost part of this one. As on the server, every event from now
    // on comes after it.
    this.after = from === 'start' ? -1 : from === 'end' ? end : Math.min(from, end)
    this.at = from === 'end' ? end : (store.index.markBefore(this.after) ?? SEGMENT_HEADER)
    this.checkpoints =
      request.filter === undefined
        ? undefined
        : new CheckpointPace(request.filter.window, request.filter.checkpointInterval)
  }

  async follow(): Promise<void> {
    await this.replies.send([subscriptionConfirmed(this.subscription.id)])
    this.moveTo(this.at)
    while (!this.replies.isOver) {
      const frames = this.store.log.readFrames(this.at)
      const last = frames.at(-1)
      if (last !== undefined) {
        const reader = this.isLive ? 'live' : 'reading'
        this.at = last.end
        await this.replies.sendEach(this.due(frames), (due) => this.replyTo(due, reader))
        this.moveTo(this.at)
      } else if (this.isLive) await this.replies.wait()
      else {
        this.isLive = true
        this.checkpoints?.goLive()
        await this.replies.send([caughtUp()])
      }
    }
  }

  /**
   * Takes new durable frames. A subscriber that waits gets its events immediately, and does not wake up when there are
   * none for it. A subscriber that lags, is slow, or resolves links gets a signal. It then reads the log at its own
   * pace.
   */
  hear(frames: Frame[]): void {
    const [first, last] = [frames[0], frames.at(-1)]
    if (
      first === undefined ||
      last === undefined ||
      first.position !== this.at ||
      this.request.resolveLinks ||
      !this.replies.takesAtOnce(last.end - first.position)
    ) {
      this.replies.signal()
      return
    }
    const replies: Buffer[] = []
    for (const due of this.due(frames)) replies.push(this.replyTo(due, 'live'))
    this.moveTo(last.end)
    if (replies.length > 0) this.replies.sendAtOnce(replies)
  }

  /** The entries for the client, in order: events, and the positions of checkpoints. */
  private *due(frames: Frame[]): Generator<StoredEvent | number> {
    const { filter } = this.request
    for (const frame of frames) {
      if (frame.end <= this.after || isHiddenFromAll(frame.stream)) continue
      for (const event of frameEvents(frame)) {
        if (event.position <= this.after) continue
        const isAccepted = filter === undefined || filter.accepts(frame.stream, event)
        if (isAccepted) yield event
        if (this.checkpoints?.considered(isAccepted) === true) yield event.position
      }
    }
  }

  private replyTo(due: StoredEvent | number, reader: LinkReader): Buffer {
    return typeof due === 'number' ? checkpointReached(due) : replyOf(this.store, this.request, due, reader)
  }

  private moveTo(position: number): void {
    this.at = position
    this.subscription.reached = Math.max(position, this.after)
  }
}

/** Decides when a filtered subscription gets a checkpoint. Excluded events count too. */
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

  /** Counts one event. Returns true when a checkpoint follows it. */
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

  /** From here on events count one by one instead of by page. */
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
