/** A power of two. Of 100,000 entries, a part has some 400. */
const partCount = 256

/**
 * A map for the state of a fold, with removal. Each change returns a new map, as folds need it. It copies one part and
 * the list of parts. Copies of all entries would make the load of a long stream slow. It has no order.
 */
export class PartedMap<Value> {
  readonly #parts: readonly (ReadonlyMap<string, Value> | undefined)[]
  readonly size: number

  constructor(
    parts: readonly (ReadonlyMap<string, Value> | undefined)[] = Array.from({ length: partCount }),
    size = 0,
  ) {
    this.#parts = parts
    this.size = size
  }

  get(key: string): Value | undefined {
    return this.#parts[placeOf(key)]?.get(key)
  }

  has(key: string): boolean {
    return this.#parts[placeOf(key)]?.has(key) ?? false
  }

  with(key: string, value: Value): PartedMap<Value> {
    return this.#changed(key, (part) => part.set(key, value))
  }

  without(key: string): PartedMap<Value> {
    return this.has(key) ? this.#changed(key, (part) => part.delete(key)) : this
  }

  *values(): Generator<Value> {
    for (const part of this.#parts) if (part !== undefined) yield* part.values()
  }

  *[Symbol.iterator](): Generator<[string, Value]> {
    for (const part of this.#parts) if (part !== undefined) yield* part
  }

  #changed(key: string, change: (part: Map<string, Value>) => unknown): PartedMap<Value> {
    const place = placeOf(key)
    const before = this.#parts[place]
    const after = new Map(before)
    change(after)
    return new PartedMap(this.#parts.with(place, after), this.size + after.size - (before?.size ?? 0))
  }
}

function placeOf(key: string): number {
  let hash = 0
  for (let at = 0; at < key.length; at += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0
  return hash & (partCount - 1)
}
