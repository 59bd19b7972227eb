import type { Position } from '../../platform/kit/positions.ts'
import type { Hash } from '../../platform/transparency-log/merkle.ts'

/** An event of the log with the hash of its entry. */
export interface HashedEvent {
  readonly hash: Hash
  readonly id: string
  readonly stream: string
  readonly revision: bigint
  readonly position: Position
}

/** What the events have and the leaves have not, or the other way round. */
export type Difference =
  /** The event is in the place of a leaf, and has another hash. */
  | { readonly kind: 'changed'; readonly event: HashedEvent; readonly leaf: number }
  | { readonly kind: 'added'; readonly event: HashedEvent }
  | { readonly kind: 'moved'; readonly event: HashedEvent; readonly leaf: number }
  /** Leaves without an event. `after` is the last event before them. */
  | { readonly kind: 'missing'; readonly leaf: number; readonly after: HashedEvent | undefined }

interface Gap {
  readonly leaves: readonly number[]
  readonly events: readonly HashedEvent[]
  readonly after: HashedEvent | undefined
}

/** Leaves and events that are compared at once after the first difference. */
const windowSize = 65_536
/** Differences that are kept. A log with more of them is beyond a list. */
const mostKept = 100_000

/**
 * Compares the leaves of a log with its events, in the order of both. Equal ones pass at once. After a difference both
 * sides are collected, and the longest common order decides what is missing, added or moved.
 */
export class LogComparison {
  readonly #onMatch: (leaf: number, event: HashedEvent) => void
  #leaves: Hash[] = []
  #events: HashedEvent[] = []
  /** Number of the first leaf in `#leaves`. */
  #leaf: number
  #last: { readonly leaf: number; readonly event: HashedEvent } | undefined
  /** Unmatched so far. A later part of the log may match them. */
  readonly #lostLeaves = new Map<string, number>()
  readonly #extraEvents = new Map<string, HashedEvent>()
  readonly #gaps: Gap[] = []
  readonly #moved: Difference[] = []
  #missing = 0

  /** `onMatch` is called for each leaf whose event is in its place, in their order. */
  constructor(first: number, onMatch: (leaf: number, event: HashedEvent) => void = () => undefined) {
    this.#leaf = first
    this.#onMatch = onMatch
  }

  /** The last event in the place of its leaf. */
  get lastMatch(): { readonly leaf: number; readonly event: HashedEvent } | undefined {
    return this.#last
  }

  /** Number of leaves without an event. */
  get missing(): number {
    return this.#missing
  }

  /** How many more leaves are needed, so that no event waits for one. */
  get leavesWanted(): number {
    return this.#events.length - this.#leaves.length
  }

  add(leaves: readonly Hash[], events: readonly HashedEvent[]): void {
    this.#leaves.push(...leaves)
    this.#events.push(...events)
    this.#passEqual()
    while (this.#leaves.length >= windowSize && this.#events.length >= windowSize) this.#compareWindow()
  }

  /**
   * Compares the rest. Events behind the last leaf are not sealed yet: they are not compared. If leaves are left over,
   * those that `isWithin` the sealed part count as changed.
   */
  end(isWithin: (event: HashedEvent) => boolean): void {
    while (this.#leaves.length > windowSize || this.#events.length > windowSize) {
      if (this.#leaves.length === 0 || this.#events.length === 0) break
      this.#compareWindow()
    }
    if (this.#commonOf(this.#leaves, this.#events).length > 0) this.#compareWindow()
    const changed = this.#events.filter(isWithin).slice(0, this.#leaves.length)
    this.#gap(this.#leaves, changed)
    this.#leaves = []
    this.#events = []
  }

  differences(): readonly Difference[] {
    const lostNumbers = new Set(this.#lostLeaves.values())
    const ofGaps = this.#gaps.flatMap(({ leaves, events, after }): Difference[] => {
      const lost = leaves.filter((leaf) => lostNumbers.has(leaf))
      const extra = events.filter((event) => this.#extraEvents.get(key(event.hash)) === event)
      return [
        ...extra.map((event, at): Difference => {
          const leaf = lost[at]
          return leaf === undefined ? { kind: 'added', event } : { kind: 'changed', event, leaf }
        }),
        ...lost.slice(extra.length).map((leaf): Difference => ({ kind: 'missing', leaf, after })),
      ]
    })
    return [...ofGaps, ...this.#moved]
  }

  #passEqual(): void {
    const most = Math.min(this.#leaves.length, this.#events.length)
    let passed = 0
    while (passed < most) {
      const event = this.#events[passed]
      if (event === undefined || this.#leaves[passed]?.equals(event.hash) !== true) break
      this.#pass(this.#leaf + passed, event)
      passed += 1
    }
    this.#drop(passed, passed)
  }

  #compareWindow(): void {
    const leaves = this.#leaves.slice(0, windowSize)
    const events = this.#events.slice(0, windowSize)
    const common = this.#commonOf(leaves, events)
    let [leaf, at] = [0, 0]
    for (const pair of common) {
      const event = events[pair.at]
      if (event === undefined) continue
      this.#gap(leaves.slice(leaf, pair.leaf), events.slice(at, pair.at), this.#leaf + leaf)
      this.#pass(this.#leaf + pair.leaf, event)
      ;[leaf, at] = [pair.leaf + 1, pair.at + 1]
    }
    if (common.length === 0) {
      this.#gap(leaves, events)
      ;[leaf, at] = [leaves.length, events.length]
    }
    this.#drop(leaf, at)
    this.#passEqual()
  }

  #commonOf(leaves: readonly Hash[], events: readonly HashedEvent[]): readonly Pair[] {
    const leafOf = new Map(leaves.map((hash, at) => [key(hash), at]))
    const pairs = events.flatMap((event, at) => {
      const leaf = leafOf.get(key(event.hash))
      return leaf === undefined ? [] : [{ leaf, at }]
    })
    return longestIncreasing(pairs)
  }

  #pass(leaf: number, event: HashedEvent): void {
    this.#onMatch(leaf, event)
    this.#last = { leaf, event }
  }

  /** Leaves without an event in their place, and events without a leaf there. */
  #gap(leaves: readonly Hash[], events: readonly HashedEvent[], first: number = this.#leaf): void {
    const after = this.#last?.event
    const lost: number[] = []
    for (const [at, hash] of leaves.entries()) {
      const leaf = first + at
      const earlier = this.#extraEvents.get(key(hash))
      if (earlier !== undefined) {
        this.#extraEvents.delete(key(hash))
        this.#moved.push({ kind: 'moved', event: earlier, leaf })
        continue
      }
      this.#missing += 1
      if (this.#lostLeaves.size >= mostKept) continue
      this.#lostLeaves.set(key(hash), leaf)
      lost.push(leaf)
    }
    const extra: HashedEvent[] = []
    for (const event of events) {
      const leaf = this.#lostLeaves.get(key(event.hash))
      if (leaf !== undefined) {
        this.#lostLeaves.delete(key(event.hash))
        this.#missing -= 1
        this.#moved.push({ kind: 'moved', event, leaf })
      } else if (this.#extraEvents.size < mostKept) {
        this.#extraEvents.set(key(event.hash), event)
        extra.push(event)
      }
    }
    if (lost.length + extra.length > 0) this.#gaps.push({ leaves: lost, events: extra, after })
  }

  #drop(leaves: number, events: number): void {
    if (leaves > 0) this.#leaves = this.#leaves.slice(leaves)
    if (events > 0) this.#events = this.#events.slice(events)
    this.#leaf += leaves
  }
}

function key(hash: Hash): string {
  return hash.toString('latin1')
}

interface Pair {
  readonly leaf: number
  readonly at: number
}

/** The longest part of the pairs whose leaves have the order of their events. */
function longestIncreasing(pairs: readonly Pair[]): readonly Pair[] {
  /** By length: the index of the pair with the smallest leaf that ends such a part. */
  const ends: number[] = []
  const before: number[] = []
  for (const [index, { leaf }] of pairs.entries()) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((pairs[ends[middle] ?? 0]?.leaf ?? 0) < leaf) low = middle + 1
      else high = middle
    }
    before.push(low === 0 ? -1 : (ends[low - 1] ?? -1))
    ends[low] = index
  }
  const longest: Pair[] = []
  for (let index = ends.at(-1) ?? -1; index >= 0; index = before[index] ?? -1) {
    const pair = pairs[index]
    if (pair !== undefined) longest.push(pair)
  }
  return longest.toReversed()
}
