import { LRUCache } from 'lru-cache'
import type { DomainEvent, Target } from './events.ts'
import type { StreamRevision, Position } from '../../platform/kit/positions.ts'

interface CachedState {
  readonly state: unknown
  readonly revision: StreamRevision
  readonly position: Position | undefined
}

/** The last known state of each stream for each fold. It proves nothing: only an append validates it. */
export class StateCache {
  readonly #entries: LRUCache<string, CachedState>
  readonly #foldIds = new WeakMap<object, number>()
  #nextFoldId = 1

  constructor(size: number) {
    this.#entries = new LRUCache({ max: size })
  }

  get<State, Event extends DomainEvent>(target: Target<State, Event>) {
    const entry = this.#entries.get(this.#key(target))
    // `advance` wrote the entry for this fold, so the state has the fold's type.
    return entry === undefined ? undefined : { ...entry, state: entry.state as State }
  }

  /** Keeps the existing entry if it is newer. */
  advance<State, Event extends DomainEvent>(
    target: Target<State, Event>,
    {
      state,
      revision,
      position,
    }: { readonly state: State; readonly revision: bigint; readonly position: Position | undefined },
  ): void {
    const key = this.#key(target)
    const present = this.#entries.peek(key)
    if (present !== undefined && present.revision !== 'no_stream' && present.revision > revision) return
    this.#entries.set(key, { state, revision, position })
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
