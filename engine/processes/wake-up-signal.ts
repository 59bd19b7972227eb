/** Wakes one waiting caller. A signal without a waiting caller reaches the next one. */
export class WakeUpSignal {
  #isSent = false
  #wake: (() => void) | undefined

  send(): void {
    this.#isSent = true
    this.#wake?.()
  }

  /** True at the next signal, false after so many milliseconds. */
  async wait(withinMs: number): Promise<boolean> {
    if (!this.#isSent && withinMs > 0) await this.#waitFor(withinMs)
    const isSent = this.#isSent
    this.#isSent = false
    return isSent
  }

  async #waitFor(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#wake = resolve
    await promise
    this.#wake = undefined
    clearTimeout(timer)
  }
}
