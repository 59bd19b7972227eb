import {
  formatPosition,
  parsePosition,
  streamOf,
  ALL_STREAM,
  STRATEGIES,
  type FilterDefinition,
  type GroupSettings,
  type GroupSource,
  type Strategy,
} from './group-settings.ts'

/** A group in the configuration format of the server. Values that are 0, false or empty are omitted. */
export type StoredSettings = Record<string, unknown>

/** The group's entry in the configuration. */
export function toStored(settings: GroupSettings): StoredSettings {
  const { source } = settings
  const filter = source.kind === 'all' ? source.filter : undefined
  const startFrom = source.kind === 'stream' ? parsePosition(source, settings.startPosition) : 0
  const entry: StoredSettings = {
    stream: streamOf(source),
    group: settings.group,
    filter: filter === undefined ? undefined : storedFilter(filter),
    resolveLinkTos: settings.resolveLinks,
    extraStatistics: settings.extraStatistics,
    messageTimeout: settings.messageTimeout,
    startFrom,
    startPosition: settings.startPosition,
    liveBufferSize: settings.liveBufferSize,
    historyBufferSize: settings.historyBufferSize,
    maxRetryCount: settings.maxRetryCount,
    readBatchSize: settings.readBatchSize,
    checkPointAfter: settings.checkpointAfter,
    minCheckPointCount: settings.minCheckpointCount,
    maxCheckPointCount: settings.maxCheckpointCount,
    maxSubscriberCount: settings.maxSubscriberCount,
    namedConsumerStrategy: settings.strategy,
  }
  return Object.fromEntries(
    Object.entries(entry).filter(([, value]) => value !== undefined && value !== 0 && value !== false),
  )
}

/** The group of a configuration entry. Undefined when this node cannot run it. */
export function fromStored(entry: StoredSettings): GroupSettings | undefined {
  const number = (key: string): number => (typeof entry[key] === 'number' ? entry[key] : 0)
  const source = sourceOf(entry)
  const strategy = strategyNamed(
    entry['namedConsumerStrategy'] ?? (entry['preferRoundRobin'] === true ? 'RoundRobin' : 'DispatchToSingle'),
  )
  const group = entry['group'] ?? ''
  if (source === undefined || strategy === undefined || typeof group !== 'string') return undefined
  const startPosition = entry['startPosition'] ?? formatPosition(source, number('startFrom'))
  if (typeof startPosition !== 'string' || parsePosition(source, startPosition) === undefined) return undefined
  return {
    source,
    group,
    resolveLinks: entry['resolveLinkTos'] === true,
    startPosition,
    extraStatistics: entry['extraStatistics'] === true,
    messageTimeout: number('messageTimeout'),
    maxRetryCount: number('maxRetryCount'),
    checkpointAfter: number('checkPointAfter'),
    minCheckpointCount: number('minCheckPointCount'),
    maxCheckpointCount: number('maxCheckPointCount'),
    maxSubscriberCount: number('maxSubscriberCount'),
    liveBufferSize: number('liveBufferSize'),
    readBatchSize: number('readBatchSize'),
    historyBufferSize: number('historyBufferSize'),
    strategy,
  }
}

/** The strategy of this name, if there is one. */
export function strategyNamed(name: unknown): Strategy | undefined {
  return STRATEGIES.find((strategy) => strategy === name)
}

function sourceOf(entry: StoredSettings): GroupSource | undefined {
  const stream = entry['stream']
  if (typeof stream !== 'string' || stream === '') return undefined
  if (stream !== ALL_STREAM) return { kind: 'stream', stream }
  if (entry['filter'] === undefined || entry['filter'] === null) return { kind: 'all', filter: undefined }
  const filter = filterOf(entry['filter'])
  return filter === undefined ? undefined : { kind: 'all', filter }
}

/** `prefixes` is an extension of this node. Joined by commas, a prefix with a comma would come back as two. */
function storedFilter({ on, regex, prefixes }: FilterDefinition): StoredSettings {
  const isRegex = regex !== ''
  const hasComma = prefixes.some((prefix) => prefix.includes(','))
  return {
    context: on === 'stream' ? 'streamid' : 'eventtype',
    type: isRegex ? 'regex' : 'prefix',
    data: isRegex ? regex : prefixes.join(','),
    isAllStream: true,
    ...(hasComma ? { prefixes } : {}),
  }
}

function filterOf(stored: unknown): FilterDefinition | undefined {
  if (typeof stored !== 'object' || stored === null) return undefined
  const values: StoredSettings = { ...stored }
  const { context, type, data, prefixes } = values
  if (typeof data !== 'string') return undefined
  const on = context === 'streamid' ? 'stream' : context === 'eventtype' ? 'type' : undefined
  if (on === undefined) return undefined
  if (type === 'regex') return isRegex(data) ? { on, regex: data, prefixes: [] } : undefined
  if (Array.isArray(prefixes))
    return { on, regex: '', prefixes: prefixes.filter((prefix) => typeof prefix === 'string') }
  return { on, regex: '', prefixes: data.split(',').filter((prefix) => prefix !== '') }
}

function isRegex(source: string): boolean {
  try {
    return new RegExp(source, 'u').source !== ''
  } catch {
    return false
  }
}
