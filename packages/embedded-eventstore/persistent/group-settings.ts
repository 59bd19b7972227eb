import type { FilteredName } from '../streams/event-filter.ts'

/** How a group distributes messages over its consumers. */
export const STRATEGIES = ['DispatchToSingle', 'RoundRobin', 'Pinned', 'PinnedByCorrelation'] as const
export type Strategy = (typeof STRATEGIES)[number]

/** The filter of a group on `$all`, as the client sent it. */
export type FilterDefinition = { on: FilteredName; regex: string; prefixes: string[] }

/** The source of a group: one stream, or `$all` with or without a filter. */
export type GroupSource = { kind: 'stream'; stream: string } | { kind: 'all'; filter: FilterDefinition | undefined }

/** All settings of a group. Times are in milliseconds, sizes in messages. */
export type GroupSettings = {
  source: GroupSource
  group: string
  resolveLinks: boolean
  /** First revision or position, in the server's format. LIVE for new events only. */
  startPosition: string
  extraStatistics: boolean
  messageTimeout: number
  maxRetryCount: number
  /** 0: checkpoints depend only on the count. */
  checkpointAfter: number
  minCheckpointCount: number
  maxCheckpointCount: number
  /** 0: no limit. */
  maxSubscriberCount: number
  liveBufferSize: number
  readBatchSize: number
  historyBufferSize: number
  strategy: Strategy
}

/** Name of the pseudo-stream under which groups on `$all` are listed. */
export const ALL_STREAM = '$all'

/** Start of a group that reads only new events. */
export const LIVE = -1

const LARGEST_BATCH = 100
const DEFAULT_BATCH = 20

/** Name of the stream to which a group belongs. */
export function streamOf(source: GroupSource): string {
  return source.kind === 'all' ? ALL_STREAM : source.stream
}

/** Key of a group. It is also the id of the group's subscriptions and part of the names of its streams. */
export function groupKey(stream: string, group: string): string {
  return `${stream}::${group}`
}

/** A place in the source in the server's format: a revision, or commit and prepare position. */
export function formatPosition(source: GroupSource, position: number): string {
  if (source.kind === 'all') return `C:${position}/P:${position}`
  return position === Number.MAX_SAFE_INTEGER ? '9223372036854775807' : String(position)
}

/**
 * Parses the output of `formatPosition` or of the server into a revision or commit position. Undefined for other text.
 */
export function parsePosition(source: GroupSource, text: string): number | undefined {
  const match = source.kind === 'all' ? /^C:(-?\d+)\/P:-?\d+$/.exec(text) : /^(-?\d+)$/.exec(text)
  return match?.[1] === undefined ? undefined : Math.min(Number(match[1]), Number.MAX_SAFE_INTEGER)
}

/** The first place from which a group reads. LIVE for new events only. */
export function startOf(settings: GroupSettings): number {
  return parsePosition(settings.source, settings.startPosition) ?? 0
}

/** Number of messages in one read. */
export function batchSize(settings: GroupSettings): number {
  const asked = settings.readBatchSize === 0 ? DEFAULT_BATCH : settings.readBatchSize
  return Math.max(1, Math.min(Math.max(settings.readBatchSize, 10), asked, LARGEST_BATCH))
}
