import type { EventStoreDBClient } from '@eventstore/db-client'
import { isSystemEvent } from './decoding.ts'
import { startOfLog, type Position } from '../../platform/kit/positions.ts'
import { readLogBackwards, type ReadTiming } from './reading.ts'
import type { EventFilter } from './subscription-options.ts'

/** What of the log is asked about. */
export interface HeadQuestion {
  /** Where it is enough; whoever only asks whether something is newer gets it back when nothing is. Default: the start of the log. */
  readonly downTo?: Position
  /** Whether events of a type count. Default: all do. A type that the catalogue does not know always counts: it may be anybody's. */
  readonly wants?: (type: string) => boolean
}

interface Place {
  readonly type: string
  readonly position: Position
}

/** Events that do not count are read through up to so many; then the newest of them is told. */
const mostPassed = 500

/** Events that the filter lets through, newest first, all that are after `downTo`. Decodes nothing. */
export async function* placesBackwards(
  client: EventStoreDBClient,
  timing: ReadTiming,
  filter: EventFilter,
  downTo: Position,
): AsyncGenerator<Place, void, undefined> {
  for await (const frame of readLogBackwards(client, timing)) {
    if (frame.isUpTo(downTo)) return
    const { type, stream, position } = frame
    if (!isSystemEvent({ type, streamId: stream }) && passes(filter, stream)) yield { type, position }
  }
}

function passes({ streamPrefixes }: EventFilter, stream: string): boolean {
  return streamPrefixes.length === 0 || streamPrefixes.some((prefix) => stream.startsWith(prefix))
}

/** The place of the newest event that counts; behind many that do not, that of the newest of those. */
export async function newestOf(
  places: AsyncIterable<Place>,
  wants: (type: string) => boolean,
  downTo: Position = startOfLog,
): Promise<Position> {
  let newest: Position | undefined
  let passed = 0
  for await (const { type, position } of places) {
    if (wants(type)) return position
    newest ??= position
    passed += 1
    if (passed === mostPassed) return newest
  }
  return downTo
}
