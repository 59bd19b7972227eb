import { projections } from '../../streams/projection/aggregate.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import { formatPosition } from '../../platform/kit/positions.ts'

/** Positions, as `formatPosition` writes them, of the events that operators let a projector pass over. */
export function skippedIn(eventStore: Pick<EventStore, 'load'>): (projector: string) => Promise<ReadonlySet<string>> {
  return async (projector) => {
    const { state } = await eventStore.load(projections.of(projector))
    const skipped = state.status === 'complete' ? [] : state.skipped
    return new Set(
      skipped.map(({ commitPosition, preparePosition }) =>
        formatPosition({ commit: BigInt(commitPosition), prepare: BigInt(preparePosition) }),
      ),
    )
  }
}
