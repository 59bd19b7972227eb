import type persistent from '@eventstore/db-client/generated/persistent_pb.js'
import type shared from '@eventstore/db-client/generated/shared_pb.js'
import { handlerFailed, invalidArgument, unknownError } from '../wire/errors.ts'
import { GroupError } from '../persistent/group-errors.ts'
import {
  ALL_STREAM,
  type FilterDefinition,
  type GroupSettings,
  type GroupSource,
} from '../persistent/group-settings.ts'
import { strategyNamed } from '../persistent/stored-settings.ts'

const LIVE_WIRE = 0xffffffffffffffffn
const LARGEST_POSITION = 0x7fffffffffffffffn
const TICKS_PER_MILLISECOND = 10_000n
const LARGEST_INT32 = 0x7fffffff

/** Names of the enumeration that older clients use for a strategy. */
const NUMBERED_STRATEGIES = ['DispatchToSingle', 'RoundRobin', 'Pinned']

type Place = { source: GroupSource; startPosition: string }

/** Settings of a group to create. Throws CallError and GroupError. */
export function readCreateRequest(request: persistent.CreateReq): GroupSettings {
  const options = request.getOptions()
  const settings = options?.getSettings()
  if (options === undefined || settings === undefined) throw handlerFailed()
  const all = options.getAll()
  const place =
    all === undefined
      ? streamPlace(options, settings.getRevision())
      : { ...allPlace(all), source: { kind: 'all' as const, filter: readFilter(all) } }
  const name =
    settings.getConsumerStrategy() === ''
      ? NUMBERED_STRATEGIES[settings.getNamedConsumerStrategy()]
      : settings.getConsumerStrategy()
  return settingsOf(place, options.getGroupName(), settings, name)
}

/**
 * New settings of a group. A request for a group on `$all` does not contain its filter. Throws CallError and
 * GroupError.
 */
export function readUpdateRequest(request: persistent.UpdateReq): GroupSettings {
  const options = request.getOptions()
  const settings = options?.getSettings()
  if (options === undefined || settings === undefined) throw handlerFailed()
  const all = options.getAll()
  const place =
    all === undefined
      ? streamPlace(options, settings.getRevision())
      : { ...allPlace(all), source: { kind: 'all' as const, filter: undefined } }
  return settingsOf(place, options.getGroupName(), settings, NUMBERED_STRATEGIES[settings.getNamedConsumerStrategy()])
}

/** Name of a stream in a request. Throws CallError when it is empty. */
export function streamName(identifier: shared.StreamIdentifier | undefined): string {
  const name = Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8')
  if (name === '') throw handlerFailed()
  return name
}

/** Stream of a request, or `$all`. Throws CallError when the request has neither. */
export function streamOrAll(options: {
  hasAll(): boolean
  getStreamIdentifier(): shared.StreamIdentifier | undefined
}): string {
  return options.hasAll() ? ALL_STREAM : streamName(options.getStreamIdentifier())
}

type StreamOptions = {
  getStream():
    | {
        getStreamIdentifier(): shared.StreamIdentifier | undefined
        hasRevision(): boolean
        getRevision(): string
        hasStart(): boolean
        hasEnd(): boolean
      }
    | undefined
  getStreamIdentifier(): shared.StreamIdentifier | undefined
}

/** Older clients send the stream in the options and the revision in the settings. */
function streamPlace(options: StreamOptions, revision: string): Place {
  const stream = options.getStream()
  const name = streamName(stream === undefined ? options.getStreamIdentifier() : stream.getStreamIdentifier())
  if (name === ALL_STREAM) throw unknownError('a group on $all needs the all option, not the name of a stream')
  const source: GroupSource = { kind: 'stream', stream: name }
  if (stream === undefined) return { source, startPosition: revisionText(revision) }
  if (stream.hasRevision()) return { source, startPosition: revisionText(stream.getRevision()) }
  if (!stream.hasStart() && !stream.hasEnd()) throw invalidArgument("'None' is not a valid revision option")
  return { source, startPosition: stream.hasEnd() ? '-1' : '0' }
}

function revisionText(wire: string): string {
  const value = BigInt(wire === '' ? '0' : wire)
  if (value === LIVE_WIRE) return '-1'
  if (value > LARGEST_POSITION) throw handlerFailed()
  return String(value)
}

type AllOptions = {
  getPosition(): { getCommitPosition(): string; getPreparePosition(): string } | undefined
  hasStart(): boolean
  hasEnd(): boolean
}

function allPlace(all: AllOptions): { startPosition: string } {
  const position = all.getPosition()
  if (position === undefined) {
    if (!all.hasStart() && !all.hasEnd()) throw invalidArgument("'None' is not a valid position option")
    return { startPosition: all.hasEnd() ? 'C:-1/P:-1' : 'C:0/P:0' }
  }
  const [commit, prepare] = [BigInt(position.getCommitPosition()), BigInt(position.getPreparePosition())]
  if (commit === LIVE_WIRE && prepare === LIVE_WIRE) return { startPosition: 'C:-1/P:-1' }
  if (commit > LARGEST_POSITION || prepare > commit) throw handlerFailed()
  return { startPosition: `C:${commit}/P:${prepare}` }
}

function readFilter(all: persistent.CreateReq.AllOptions): FilterDefinition | undefined {
  const filter = all.getFilter()
  if (filter === undefined) return undefined
  const onStream = filter.getStreamIdentifier()
  const expression = onStream ?? filter.getEventType()
  if (expression === undefined) throw invalidArgument("'None' is not a valid filter")
  const regex = expression.getRegex()
  if (!compiles(regex)) throw handlerFailed()
  return {
    on: onStream === undefined ? 'type' : 'stream',
    regex,
    prefixes: regex === '' ? expression.getPrefixList() : [],
  }
}

function compiles(regex: string): boolean {
  try {
    return new RegExp(regex, 'u').source !== ''
  } catch {
    return false
  }
}

type Settings = Pick<
  persistent.CreateReq.Settings,
  | 'getResolveLinks'
  | 'getExtraStatistics'
  | 'getMaxRetryCount'
  | 'getMinCheckpointCount'
  | 'getMaxCheckpointCount'
  | 'getMaxSubscriberCount'
  | 'getLiveBufferSize'
  | 'getReadBatchSize'
  | 'getHistoryBufferSize'
  | 'hasMessageTimeoutTicks'
  | 'getMessageTimeoutTicks'
  | 'getMessageTimeoutMs'
  | 'hasCheckpointAfterTicks'
  | 'getCheckpointAfterTicks'
  | 'getCheckpointAfterMs'
>

function settingsOf(
  { source, startPosition }: Place,
  group: string,
  settings: Settings,
  strategyName: string | undefined,
): GroupSettings {
  const strategy = strategyNamed(strategyName)
  if (strategy === undefined)
    throw new GroupError(
      { kind: 'failed', reason: `Consumer strategy ${strategyName ?? ''} does not exist.` },
      source.kind === 'all' ? ALL_STREAM : source.stream,
      group,
    )
  return {
    source,
    group,
    startPosition,
    resolveLinks: settings.getResolveLinks(),
    extraStatistics: settings.getExtraStatistics(),
    messageTimeout: settings.hasMessageTimeoutTicks()
      ? milliseconds(settings.getMessageTimeoutTicks())
      : settings.getMessageTimeoutMs(),
    maxRetryCount: settings.getMaxRetryCount(),
    checkpointAfter: settings.hasCheckpointAfterTicks()
      ? milliseconds(settings.getCheckpointAfterTicks())
      : settings.getCheckpointAfterMs(),
    minCheckpointCount: settings.getMinCheckpointCount(),
    maxCheckpointCount: settings.getMaxCheckpointCount(),
    maxSubscriberCount: settings.getMaxSubscriberCount(),
    liveBufferSize: settings.getLiveBufferSize(),
    readBatchSize: settings.getReadBatchSize(),
    historyBufferSize: settings.getHistoryBufferSize(),
    strategy,
  }
}

/** Answers about a group have 32 bits for it. */
function milliseconds(ticks: string): number {
  return Math.max(-LARGEST_INT32, Math.min(Number(BigInt(ticks) / TICKS_PER_MILLISECOND), LARGEST_INT32))
}
