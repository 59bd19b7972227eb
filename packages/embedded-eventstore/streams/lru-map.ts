/**
 * A map of at most `size` entries, plus entries that must not be dropped yet. It always keeps the newer half and drops
 * the other half at once. Deleting the oldest entry at every step would be slow: a Map walks over all places that were
 * deleted before.
 */
export class LruMap<Key, Value> {
  private newer = new Map<Key, Value>()
  private older = new Map<Key, Value>()
  private readonly half: number
  private readonly mayForget: (value: Value) => boolean

  constructor(size: number, mayForget: (value: Value) => boolean = () => true) {
    this.half = Math.ceil(size / 2)
    this.mayForget = mayForget
  }

  get(key: Key): Value | undefined {
    return this.newer.get(key) ?? this.older.get(key)
  }

  set(key: Key, value: Value): void {
    this.newer.set(key, value)
    if (this.newer.size < this.half) return
    const forgotten = this.older
    this.older = this.newer
    this.newer = new Map()
    for (const [oldest, held] of forgotten)
      if (!this.mayForget(held) && !this.older.has(oldest)) this.newer.set(oldest, held)
  }
}
