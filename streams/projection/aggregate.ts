import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import { projectionEvents, type ProjectionEvent } from './events.ts'

export type SkippedEvent = Extract<ProjectionEvent, { type: 'ProjectionEventSkipped' }>['data']

export type ProjectionState =
  | { readonly status: 'complete' }
  | { readonly status: 'passing-over'; readonly skipped: readonly SkippedEvent[] }

function evolve(state: ProjectionState, event: ProjectionEvent): ProjectionState {
  const skipped = state.status === 'complete' ? [] : state.skipped
  return { status: 'passing-over', skipped: [...skipped, event.data] }
}

/** A projector serves all organisations, so no organisation owns its stream. */
export const projections = defineAggregate({
  category: 'projection',
  id: (projector: string) => projector,
  events: projectionEvents,
  initialState: { status: 'complete' },
  evolve,
})
