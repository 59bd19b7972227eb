import { isSystemEvent } from './decoding.ts'
import { startOfLog, type Position } from '../../platform/kit/positions.ts'
import type { NodeConnection } from './node-connection.ts'
import { readLogBackwards, type ReadTiming } from './reading.ts'
import type { EventFilter } from './subscription-options.ts'

/** Limits a search for the newest event of the log. */
export interface HeadQuestion {
  /** The search ends here. It returns this position if there is nothing newer. Default: the start of the log. */
  readonly downTo?: Position
  /**
   * Whether events of a type count. Default: all do. A type that is not in the catalogue always counts: its meaning is
   * unknown.
   */
  readonly wants?: (type: string) => boolean
}

interface Place {
  readonly type: string
  readonly position: Position
}

/** The search skips at most this many events that do not count. Then it returns the newest of them. */
const mostPassed = 500

/** Events that pass the filter and are after `downTo`, newest first. Decodes nothing. */
export async function* placesBackwards(
  connection: NodeConnection,
  timing: ReadTiming,
  filter: EventFilter,
  downTo: Position,
): AsyncGenerator<Place, void, undefined> {
  for await (const frame of readLogBackwards(connection, timing)) {
    if (frame.isUpTo(downTo)) return
    const { type, stream, position } = frame
    if (!isSystemEvent({ type, streamId: stream }) && passes(filter, stream)) yield { type, position }
  }
}

/** Whether the server delivers events of the stream through the filter. */
export function passes({ streamPrefixes }: EventFilter, stream: string): boolean {
  return streamPrefixes.length === 0 || streamPrefixes.some((prefix) => stream.startsWith(prefix))
}

/** The place of the newest event that counts. Behind many that do not count, the place of the newest of those. */
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
