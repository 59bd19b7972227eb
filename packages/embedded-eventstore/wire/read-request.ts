import streams from '@eventstore/db-client/generated/streams_pb.js'
import { eventFilter, type EventFilter } from '../streams/event-filter.ts'
import { revisionFromWire } from '../streams/revision.ts'
import { readMessage } from './bounded-reader.ts'
import { handlerFailed, invalidArgument } from './errors.ts'

/** Start of a read of a stream or of `$all`: a revision, or a commit position. */
export type Place = 'start' | 'end' | number

export type ReadRequest = {
  source: { kind: 'stream'; stream: string; from: Place } | { kind: 'all'; from: Place }
  /** Undefined for a subscription. */
  count: number | undefined
  backwards: boolean
  filter: (EventFilter & { window: number; checkpointInterval: number }) | undefined
  resolveLinks: boolean
  structuredIds: boolean
  /** Clients from 21.10 on send 1 and get the bounds of the stream. */
  compatibility: number
}

const DEFAULT_WINDOW = 32

/** Reads a `ReadReq`. Throws CallError as the server does. */
export function readReadRequest(bytes: Uint8Array): ReadRequest {
  const options = readMessage(streams.ReadReq, bytes).getOptions()
  if (options === undefined) throw invalidArgument('options are missing')
  const backwards = options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS
  const isSubscription = options.hasSubscription()
  if (!isSubscription && !options.hasCount()) throw invalidArgument("'None' is not a valid count option")
  const filter = readFilter(options.getFilter())
  if (isSubscription && backwards) throw invalidArgument('The combination of Subscription and Backwards is invalid.')
  if (filter !== undefined && !options.hasAll())
    throw invalidArgument('The combination of Stream and Filter is invalid.')
  return {
    source: readSource(options),
    count: isSubscription ? undefined : Math.min(Number(options.getCount()), Number.MAX_SAFE_INTEGER),
    backwards,
    filter,
    resolveLinks: options.getResolveLinks(),
    structuredIds: options.getUuidOption()?.hasString() !== true,
    compatibility: options.getControlOption()?.getCompatibility() ?? 0,
  }
}

function readSource(options: streams.ReadReq.Options): ReadRequest['source'] {
  const stream = options.getStream()
  if (stream !== undefined) {
    const name = Buffer.from(stream.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8')
    if (name === '') throw handlerFailed()
    const from = stream.hasRevision() ? revisionOf(stream.getRevision()) : stream.hasEnd() ? 'end' : 'start'
    return { kind: 'stream', stream: name, from }
  }
  const all = options.getAll()
  if (all === undefined) throw invalidArgument("'None' is not a valid stream option")
  const position = all.getPosition()
  return {
    kind: 'all',
    from: position !== undefined ? positionOf(position.getCommitPosition()) : all.hasEnd() ? 'end' : 'start',
  }
}

function revisionOf(text: string): Place {
  const value = BigInt(text)
  if (value === 0xffffffffffffffffn) return 'end'
  if (value > 0x7fffffffffffffffn) throw handlerFailed()
  return revisionFromWire(value)
}

function positionOf(commit: string): Place {
  const value = BigInt(commit)
  if (value === 0xffffffffffffffffn) return 'end'
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value)
}

function readFilter(options: streams.ReadReq.Options.FilterOptions | undefined): ReadRequest['filter'] {
  if (options === undefined) return undefined
  const onStream = options.getStreamIdentifier()
  const expression = onStream ?? options.getEventType()
  if (expression === undefined) throw invalidArgument("'None' is not a valid filter")
  if (!options.hasMax() && !options.hasCount()) throw invalidArgument("'None' is not a valid window")
  const window = options.hasMax() ? options.getMax() : DEFAULT_WINDOW
  if (options.getCheckpointintervalmultiplier() === 0)
    throw invalidArgument('checkpointIntervalMultiplier must be greater than 0')
  return {
    ...eventFilter(onStream === undefined ? 'type' : 'stream', expression.getRegex(), expression.getPrefixList()),
    window,
    checkpointInterval: options.getCheckpointintervalmultiplier() * window,
  }
}
