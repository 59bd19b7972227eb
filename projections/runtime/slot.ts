import type { Position } from '../../platform/kit/positions.ts'
import type { CaughtUp, ProjectionFailure, Wanted } from './checkpoints.ts'
import type { Member } from './feed.ts'
import type { Projector } from './projector.ts'
import type { ProjectorState } from './runner-options.ts'

/** One projector as a runner knows it. */
export interface Slot {
  readonly projector: Projector
  state: ProjectorState
  /** Up to where this instance has written. */
  position: Position | undefined
  failure: ProjectionFailure | undefined
  /** While this instance feeds it. */
  member: Member | undefined
  /** Of the copy that this instance runs, or ran last. */
  copyId: string | undefined
  /** While a copy of this version is filled beside an older one that serves. */
  upgrading: AbortController | undefined
  /** Such a copy could not be filled, and is not tried again until somebody lets it go on. */
  hasFailedUpgrade: boolean
  /** The version that is served elsewhere, once it was said. */
  foreign: number | undefined
}

export function emptySlot(projector: Projector): Slot {
  const nothing = {
    position: undefined,
    failure: undefined,
    member: undefined,
    copyId: undefined,
    upgrading: undefined,
    hasFailedUpgrade: false,
    foreign: undefined,
  }
  return { projector, state: 'standby', ...nothing }
}

/** Whether the slot stands in the way of being caught up; stopped and failed ones, and those that others run, do not. */
export function isBehind({ state, member, upgrading }: Slot): boolean {
  return upgrading !== undefined || state === 'catching-up' || (state === 'standby' && member !== undefined)
}

/** Whether this instance writes the projector, or is to; not while a copy of another version or other tables serves. */
export function isRun({ upgrading, hasFailedUpgrade }: Slot): boolean {
  return upgrading === undefined && !hasFailedUpgrade
}

/** The state that what is stored asks for, where it is another one; `before`: what it was when this was asked. */
export function stateWanted(
  slot: Slot,
  before: ProjectorState | undefined,
  wanted: Wanted | undefined,
): ProjectorState | undefined {
  if (wanted === undefined) return undefined
  if (wanted.version > slot.projector.version) return 'standby'
  const isRunning = slot.state === 'catching-up' || slot.state === 'live'
  if (wanted.status === 'stopped') return isRunning ? 'stopped' : undefined
  const wasHalted = before === 'stopped' || before === 'failed'
  return wasHalted && slot.state === before && wanted.status !== 'failed' ? 'standby' : undefined
}

/** What this instance has brought to the head of it; undefined unless it follows the log. */
export function reachedBy({ state, position, copyId, projector }: Slot): CaughtUp | undefined {
  if (state !== 'live' || position === undefined || copyId === undefined) return undefined
  return { name: projector.name, copyId, position }
}
