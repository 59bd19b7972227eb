/** Faults on request. They are in memory only: a restart clears them. */
export class FaultQueue<Fault extends { readonly times: number }> {
  #waiting: { readonly fault: Fault; left: number }[] = []

  add(faults: readonly Fault[]): void {
    for (const fault of faults) this.#waiting.push({ fault, left: fault.times })
  }

  /** Consumes the oldest fault that concerns this call. */
  take(concerns: (fault: Fault) => boolean = () => true): Fault | undefined {
    const found = this.#waiting.find(({ fault }) => concerns(fault))
    if (found === undefined) return undefined
    found.left -= 1
    if (found.left === 0) this.#waiting = this.#waiting.filter((one) => one !== found)
    return found.fault
  }

  clear(): void {
    this.#waiting = []
  }
}
