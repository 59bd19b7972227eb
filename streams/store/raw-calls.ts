import type { EventStoreDBClient } from '@eventstore/db-client'
import type { ClientReadableStream } from '@grpc/grpc-js'
import { openStreamsCall, shared, streams } from '../../platform/kit/event-store-client.ts'
import { comparePositions, startOfLog, type Position } from '../../platform/kit/positions.ts'
import type { EventFilter } from './subscription-options.ts'

/** Considered events between two checkpoints of the server. */
const checkpointWindow = 1_000

/** A call whose messages come as the bytes that arrived. */
export type RawCall = ClientReadableStream<Buffer>

/** Which events of a stream a reading brings. */
export interface StreamRange {
  readonly from: bigint | 'start' | 'end'
  readonly direction: 'forwards' | 'backwards'
  readonly limit: number
}

/** The client's own service definition knows it too, but only together with its decoder. */
const readMethod = '/event_store.client.streams.Streams/Read'

/**
 * Opens a forwards reading of `$all` over the client's connection, past the client's decoder: that makes objects of every
 * member of every event, 13 µs an event, where most events of a rebuild are only passed over. Begins with what is at `from`.
 */
export function openRawLog(client: EventStoreDBClient, from: Position): Promise<RawCall> {
  const options = new streams.ReadReq.Options()
  options.setAll(placeInLog(from))
  options.setCount(Number.MAX_SAFE_INTEGER.toString())
  options.setNoFilter(new shared.Empty())
  // The log of a follower may end before a place that the leader has told.
  return openRaw(client, 'readAll', options, { requiresLeader: true })
}

/** Opens a backwards reading of `$all` in the same way; it begins before what is at `from`. */
export function openRawLogBackwards(
  client: EventStoreDBClient,
  from: Position | 'end',
  count: number,
): Promise<RawCall> {
  const options = new streams.ReadReq.Options()
  options.setAll(placeInLog(from))
  options.setCount(count.toString())
  options.setNoFilter(new shared.Empty())
  options.setReadDirection(streams.ReadReq.Options.ReadDirection.BACKWARDS)
  return openRaw(client, 'readAll', options, { requiresLeader: true })
}

/**
 * Opens a reading of one stream in the same way: the client tells that a stream is not there by an error with a stack and a
 * cancelled call, which costs more than reading a short one. Here it ends without an event.
 */
export function openRawStream(
  client: EventStoreDBClient,
  name: string,
  { from, direction, limit }: StreamRange,
): Promise<RawCall> {
  const options = new streams.ReadReq.Options()
  options.setStream(placeInStream(name, from))
  options.setCount(limit.toString())
  options.setNoFilter(new shared.Empty())
  const { FORWARDS, BACKWARDS } = streams.ReadReq.Options.ReadDirection
  options.setReadDirection(direction === 'forwards' ? FORWARDS : BACKWARDS)
  return openRaw(client, 'readStream', options, {})
}

/** Opens a subscription to what the filter of `$all` lets through, after `from`; the same messages as the client would be sent. */
export function openRawLogSubscription(
  client: EventStoreDBClient,
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
  return openRaw(client, 'subscribeToAll', options, {})
}

/** Opens a subscription to one stream, also one that does not exist yet, after `from`. */
export function openRawStreamSubscription(
  client: EventStoreDBClient,
  name: string,
  from: bigint | 'start',
): Promise<RawCall> {
  const options = new streams.ReadReq.Options()
  options.setStream(placeInStream(name, from))
  options.setNoFilter(new shared.Empty())
  options.setSubscription(new streams.ReadReq.Options.SubscriptionOptions())
  return openRaw(client, 'subscribeToStream', options, {})
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

function placeInStream(name: string, from: bigint | 'start' | 'end'): streams.ReadReq.Options.StreamOptions {
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
  client: EventStoreDBClient,
  name: string,
  options: InstanceType<typeof streams.ReadReq.Options>,
  given: { readonly requiresLeader?: boolean },
): Promise<RawCall> {
  const ids = new streams.ReadReq.Options.UUIDOption()
  ids.setString(new shared.Empty())
  options.setUuidOption(ids)
  const request = new streams.ReadReq()
  request.setOptions(options)
  return openStreamsCall(client, name, given, (service, metadata, callOptions) =>
    service.makeServerStreamRequest(readMethod, serialized, (bytes: Buffer) => bytes, request, metadata, callOptions),
  )
}

function serialized(request: streams.ReadReq): Buffer {
  return Buffer.from(request.serializeBinary())
}

/** Leaving a reading does not end the call on the server; ended within the handling of its own message, the client may hang. */
export function endCall(read: RawCall): Promise<void> {
  if (read.readableEnded) return Promise.resolve()
  return new Promise((resolve) => {
    setImmediate(() => {
      read.cancel()
      resolve()
    })
  })
}
