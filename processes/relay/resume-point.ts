import { UndecodableEventError } from '../../streams/store/errors.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import { type StreamRevision, comparePositions, parsePosition, type Position } from '../../platform/kit/positions.ts'

/**
 * Member of the channel's stream metadata that holds the source position of a long quiet stretch. It is signed: a relay that
 * believed a foreign one would publish nothing before it.
 */
export const sourceMember = 'relaySource'

export interface ResumePoint {
  /** Of the channel's last event, whoever wrote it: what the next append expects. */
  readonly revision: StreamRevision
  /** Everything of the sources up to here is on the channel; undefined when nothing is. */
  readonly source: Position | undefined
}

type ChannelReader = Pick<EventStore, 'readStream' | 'readLast' | 'readMark'>

/**
 * Where a relay goes on. The revision is read before the newest event of our own: an event that another instance adds in
 * between then makes the next append conflict, where the other order would publish it again.
 *
 * @param conflicting revision that a conflict told of, for a channel whose events have all been truncated
 */
export async function resumePoint(
  reader: ChannelReader,
  channel: string,
  conflicting?: StreamRevision,
): Promise<ResumePoint> {
  const revision = (await lastRevision(reader, channel)) ?? conflicting ?? 'no_stream'
  const quiet = await reader.readMark(channel, sourceMember)
  const quietSource = quiet === undefined ? undefined : parsePosition(quiet)
  const published = await newestOwn(reader, channel)
  if (published === undefined || quietSource === undefined) return { revision, source: published ?? quietSource }
  return { revision, source: comparePositions(published, quietSource) >= 0 ? published : quietSource }
}

async function lastRevision(reader: ChannelReader, channel: string): Promise<bigint | undefined> {
  try {
    return (await reader.readLast(channel))?.revision
  } catch (error) {
    // The last event is somebody else's, which only its head matters of.
    if (error instanceof UndecodableEventError) return error.head.revision
    throw error
  }
}

/** Events that others appended carry no source position, or not our signature. */
async function newestOwn(reader: ChannelReader, channel: string): Promise<Position | undefined> {
  for await (const { metadata } of reader.readStream(channel, { direction: 'backwards', skipForeign: true })) {
    const source = metadata.source === undefined ? undefined : parsePosition(metadata.source)
    if (source !== undefined) return source
  }
  return undefined
}
