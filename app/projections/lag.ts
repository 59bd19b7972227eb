import type { Pool } from 'pg'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { EventFilter } from '../../engine/store/subscription-options.ts'
import {
  comparePositions,
  formatPosition,
  parsePosition,
  startOfLog,
  type Position,
} from '../../platform/kit/positions.ts'
import { processes } from '../../processes/registry.ts'
import { listedStreams, projectedStreams } from './projected-streams.ts'
import { readProjectors, type ShownProjector } from './known-projectors.ts'
import { hasProcess, statusText, tableText } from './list.ts'

/** Counting reads the log backwards, so it needs a limit. */
const mostCounted = 10_000

/** How far a read model or to-do list is behind the log. */
export interface ProjectorLag {
  readonly name: string
  readonly isFailed: boolean
  readonly events: number
  /** Since it last moved. */
  readonly idleSeconds: number
}

/** Counts at most so many events behind each. Nothing moves one that an earlier program left behind. */
export async function readLags(
  pool: Pool,
  eventStore: Pick<EventStore, 'positionsBackwards'>,
  most: number,
): Promise<readonly ProjectorLag[]> {
  const { lags } = await countBehind(pool, eventStore, most)
  const own = lags.filter(({ projector }) => projector.programVersion !== undefined)
  return own.map(({ projector: { name, status, idleSeconds = 0 }, behind }) => ({
    name,
    isFailed: status === 'failed',
    events: behind,
    idleSeconds,
  }))
}

interface Lag {
  readonly projector: ShownProjector
  /** Events after the checkpoint, in the streams of the projector's read. */
  readonly behind: number
  readonly isMore: boolean
}

export async function projectionLag(
  pool: Pool,
  eventStore: EventStore,
  isJson: boolean,
  most = mostCounted,
): Promise<string> {
  const { lags, head } = await countBehind(pool, eventStore, most)
  if (isJson)
    return JSON.stringify(
      { head: head === undefined ? null : formatPosition(head), projectors: lags.map(jsonOf) },
      null,
      2,
    )
  const rows = lags.map((lag) => [
    lag.projector.name,
    statusText(lag.projector),
    lag.projector.position ?? '-',
    behindText(lag),
    movedText(lag.projector),
  ])
  return tableText([['NAME', 'STATUS', 'POSITION', 'BEHIND', 'LAST MOVED'], ...rows])
}

async function countBehind(
  pool: Pool,
  eventStore: Pick<EventStore, 'positionsBackwards'>,
  most: number,
): Promise<{ readonly lags: readonly Lag[]; readonly head: Position | undefined }> {
  const projectors = await readProjectors(pool)
  const seen = projectors.filter(({ position }) => position !== undefined)
  const newestOf = (streamPrefixes: readonly string[], read: readonly ShownProjector[]) =>
    newestEvents(eventStore, { streamPrefixes }, read.map(positionOf), most)
  const isList = ({ name }: ShownProjector) => processes.some(({ list }) => list.name === name)
  const [ofModels, ofLists] = await Promise.all([
    newestOf(
      projectedStreams,
      seen.filter((projector) => !isList(projector)),
    ),
    newestOf(listedStreams, seen.filter(isList)),
  ])
  const lags = seen.map((projector): Lag => {
    const { newest, isComplete } = isList(projector) ? ofLists : ofModels
    const behind = newest.filter((position) => comparePositions(position, positionOf(projector)) > 0).length
    return { projector, behind, isMore: !isComplete && behind === newest.length }
  })
  const places = [...ofModels.newest.slice(0, 1), ...ofLists.newest.slice(0, 1), ...seen.map(positionOf)]
  return { lags, head: places.toSorted(comparePositions).at(-1) }
}

/** Positions down to the slowest projector's, newest first. Incomplete above the counting limit. */
async function newestEvents(
  eventStore: Pick<EventStore, 'positionsBackwards'>,
  filter: EventFilter,
  reached: readonly Position[],
  most: number,
): Promise<{ newest: readonly Position[]; isComplete: boolean }> {
  const downTo = reached.toSorted(comparePositions)[0] ?? startOfLog
  const newest: Position[] = []
  for await (const position of eventStore.positionsBackwards(filter, { downTo })) {
    if (newest.length === most) return { newest, isComplete: false }
    newest.push(position)
  }
  return { newest, isComplete: true }
}

function positionOf({ position = '' }: ShownProjector): Position {
  return parsePosition(position) ?? startOfLog
}

function behindText({ behind, isMore }: Lag): string {
  if (isMore) return `more than ${behind} events`
  return behind === 0 ? 'at the head' : `${behind} event${behind === 1 ? '' : 's'}`
}

function movedText({ idleSeconds = 0 }: ShownProjector): string {
  return `${Math.round(idleSeconds)} s ago`
}

function jsonOf({ projector, behind, isMore }: Lag) {
  const { name, status, position, idleSeconds = 0 } = projector
  return {
    name,
    status,
    has_process: hasProcess(projector),
    position,
    at_head: behind === 0,
    events_behind: behind,
    is_more: isMore,
    seconds_since_move: Math.round(idleSeconds * 10) / 10,
  }
}
