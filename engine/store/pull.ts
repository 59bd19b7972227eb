import type { NodeConnection } from './node-connection.ts'

/** The part of a readable object stream that is used here. The client declares its own stream types. */
export interface PullSource {
  readonly readableLength: number
  read(): unknown
  resume(): unknown
  on(event: string, listener: (...args: unknown[]) => void): unknown
  removeListener(event: string, listener: (...args: unknown[]) => void): unknown
}

/** Result of waiting for more items. An error is reported only after all items before it were taken. */
export type MoreItems = 'items' | 'end' | 'silence'

/**
 * Takes objects from a client's stream by hand, never in flowing mode. Untaken items stay in the stream's bounded
 * buffer and push back to the server. No item before an error is lost.
 */
export class Pull<Item> {
  readonly #source: PullSource
  readonly #whenOverdue: NodeConnection['whenOverdue']
  readonly #notice = () => this.#wake?.()
  #isEnded = false
  #failure: Error | undefined
  #wake: (() => void) | undefined

  constructor(source: PullSource, whenOverdue: NodeConnection['whenOverdue']) {
    this.#source = source
    this.#whenOverdue = whenOverdue
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
    // A readable returns null if its buffer is empty. The owner of the stream declares the type of its items.
    return item === null ? undefined : (item as Item)
  }

  /**
   * Resolves when `take` may succeed again, when the stream has ended, or after `silenceMs` without a sign of life. Sooner if
   * the program stops, unless it waits without a limit.
   */
  async more(silenceMs: number, signal?: AbortSignal): Promise<MoreItems> {
    if (this.#source.readableLength > 0) return 'items'
    if (this.#failure !== undefined) throw this.#failure
    if (this.#isEnded || signal?.aborted === true) return 'end'
    const isWoken = await this.#woken(silenceMs, signal)
    if (!isWoken) return 'silence'
    return this.#source.readableLength > 0 || !this.#isOver(signal) ? 'items' : this.more(silenceMs, signal)
  }

  /**
   * Discards the remaining items. A half-read stream never ends. The client waits for the end of each of its streams,
   * so it would keep this one for ever and never close.
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
      const finish = (isWoken: boolean) => {
        cancel?.()
        signal?.removeEventListener('abort', onAbort)
        this.#wake = undefined
        resolve(isWoken)
      }
      const onAbort = () => finish(true)
      const cancel = silenceMs === Infinity ? undefined : this.#whenOverdue(silenceMs, () => finish(false))
      signal?.addEventListener('abort', onAbort)
      this.#wake = () => finish(true)
    })
  }
}
