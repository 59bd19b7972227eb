/** Entries that one addition copies at most. */
const mostCopied = 256

/**
 * A map of a state that entries are only added to. Each addition makes another map, as folds want it, and costs the same
 * however many entries there are: whole copies would make a stream's load cost the square of its length.
 */
export class GrowingMap<Value> {
  /** The last one alone may still be copied. */
  readonly #parts: readonly ReadonlyMap<string, Value>[]

  constructor(parts: readonly ReadonlyMap<string, Value>[] = []) {
    this.#parts = parts
  }

  /** @param key one that is not there yet */
  with(key: string, value: Value): GrowingMap<Value> {
    const last = this.#parts.at(-1)
    if (last === undefined || last.size >= mostCopied) return new GrowingMap([...this.#parts, new Map([[key, value]])])
    return new GrowingMap([...this.#parts.slice(0, -1), new Map(last).set(key, value)])
  }

  has(key: string): boolean {
    return this.#parts.some((part) => part.has(key))
  }

  get(key: string): Value | undefined {
    return this.#parts.find((part) => part.has(key))?.get(key)
  }

  *[Symbol.iterator](): Generator<[string, Value]> {
    for (const part of this.#parts) yield* part
  }
}
