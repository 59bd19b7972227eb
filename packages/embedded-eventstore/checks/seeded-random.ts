/** Random values that a seed repeats. */
export class SeededRandom {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** At least 0 and less than 1 (mulberry32). */
  fraction(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = this.state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(limit: number): number {
    return Math.floor(this.fraction() * limit)
  }

  /** True with a probability of one in `times`. */
  oneIn(times: number): boolean {
    return this.below(times) === 0
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)]
    if (item === undefined) throw new Error('nothing to pick from')
    return item
  }

  /** A UUID in the form of version 4. */
  uuid(): string {
    const hex = Array.from({ length: 4 }, () =>
      this.below(2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    ).join('')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
  }
}
