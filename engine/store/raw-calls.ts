import type { ClientReadableStream } from '@grpc/grpc-js'
import { shared, streams } from '../../platform/kit/event-store-client.ts'
import { comparePositions, startOfLog, type Position } from '../../platform/kit/positions.ts'
import type { NodeConnection } from './node-connection.ts'
import type { EventFilter } from './subscription-options.ts'

/** The server sends a checkpoint after this many considered events. */
const checkpointWindow = 1_000

/** A call whose messages are the bytes as they arrived. */
export type RawCall = ClientReadableStream<Buffer>

/** The first event of a read: a revision, or an end of the stream. */
export type StreamPlace = bigint | 'start' | 'end'
export type ReadDirection = 'forwards' | 'backwards'

/** Selects the events of a stream for one read. */
export interface StreamRange {
  readonly from: StreamPlace
  readonly direction: ReadDirection
  readonly limit: number
}

/** The client's own service definition has this too, but only together with its decoder. */
const readMethod = '/event_store.client.streams.Streams/Read'

/**
 * Opens a forwards read of `$all` over the client's connection, without the client's decoder. The decoder builds
 * objects for every member of every event, 13 µs per event, and a rebuild skips most events. Starts with the event at
 * `from`.
 */
export function openRawLog(connection: NodeConnection, from: Position): Promise<RawCall> {
  const options = new streams.ReadReq.Options()
  options.setAll(placeInLog(from))
  options.setCount(Number.MAX_SAFE_INTEGER.toString())
  options.setNoFilter(new shared.Empty())
  // The log of a follower may end before a position that the leader reported.
  return openRaw(connection, options, { requiresLeader: true })
}

/** Opens a backwards read of `$all` in the same way. It starts before the event at `from`. */
export function openRawLogBackwards(
  connection: NodeConnection,
  from: Position | 'end',
  count: number,
): Promise<RawCall> {
  const options = new streams.ReadReq.Options()
  options.setAll(placeInLog(from))
  options.setCount(count.toString())
  options.setNoFilter(new shared.Empty())
  options.setReadDirection(streams.ReadReq.Options.ReadDirection.BACKWARDS)
  return openRaw(connection, options, { requiresLeader: true })
}

/**
 * Opens a read of one stream in the same way. For a missing stream the client throws an error with a stack and cancels
 * the call; that costs more than a short read. Here the read ends without an event.
 */
export function openRawStream(
  connection: NodeConnection,
  name: string,
  { from, direction, limit }: StreamRange,
): Promise<RawCall> {
  const options = new streams.ReadReq.Options()
  options.setStream(placeInStream(name, from))
  options.setCount(limit.toString())
  options.setNoFilter(new shared.Empty())
  const { FORWARDS, BACKWARDS } = streams.ReadReq.Options.ReadDirection
  options.setReadDirection(direction === 'forwards' ? FORWARDS : BACKWARDS)
  return openRaw(connection, options)
}

/**
 * Opens a subscription to the events that pass the filter of `$all`, after `from`. The server sends the same messages
 * as to the client.
 */
export function openRawLogSubscription(
  connection: NodeConnection,
  { streamPrefixes }: EventFilter,
  from: Position | 'start',
): Promise<RawCall> {
  const names = new streams.ReadReq.Options.FilterOptions.Expression()
  if (streamPrefixes.length === 0) names.setRegex('^[^$]')
  else names.setPrefixList([...streamPrefixes])
  const filter = new streams.ReadReq.Options.FilterOptions()
  filter.setStreamIdentifier(names)
  filter.setMax(checkpointWindow)
  filter.setCheckpointintervalmultiplier(1)
  const options = new streams.ReadReq.Options()
  options.setAll(placeInLog(from === 'start' ? startOfLog : from))
  options.setFilter(filter)
  options.setSubscription(new streams.ReadReq.Options.SubscriptionOptions())
  return openRaw(connection, options)
}

/** Opens a subscription to one stream, after `from`. The stream may not exist yet. */
export function openRawStreamSubscription(
  connection: NodeConnection,
  name: string,
  from: bigint | 'start',
): Promise<RawCall> {
  const options = new streams.ReadReq.Options()
  options.setStream(placeInStream(name, from))
  options.setNoFilter(new shared.Empty())
  options.setSubscription(new streams.ReadReq.Options.SubscriptionOptions())
  return openRaw(connection, options)
}

function placeInLog(from: Position | 'end'): streams.ReadReq.Options.AllOptions {
  const all = new streams.ReadReq.Options.AllOptions()
  if (from === 'end') all.setEnd(new shared.Empty())
  else if (comparePositions(from, startOfLog) === 0) all.setStart(new shared.Empty())
  else {
    const position = new streams.ReadReq.Options.Position()
    position.setCommitPosition(from.commit.toString())
    position.setPreparePosition(from.prepare.toString())
    all.setPosition(position)
  }
  return all
}

function placeInStream(name: string, from: StreamPlace): streams.ReadReq.Options.StreamOptions {
  const identifier = new shared.StreamIdentifier()
  identifier.setStreamName(Buffer.from(name, 'utf8'))
  const stream = new streams.ReadReq.Options.StreamOptions()
  stream.setStreamIdentifier(identifier)
  if (from === 'start') stream.setStart(new shared.Empty())
  else if (from === 'end') stream.setEnd(new shared.Empty())
  else stream.setRevision(from.toString())
  return stream
}

function openRaw(
  connection: NodeConnection,
  options: InstanceType<typeof streams.ReadReq.Options>,
  given: { readonly requiresLeader?: boolean } = {},
): Promise<RawCall> {
  const ids = new streams.ReadReq.Options.UUIDOption()
  ids.setString(new shared.Empty())
  options.setUuidOption(ids)
  const request = new streams.ReadReq()
  request.setOptions(options)
  return connection.open(
    (service, metadata, callOptions) =>
      service.makeServerStreamRequest(readMethod, serialized, (bytes: Buffer) => bytes, request, metadata, callOptions),
    given,
  )
}

function serialized(request: streams.ReadReq): Buffer {
  return Buffer.from(request.serializeBinary())
}

/**
 * Leaving the read loop does not end the call on the server. Ending it inside the handler of its own message may hang
 * the client.
 */
export function endCall(read: RawCall): Promise<void> {
  if (read.readableEnded) return Promise.resolve()
  return new Promise((resolve) => {
    setImmediate(() => {
      read.cancel()
      resolve()
    })
  })
}
