import type { EventStore } from '../../engine/store/event-store.ts'
import type { DomainEvent, Target } from '../../engine/store/events.ts'

/** A store whose live read lags: `loadFollowed` shows each stream as it was before its first event. */
export function lagging(store: EventStore): EventStore {
  async function loadFollowed<State, Event extends DomainEvent>({ fold }: Target<State, Event>) {
    return { state: fold.initialState, revision: 'no_stream', position: undefined } as const
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'loadFollowed') return loadFollowed
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...parameters: readonly unknown[]): unknown => Reflect.apply(member, target, parameters)
    },
  })
}
