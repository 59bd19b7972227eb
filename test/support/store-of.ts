import { evolved, type DomainEvent, type Loaded, type Target } from '../../engine/store/events.ts'
import type { StateStore } from '../../engine/relay/channel.ts'

/** A store with these events. Its cache has the first ones of each stream. */
export function storeOf(
  story: readonly (DomainEvent & { readonly stream: string })[],
  cached = 0,
): StateStore['store'] {
  function loaded<State, Event extends DomainEvent>({ fold, stream }: Target<State, Event>, count?: number) {
    const events = story.filter((event) => event.stream === stream).slice(0, count)
    const state = events.reduce((folded, event) => evolved(fold, folded, event), fold.initialState)
    const revision = events.length === 0 ? 'no_stream' : BigInt(events.length - 1)
    return { state, revision, position: undefined } satisfies Loaded<State>
  }
  return { presume: (target) => loaded(target, cached), load: async (target) => loaded(target) }
}
