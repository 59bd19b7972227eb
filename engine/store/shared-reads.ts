/**
 * Reads that callers share. A read answers all callers that came before it began, so each gets what there was at its
 * call, or later. There is one read per round trip, for any number of callers.
 */
export class SharedReads<Result> {
  readonly #running = new Map<string, Promise<Result>>()
  readonly #next = new Map<string, Promise<Result>>()

  /** Callers with the same key want the same. The read of any of them may answer all. */
  get(key: string, read: () => Promise<Result>): Promise<Result> {
    const running = this.#running.get(key)
    return running === undefined ? this.#begin(key, read) : (this.#next.get(key) ?? this.#after(running, key, read))
  }

  #begin(key: string, read: () => Promise<Result>): Promise<Result> {
    const running = read().finally(() => this.#running.delete(key))
    this.#running.set(key, running)
    return running
  }

  #after(running: Promise<Result>, key: string, read: () => Promise<Result>): Promise<Result> {
    const begin = () => {
      this.#next.delete(key)
      return this.#begin(key, read)
    }
    const next = running.then(begin, begin)
    this.#next.set(key, next)
    return next
  }
}
