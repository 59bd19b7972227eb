/** The part of a readable object stream that is used here; the client declares its own kinds of it. */
export interface PullSource {
  readonly readableLength: number
  read(): unknown
  resume(): unknown
  on(event: string, listener: (...args: unknown[]) => void): unknown
  removeListener(event: string, listener: (...args: unknown[]) => void): unknown
}

/** What waiting for more items ended with. An error is told only after every item that arrived ahead of it was taken. */
export type MoreItems = 'items' | 'end' | 'silence'

/**
 * Takes objects out of a client's stream by hand, never in flowing mode: what is not taken stays in the stream's bounded
 * buffer and pushes back to the server, and nothing is lost ahead of an error.
 */
export class Pull<Item> {
  readonly #source: PullSource
  readonly #notice = () => this.#wake?.()
  #isEnded = false
  #failure: Error | undefined
  #wake: (() => void) | undefined

  constructor(source: PullSource) {
    this.#source = source
    source.on('readable', this.#notice)
    source.on('end', () => {
      this.#isEnded = true
      this.#notice()
    })
    source.on('close', () => {
      this.#isEnded = true
      this.#notice()
    })
    source.on('error', (error) => {
      this.#failure ??= error instanceof Error ? error : new Error('the stream failed')
      this.#notice()
    })
  }

  /** The next item, when one is there. */
  take(): Item | undefined {
    const item = this.#source.read()
    // A readable answers null when its buffer is empty; what it holds is what its owner says it holds.
    return item === null ? undefined : (item as Item)
  }

  /** Resolves when `take` may succeed again, when the stream is over, or after `silenceMs` without a sign of life. */
  async more(silenceMs: number, signal?: AbortSignal): Promise<MoreItems> {
    if (this.#source.readableLength > 0) return 'items'
    if (this.#failure !== undefined) throw this.#failure
    if (this.#isEnded || signal?.aborted === true) return 'end'
    const isWoken = await this.#woken(silenceMs, signal)
    if (!isWoken) return 'silence'
    return this.#source.readableLength > 0 || !this.#isOver(signal) ? 'items' : this.more(silenceMs, signal)
  }

  /**
   * Lets what is left flow away unseen. A stream that is left half-read never ends, and the client, which waits for the
   * end of each of its streams, would keep it for ever and never finish closing.
   */
  discard(): void {
    this.#source.removeListener('readable', this.#notice)
    this.#source.resume()
  }

  #isOver(signal: AbortSignal | undefined): boolean {
    return this.#failure !== undefined || this.#isEnded || signal?.aborted === true
  }

  #woken(silenceMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (isWoken: boolean) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        this.#wake = undefined
        resolve(isWoken)
      }
      const onAbort = () => settle(true)
      const timer = silenceMs === Infinity ? undefined : setTimeout(() => settle(false), silenceMs)
      signal?.addEventListener('abort', onAbort)
      this.#wake = () => settle(true)
    })
  }
}
