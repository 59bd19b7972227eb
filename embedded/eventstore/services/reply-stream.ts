import type { ServerWritableStream } from '@grpc/grpc-js'

/** A streaming call: the request and the replies are bytes, several replies may go out as one. */
export type ByteStreamCall = ServerWritableStream<Buffer, Buffer | Buffer[]>

/** Replies sent in one go: large enough to be cheap, small enough to keep a slow client's memory low. */
const REPLIES_AT_ONCE = 128
const BYTES_AT_ONCE = 256 << 10
/** Batches on their way at most: enough to keep a client busy, all that is held for one that stopped reading. */
const BATCHES_IN_FLIGHT = 2

/** Sends replies no faster than the client takes them, and lets a loop wait for news until the client leaves. */
export class ReplyStream {
  private readonly call: ByteStreamCall
  private wake: (() => void) | undefined
  private proceed: (() => void) | undefined
  private inFlight = 0
  private signalled = false
  private left = false

  constructor(call: ByteStreamCall) {
    this.call = call
    const leave = (): void => {
      this.left = true
      this.proceed?.()
      this.signal()
    }
    call.on('cancelled', leave)
    call.on('close', leave)
    call.on('error', leave)
  }

  /** Whether the client is gone: nothing more needs to be read for it. */
  get isOver(): boolean {
    return this.left || this.call.cancelled
  }

  /** Sends replies together; resolves when more may be sent. The event loop always gets a turn. One caller at a time. */
  async send(replies: Buffer[]): Promise<void> {
    if (replies.length === 0 || this.isOver) return nextTurn()
    this.inFlight += 1
    this.call.write(replies, this.sent)
    if (this.inFlight < BATCHES_IN_FLIGHT) return nextTurn()
    await new Promise<void>((resolve) => (this.proceed = resolve))
    this.proceed = undefined
  }

  /** Sends a reply for each item, made only when there is room for it. */
  async sendEach<Item>(items: Iterable<Item>, replyTo: (item: Item) => Buffer): Promise<void> {
    let batch: Buffer[] = []
    let bytes = 0
    for (const item of items) {
      const reply = replyTo(item)
      batch.push(reply)
      bytes += reply.length
      if (batch.length < REPLIES_AT_ONCE && bytes < BYTES_AT_ONCE) continue
      await this.send(batch)
      if (this.isOver) return
      batch = []
      bytes = 0
    }
    await this.send(batch)
  }

  /** Whether that many bytes of replies may go out by `sendAtOnce`: somebody waits for a signal, and the client keeps up. */
  takesAtOnce(bytes: number): boolean {
    return (
      this.wake !== undefined &&
      !this.signalled &&
      !this.isOver &&
      this.inFlight < BATCHES_IN_FLIGHT &&
      bytes <= BYTES_AT_ONCE
    )
  }

  /** Sends replies together, only where `takesAtOnce` says that it may be. */
  sendAtOnce(replies: Buffer[]): void {
    this.inFlight += 1
    this.call.write(replies, this.sent)
  }

  /** Ends a `wait`, the present or the next one. */
  readonly signal = (): void => {
    this.signalled = true
    this.wake?.()
  }

  /** Waits for a signal; a signal since the last wait counts. */
  async wait(): Promise<void> {
    if (!this.signalled) await new Promise<void>((resolve) => (this.wake = resolve))
    this.wake = undefined
    this.signalled = false
  }

  private readonly sent = (): void => {
    this.inFlight -= 1
    this.proceed?.()
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
