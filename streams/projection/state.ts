import type { Fold } from '../store/events.ts'
import type { ProjectionEvent } from './events.ts'
import { category } from './stream.ts'

export type SkippedEvent = Extract<ProjectionEvent, { type: 'ProjectionEventSkipped' }>['data']

export type ProjectionState =
  | { readonly status: 'complete' }
  | { readonly status: 'passing-over'; readonly skipped: readonly SkippedEvent[] }

function evolve(state: ProjectionState, event: ProjectionEvent): ProjectionState {
  const skipped = state.status === 'complete' ? [] : state.skipped
  return { status: 'passing-over', skipped: [...skipped, event.data] }
}

export const projectionFold: Fold<ProjectionState, ProjectionEvent> = {
  category,
  initialState: { status: 'complete' },
  evolve,
}
