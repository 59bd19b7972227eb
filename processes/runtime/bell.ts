/** Wakes one that waits. A ring that nobody waits for is heard by whoever waits next. */
export class Bell {
  #isRung = false
  #wake: (() => void) | undefined

  ring(): void {
    this.#isRung = true
    this.#wake?.()
  }

  /** Resolves at the next ring, true, or after so many milliseconds, false. */
  async heard(withinMs: number): Promise<boolean> {
    if (!this.#isRung && withinMs > 0) await this.#wait(withinMs)
    const isRung = this.#isRung
    this.#isRung = false
    return isRung
  }

  async #wait(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#wake = resolve
    await promise
    this.#wake = undefined
    clearTimeout(timer)
  }
}
