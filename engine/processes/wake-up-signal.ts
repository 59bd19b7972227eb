/** Wakes one waiting caller. A signal without a waiting caller reaches the next one. */
export class WakeUpSignal {
  #isSent = false
  #wake: (() => void) | undefined

  send(): void {
    this.#isSent = true
    this.#wake?.()
  }

  /** Resolves at the next signal, or after this time. */
  async wait(withinMs: number): Promise<void> {
    if (!this.#isSent && withinMs > 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, withinMs)
      this.#wake = resolve
      await promise
      this.#wake = undefined
      clearTimeout(timer)
    }
    this.#isSent = false
  }
}
