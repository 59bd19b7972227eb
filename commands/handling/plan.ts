import type { EventStore } from '../../streams/store/event-store.ts'
import type { DomainEvent, Target } from '../../streams/store/events.ts'

/**
 * A stream's state to plan a step on whose first append checks the plan: as it is kept where that says that there is
 * something to do, else read afresh. What is kept may be older than what another instance has written; `execute` then decides
 * once more on what there is, so the decision has to be told the plan and to come to nothing where it does not hold any more.
 */
export async function stateToPlanOn<State, Event extends DomainEvent>(
  store: Pick<EventStore, 'load' | 'loadCached'>,
  { fold, stream }: Target<State, Event>,
  isToDo: (state: State) => boolean,
): Promise<State> {
  const { state } = await store.loadCached({ fold, stream })
  return isToDo(state) ? state : (await store.load({ fold, stream })).state
}
