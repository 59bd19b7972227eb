import type { ServerWritableStream } from '@grpc/grpc-js'

/** A streaming call: the request and the replies are bytes, several replies may go out as one. */
export type ByteStreamCall = ServerWritableStream<Buffer, Buffer | Buffer[]>

/** Sends replies no faster than the client takes them, and lets a loop wait for news until the client leaves. */
export class ReplyStream {
  private readonly call: ByteStreamCall
  private wake: (() => void) | undefined
  private signalled = false
  private left = false

  constructor(call: ByteStreamCall) {
    this.call = call
    const leave = (): void => {
      this.left = true
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

  /** Sends replies together; resolves when more may be sent. The event loop always gets a turn. */
  async send(replies: Buffer[]): Promise<void> {
    if (replies.length === 0 || this.isOver) return nextTurn()
    if (this.call.write(replies)) return nextTurn()
    await new Promise<void>((resolve) => {
      const proceed = (): void => {
        this.call.off('drain', proceed)
        this.call.off('cancelled', proceed)
        this.call.off('close', proceed)
        resolve()
      }
      this.call.on('drain', proceed)
      this.call.on('cancelled', proceed)
      this.call.on('close', proceed)
    })
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
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
