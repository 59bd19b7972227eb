import { LRUCache } from 'lru-cache'
import { categoryOf } from './catalogue.ts'
import { evolved, type DomainEvent, type Fold, type RecordedEvent, type Target } from './events.ts'
import type { StreamRevision, Position } from '../../platform/kit/positions.ts'

/** Identifies a time in which one read of the log was live. A state of an earlier time may lack events. */
export type FollowedTime = number

interface CachedState {
  readonly state: unknown
  readonly revision: StreamRevision
  readonly position: Position | undefined
}

interface Sized {
  readonly cached: CachedState
  /** The state has every event that the live read of this time has shown. */
  readonly followedIn: FollowedTime | undefined
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

interface FoldEntry {
  readonly id: number
  readonly evolve: (state: unknown, event: DomainEvent) => unknown
}

/** The last known state of each stream for each fold. It proves nothing: only an append validates it. */
export class StateCache {
  readonly #entries: LRUCache<string, Sized>
  readonly #folds = new WeakMap<object, FoldEntry>()
  readonly #foldsOf = new Map<string, FoldEntry[]>()
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

  /** The state, if it follows the live read of that time. */
  getFollowed<State, Event extends DomainEvent>(target: Target<State, Event>, time: FollowedTime) {
    return this.#entries.peek(this.#key(target))?.followedIn === time ? this.get(target) : undefined
  }

  /** Advances the states of the stream by an event that the live read shows. */
  take(event: RecordedEvent): void {
    for (const { id, evolve } of this.#foldsOf.get(categoryOf(event.stream)) ?? []) {
      const key = keyOf(id, event.stream)
      const entry = this.#entries.peek(key)
      if (entry === undefined || entry.cached.revision === 'no_stream' || entry.cached.revision >= event.revision)
        continue
      if (entry.cached.revision !== event.revision - 1n) {
        this.#entries.set(key, { ...entry, followedIn: undefined })
        continue
      }
      const { revision, position } = event
      try {
        const state = evolve(entry.cached.state, event)
        this.#put(key, { state, revision, position }, entry.followedIn, () => sizeOfState(event.data))
      } catch {
        // The next load of the stream fails with the same error, and its caller shows it.
        this.#entries.delete(key)
      }
    }
  }

  /** The states of the stream no longer follow. */
  drop(stream: string): void {
    for (const { id } of this.#foldsOf.get(categoryOf(stream)) ?? []) {
      const entry = this.#entries.peek(keyOf(id, stream))
      if (entry !== undefined) this.#entries.set(keyOf(id, stream), { ...entry, followedIn: undefined })
    }
  }

  /**
   * Keeps the existing entry unless it is older.
   * @param followedIn the time in which the state follows a live read
   * @param grownBy bytes of the events since the existing entry. Without it, or after much growth, the state is measured.
   */
  advance<State, Event extends DomainEvent>(
    target: Target<State, Event>,
    {
      state,
      revision,
      position,
    }: { readonly state: State; readonly revision: bigint; readonly position: Position | undefined },
    { grownBy, followedIn }: { readonly grownBy?: number; readonly followedIn?: FollowedTime | undefined } = {},
  ): void {
    const key = this.#key(target)
    const present = this.#entries.peek(key)
    const known = present?.cached.revision
    if (present !== undefined && known !== undefined && known !== 'no_stream' && known >= revision) {
      if (known === revision && followedIn !== undefined) this.#entries.set(key, { ...present, followedIn })
      return
    }
    this.#put(key, { state, revision, position }, followedIn, grownBy === undefined ? undefined : () => grownBy)
  }

  #put(
    key: string,
    cached: CachedState,
    followedIn: FollowedTime | undefined,
    grownBy: (() => number) | undefined,
  ): void {
    const present = this.#entries.peek(key)
    if (present !== undefined && present.cached.state === cached.state)
      return void this.#entries.set(key, { ...present, cached, followedIn })
    const since = grownBy === undefined || present === undefined ? Infinity : present.since + grownBy()
    // Measuring takes as long as the state is large, so it waits until the events since the last time are larger.
    this.#entries.set(
      key,
      present !== undefined && since <= present.measured
        ? { cached, followedIn, measured: present.measured, since }
        : { cached, followedIn, measured: sizeOfState(cached.state), since: 0 },
    )
  }

  #key<State, Event extends DomainEvent>({ fold, stream }: Target<State, Event>): string {
    return keyOf((this.#folds.get(fold) ?? this.#added(fold)).id, stream)
  }

  #added<State, Event extends DomainEvent>(fold: Fold<State, Event>): FoldEntry {
    // The entries of this fold have states of its type, because `advance` wrote them.
    const entry = {
      id: this.#nextFoldId++,
      evolve: (state: unknown, event: DomainEvent) => evolved(fold, state as State, event),
    }
    this.#folds.set(fold, entry)
    const others = this.#foldsOf.get(fold.category)
    if (others === undefined) this.#foldsOf.set(fold.category, [entry])
    else others.push(entry)
    return entry
  }
}

function keyOf(fold: number, stream: string): string {
  return `${fold}/${stream}`
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
