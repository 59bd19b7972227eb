import { UndecodableEventError } from '../store/errors.ts'
import type { EventStore } from '../store/event-store.ts'
import { type StreamRevision, comparePositions, parsePosition, type Position } from '../../platform/kit/positions.ts'

/**
 * The member of the channel's stream metadata for the source position at a start, and after some time or many events without
 * output. It is signed: a foreign position would make a relay skip all events before it.
 */
export const sourceMember = 'relaySource'

interface ResumePoint {
  /** The revision of the channel's last event, ours or not. The next append expects it. */
  readonly revision: StreamRevision
  /** The channel contains everything of the sources up to here. Undefined if it contains nothing. */
  readonly source: Position | undefined
  /** The place in the metadata, which may be older. An operator may hide the events of a channel, but not this. */
  readonly noted: Position | undefined
}

type ChannelReader = Pick<EventStore, 'readStream' | 'readLast' | 'readMark'>

/**
 * The place where a relay continues. The revision is read before the newest event of our own. If another instance
 * appends in between, the next append conflicts. In the other order it would publish an event twice.
 *
 * @param conflicting the revision from a conflict, for a channel whose events are all truncated
 */
export async function resumePoint(
  reader: ChannelReader,
  channel: string,
  conflicting?: StreamRevision,
): Promise<ResumePoint> {
  const revision = (await lastRevision(reader, channel)) ?? conflicting ?? 'no_stream'
  const mark = await reader.readMark(channel, sourceMember)
  const noted = mark === undefined ? undefined : parsePosition(mark)
  const published = await newestOwn(reader, channel)
  const isNewer = published !== undefined && (noted === undefined || comparePositions(published, noted) > 0)
  return { revision, source: isNewer ? published : noted, noted }
}

async function lastRevision(reader: ChannelReader, channel: string): Promise<bigint | undefined> {
  try {
    return (await reader.readLast(channel))?.revision
  } catch (error) {
    // The last event is not ours. Only its revision matters.
    if (error instanceof UndecodableEventError) return error.head.revision
    throw error
  }
}

/** Events of other writers have no source position, or another signature. */
async function newestOwn(reader: ChannelReader, channel: string): Promise<Position | undefined> {
  for await (const { metadata } of reader.readStream(channel, { direction: 'backwards', skipForeign: true })) {
    const source = metadata.source === undefined ? undefined : parsePosition(metadata.source)
    if (source !== undefined) return source
  }
  return undefined
}
