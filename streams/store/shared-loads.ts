/**
 * Loads by many callers at once. Who asks while a load is under way gets the next one, which begins after the question.
 * So one load answers all who asked during the one before, and no answer is older than its question.
 */
export class SharedLoads {
  readonly #running = new Map<string, Promise<unknown>>()
  readonly #next = new Map<string, Promise<unknown>>()

  /** Loads with the same key have the same type of result. */
  load<Loaded>(key: string, load: () => Promise<Loaded>): Promise<Loaded> {
    const running = this.#running.get(key)
    if (running === undefined) return this.#begin(key, load)
    const next = this.#next.get(key)
    if (next !== undefined) return next as Promise<Loaded>
    const made = this.#after(running, key, load)
    this.#next.set(key, made)
    return made
  }

  async #after<Loaded>(running: Promise<unknown>, key: string, load: () => Promise<Loaded>): Promise<Loaded> {
    await Promise.allSettled([running])
    this.#next.delete(key)
    return this.#begin(key, load)
  }

  #begin<Loaded>(key: string, load: () => Promise<Loaded>): Promise<Loaded> {
    const loading = load().finally(() => {
      if (this.#running.get(key) === loading) this.#running.delete(key)
    })
    this.#running.set(key, loading)
    return loading
  }
}
