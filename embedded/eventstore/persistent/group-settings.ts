/** How messages are spread over the consumers of a group. */
export const STRATEGIES = ['DispatchToSingle', 'RoundRobin', 'Pinned', 'PinnedByCorrelation'] as const
export type Strategy = (typeof STRATEGIES)[number]

/** A filter of a group on `$all`, as it was asked for. */
export type FilterDefinition = { on: 'stream' | 'type'; regex: string; prefixes: string[] }

/** What a group reads from: one stream, or `$all` with or without a filter. */
export type GroupSource = { kind: 'stream'; stream: string } | { kind: 'all'; filter: FilterDefinition | undefined }

/** Everything a group was created with. Times in milliseconds, sizes in messages. */
export type GroupSettings = {
  source: GroupSource
  group: string
  resolveLinks: boolean
  /** First revision or position, as the server writes it; LIVE for what comes from now on. */
  startPosition: string
  extraStatistics: boolean
  messageTimeout: number
  maxRetryCount: number
  /** 0: checkpoints go by count only. */
  checkpointAfter: number
  minCheckpointCount: number
  maxCheckpointCount: number
  /** 0: any number. */
  maxSubscriberCount: number
  liveBufferSize: number
  readBatchSize: number
  historyBufferSize: number
  strategy: Strategy
}

/** Name of the pseudo-stream that groups on everything are listed under. */
export const ALL_STREAM = '$all'

/** Start of a group that only wants what comes from now on. */
export const LIVE = -1

const LARGEST_BATCH = 100
const DEFAULT_BATCH = 20

/** Name of the stream a group belongs to. */
export function streamOf(source: GroupSource): string {
  return source.kind === 'all' ? ALL_STREAM : source.stream
}

/** Key of a group, which is also the id of its subscriptions and part of the names of its streams. */
export function groupKey(stream: string, group: string): string {
  return `${stream}::${group}`
}

/** A place in the source as the server writes it: a revision, or commit and prepare position. */
export function formatPosition(source: GroupSource, position: number): string {
  if (source.kind === 'all') return `C:${position}/P:${position}`
  return position === Number.MAX_SAFE_INTEGER ? '9223372036854775807' : String(position)
}

/** The revision or commit position in what `formatPosition` or the server wrote; undefined when it is neither. */
export function parsePosition(source: GroupSource, text: string): number | undefined {
  const match = source.kind === 'all' ? /^C:(-?\d+)\/P:-?\d+$/.exec(text) : /^(-?\d+)$/.exec(text)
  return match?.[1] === undefined ? undefined : Math.min(Number(match[1]), Number.MAX_SAFE_INTEGER)
}

/** First place a group reads from; LIVE for none. */
export function startOf(settings: GroupSettings): number {
  return parsePosition(settings.source, settings.startPosition) ?? 0
}

/** Messages asked for in one read. */
export function batchSize(settings: GroupSettings): number {
  const asked = settings.readBatchSize === 0 ? DEFAULT_BATCH : settings.readBatchSize
  return Math.max(1, Math.min(Math.max(settings.readBatchSize, 10), asked, LARGEST_BATCH))
}
