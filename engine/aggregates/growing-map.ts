/** Most entries that one addition copies. */
const mostCopied = 32

/**
 * A map for the state of a fold, without removal. Each addition returns a new map, as folds need it. It copies one part
 * and the list of parts. Copies of all entries would make the load of a long stream slow.
 */
export class GrowingMap<Value> {
  /** Only the last part may still be copied. */
  readonly #parts: readonly ReadonlyMap<string, Value>[]

  constructor(parts: readonly ReadonlyMap<string, Value>[] = []) {
    this.#parts = parts
  }

  /** Of several values of one key, `get` returns the last one. The iterator returns all of them. */
  with(key: string, value: Value): GrowingMap<Value> {
    const last = this.#parts.at(-1)
    if (last === undefined || last.size >= mostCopied) return new GrowingMap([...this.#parts, new Map([[key, value]])])
    return new GrowingMap([...this.#parts.slice(0, -1), new Map(last).set(key, value)])
  }

  has(key: string): boolean {
    return this.#parts.some((part) => part.has(key))
  }

  get(key: string): Value | undefined {
    return this.#parts.findLast((part) => part.has(key))?.get(key)
  }

  *[Symbol.iterator](): Generator<[string, Value]> {
    for (const part of this.#parts) yield* part
  }
}
