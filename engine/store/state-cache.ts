import { LRUCache } from 'lru-cache'
import type { DomainEvent, Target } from './events.ts'
import type { StreamRevision, Position } from '../../platform/kit/positions.ts'

interface CachedState {
  readonly state: unknown
  readonly revision: StreamRevision
  readonly position: Position | undefined
}

interface Sized {
  readonly cached: CachedState
  /** Size of the state when it was last measured. */
  readonly measured: number
  /** Bytes of the events since then. */
  readonly since: number
}

export interface StateLimits {
  readonly mostStates: number
  /** Limit of all states together. A larger state is not kept. */
  readonly mostBytes: number
}

/** The last known state of each stream for each fold. It proves nothing: only an append validates it. */
export class StateCache {
  readonly #entries: LRUCache<string, Sized>
  readonly #foldIds = new WeakMap<object, number>()
  #nextFoldId = 1

  constructor({ mostStates, mostBytes }: StateLimits) {
    this.#entries = new LRUCache({
      max: mostStates,
      maxSize: mostBytes,
      sizeCalculation: ({ measured, since }) => measured + since,
    })
  }

  get<State, Event extends DomainEvent>(target: Target<State, Event>) {
    const entry = this.#entries.get(this.#key(target))?.cached
    // `advance` wrote the entry for this fold, so the state has the fold's type.
    return entry === undefined ? undefined : { ...entry, state: entry.state as State }
  }

  /**
   * Keeps the existing entry unless it is older.
   * @param grownBy bytes of the events since the existing entry. Without it, or after much growth, the state is measured.
   */
  advance<State, Event extends DomainEvent>(
    target: Target<State, Event>,
    {
      state,
      revision,
      position,
    }: { readonly state: State; readonly revision: bigint; readonly position: Position | undefined },
    grownBy?: number,
  ): void {
    const key = this.#key(target)
    const present = this.#entries.peek(key)
    const known = present?.cached.revision
    if (known !== undefined && known !== 'no_stream' && known >= revision) return
    const cached = { state, revision, position }
    const since = grownBy === undefined || present === undefined ? Infinity : present.since + grownBy
    // Measuring takes as long as the state is large, so it waits until the events since the last time are larger.
    this.#entries.set(
      key,
      present !== undefined && since <= present.measured
        ? { cached, measured: present.measured, since }
        : { cached, measured: sizeOfState(state), since: 0 },
    )
  }

  #key({ fold, stream }: { readonly fold: object; readonly stream: string }): string {
    let id = this.#foldIds.get(fold)
    if (id === undefined) {
      id = this.#nextFoldId++
      this.#foldIds.set(fold, id)
    }
    return `${id}/${stream}`
  }
}

/** Room for an object, a member or an entry beside its content, in bytes. */
const overhead = 16

/** Roughly the memory of a state, in bytes: its texts and a fixed room for each object and member. */
export function sizeOfState(state: unknown): number {
  let size = overhead
  const pending: unknown[] = [state]
  while (pending.length > 0) {
    const value = pending.pop()
    size += overhead
    if (typeof value === 'string') size += value.length
    else if (typeof value === 'object' && value !== null) {
      const isIterable = Symbol.iterator in value && typeof value[Symbol.iterator] === 'function'
      for (const part of isIterable ? (value as Iterable<unknown>) : Object.entries(value).flat()) pending.push(part)
    }
  }
  return size
}
