/** A map that forgets its least recently set entries beyond a size, except those that may not be forgotten yet. */
export class LruMap<Key, Value> {
  private readonly entries = new Map<Key, Value>()
  private readonly size: number
  private readonly mayForget: (value: Value) => boolean

  constructor(size: number, mayForget: (value: Value) => boolean = () => true) {
    this.size = size
    this.mayForget = mayForget
  }

  get(key: Key): Value | undefined {
    return this.entries.get(key)
  }

  set(key: Key, value: Value): void {
    this.entries.delete(key)
    this.entries.set(key, value)
    if (this.entries.size <= this.size) return
    for (const [oldest, held] of this.entries) {
      if (this.entries.size <= this.size || !this.mayForget(held)) return
      this.entries.delete(oldest)
    }
  }
}
