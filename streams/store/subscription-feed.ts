import type { AllStreamResolvedEvent, AllStreamSubscription, EventStoreDBClient, ReadableSubscription, ResolvedEvent } from '@eventstore/db-client'
import { START, streamNameFilter } from '@eventstore/db-client'
import { comparePositions, startOfLog, type Position } from './positions.ts'
import type { EventFilter } from './subscription-options.ts'

/** A callback of the client, turned into an item of its own stream. */
export class Marker {
  readonly kind: 'checkpoint' | 'caught-up'
  readonly position: Position | undefined
  constructor(kind: 'checkpoint' | 'caught-up', position?: Position) {
    this.kind = kind
    this.position = position
  }
}

export type FeedItem = ResolvedEvent | AllStreamResolvedEvent | Marker
export type Feed = ReadableSubscription<ResolvedEvent | AllStreamResolvedEvent>

/** Events that may wait on each side of the client's transform for a slow handler; what is beyond stays with the server. */
const bufferedEvents = 512
/** Considered events between two checkpoints of the server. */
const checkpointWindow = 1_000

/**
 * The client tells checkpoints and caught-up at once, ahead of events that were delivered before them and still wait in
 * its buffer. Pushed into that buffer, they come out in their place.
 */
export function openAllFeed(client: EventStoreDBClient, { streamPrefixes }: EventFilter, from: Position | 'start'): Feed {
  const isStart = from === 'start' || comparePositions(from, startOfLog) === 0
  const window = {
    maxSearchWindow: checkpointWindow,
    checkpointInterval: 1,
    checkpointReached: (subscription: AllStreamSubscription, position: Position) =>
      void subscription.push(new Marker('checkpoint', position)),
  }
  const filter =
    streamPrefixes.length === 0
      ? streamNameFilter({ ...window, regex: '^[^$]' })
      : streamNameFilter({ ...window, prefixes: [...streamPrefixes] })
  const feed = client.subscribeToAll(
    { filter, fromPosition: isStart ? START : { ...from } },
    { highWaterMark: bufferedEvents },
  )
  feed.on('caughtUp', () => void feed.push(new Marker('caught-up')))
  return feed
}

export function openStreamFeed(client: EventStoreDBClient, stream: string, from: bigint | 'start'): Feed {
  const feed = client.subscribeToStream(
    stream,
    { fromRevision: from === 'start' ? START : from },
    { highWaterMark: bufferedEvents },
  )
  feed.on('caughtUp', () => void feed.push(new Marker('caught-up')))
  return feed
}
