import type { Position } from '../../platform/kit/positions.ts'
import type { CaughtUp, ProjectionFailure, Wanted } from './checkpoints.ts'
import type { Member } from './feed.ts'
import type { Projector } from './projector.ts'
import type { ProjectorState } from './runner-options.ts'

/** One projector of a runner. */
export interface ProjectorRun {
  readonly projector: Projector
  state: ProjectorState
  /** This instance has written up to here. */
  position?: Position | undefined
  failure?: ProjectionFailure | undefined
  /** Set while this instance feeds it. */
  member?: Member | undefined
  /** Id of the copy that this instance runs, or ran last. */
  copyId?: string | undefined
  /** Set while a copy of this version is filled and an older one serves. */
  upgrading?: AbortController | undefined
  /** That copy could not be filled. It is not tried again until an operator resumes it. */
  hasFailedUpgrade: boolean
  /** The version that another instance serves, once it was logged. */
  foreign?: number | undefined
}

/** Whether the run is still catching up. Stopped and failed runs, and those of other instances, do not count. */
export function isBehind({ state, member, upgrading }: ProjectorRun): boolean {
  return upgrading !== undefined || state === 'catching-up' || (state === 'standby' && member !== undefined)
}

/** Whether this instance writes the projector, now or soon. False while a copy of another version or tables serves. */
export function isWrittenHere({ upgrading, hasFailedUpgrade }: ProjectorRun): boolean {
  return upgrading === undefined && !hasFailedUpgrade
}

/** The state that the stored row requires, if it differs. `before`: the state at the time of the query. */
export function stateWanted(
  run: ProjectorRun,
  before: ProjectorState | undefined,
  wanted: Wanted | undefined,
): ProjectorState | undefined {
  if (wanted === undefined) return undefined
  if (wanted.version > run.projector.version) return 'standby'
  const isRunning = run.state === 'catching-up' || run.state === 'live'
  if (wanted.status === 'stopped') return isRunning ? 'stopped' : undefined
  const wasHalted = before === 'stopped' || before === 'failed'
  return wasHalted && run.state === before && wanted.status !== 'failed' ? 'standby' : undefined
}

/** The position that this instance has caught up to; undefined unless it follows the log. */
export function reachedBy({ state, position, copyId, projector }: ProjectorRun): CaughtUp | undefined {
  if (state !== 'live' || position === undefined || copyId === undefined) return undefined
  return { name: projector.name, copyId, position }
}
