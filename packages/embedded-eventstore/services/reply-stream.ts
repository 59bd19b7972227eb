import type { ServerWritableStream } from '@grpc/grpc-js'

/** A streaming call. Requests and replies are bytes. Several replies may be sent as one. */
export type ByteStreamCall = ServerWritableStream<Buffer, Buffer | Buffer[]>

/** Replies in one batch: large enough to be cheap, small enough to limit the memory for a slow client. */
const REPLIES_AT_ONCE = 128
const BYTES_AT_ONCE = 256 << 10
/**
 * Largest number of batches in flight. It keeps a client busy, and limits what is held for a client that stopped
 * reading.
 */
const BATCHES_IN_FLIGHT = 2

/** Sends replies no faster than the client takes them. Lets a loop wait for new events until the client leaves. */
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

  /** Whether the client is gone and no more reads are needed. */
  get isOver(): boolean {
    return this.left || this.call.cancelled
  }

  /**
   * Sends replies together and resolves when more may be sent. The event loop always gets a turn. Allows one caller at
   * a time.
   */
  async send(replies: Buffer[]): Promise<void> {
    if (replies.length === 0 || this.isOver) return nextTurn()
    this.inFlight += 1
    this.call.write(replies, this.sent)
    if (this.inFlight < BATCHES_IN_FLIGHT) return nextTurn()
    await new Promise<void>((resolve) => (this.proceed = resolve))
    this.proceed = undefined
  }

  /** Sends a reply for each item. Creates a reply only when there is room for it. */
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

  /** Whether `sendAtOnce` may send this many bytes: a caller waits for a signal, and the client keeps up. */
  takesAtOnce(bytes: number): boolean {
    return (
      this.wake !== undefined &&
      !this.signalled &&
      !this.isOver &&
      this.inFlight < BATCHES_IN_FLIGHT &&
      bytes <= BYTES_AT_ONCE
    )
  }

  /** Sends replies together. Allowed only when `takesAtOnce` returns true. */
  sendAtOnce(replies: Buffer[]): void {
    this.inFlight += 1
    this.call.write(replies, this.sent)
  }

  /** Ends the present `wait`, or the next one. */
  readonly signal = (): void => {
    this.signalled = true
    this.wake?.()
  }

  /** Waits for a signal. A signal since the last wait counts. */
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
