/** A queue that drops its oldest entry when it is full. */
export class BoundedQueue<Entry> {
  private readonly capacity: number
  private readonly entries: (Entry | undefined)[] = []
  private start = 0
  private count = 0

  constructor(capacity: number) {
    this.capacity = Math.max(0, capacity)
  }

  get size(): number {
    return this.count
  }

  push(entry: Entry): void {
    if (this.capacity === 0) return
    if (this.count === this.capacity) this.shift()
    const at = (this.start + this.count) % this.capacity
    this.entries[at] = entry
    this.count += 1
  }

  peek(): Entry | undefined {
    return this.count === 0 ? undefined : this.entries[this.start]
  }

  shift(): Entry | undefined {
    const entry = this.peek()
    if (this.count === 0) return undefined
    this.entries[this.start] = undefined
    this.start = (this.start + 1) % this.capacity
    this.count -= 1
    return entry
  }
}
