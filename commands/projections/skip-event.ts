import type { ProjectionEvent } from '../../streams/projection/events.ts'
import type { ProjectionState, SkippedEvent } from '../../streams/projection/aggregate.ts'
import type { Decision } from '../../engine/commands/decision.ts'

/** A projector cannot handle the event, and an operator lets it continue without this event. */
export interface SkipEvent extends Omit<SkippedEvent, 'skippedAt'> {
  readonly now: Date
}

/**
 * A skipped event stays skipped, also in a rebuild. A second skip changes nothing, whatever its reason.
 */
export function skipEvent(command: SkipEvent, state: ProjectionState): Decision<ProjectionEvent> {
  const { now, ...data } = command
  const known = state.status === 'complete' ? [] : state.skipped
  const isSkipped = known.some(
    (one) => one.commitPosition === data.commitPosition && one.preparePosition === data.preparePosition,
  )
  return isSkipped ? [] : [{ type: 'ProjectionEventSkipped', data: { ...data, skippedAt: now.toISOString() } }]
}
