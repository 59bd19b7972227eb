import {
  canonicalJson,
  eventText,
  resolvedText,
  type Answer,
  type Expected,
  type NameFilter,
  type Operation,
  type Place,
  type Written,
} from './operation.ts'

type ModelEvent = Written & { stream: string; revision: number; isTombstone: boolean }
type Metadata = { $maxCount?: number; $tb?: number; [key: string]: unknown }

/** 2^63 - 1 as a JavaScript number: the `$tb` of a soft-deleted stream. */
const EVERYTHING = Number(9223372036854775807n)
const DELETED: Answer = { outcome: 'refused', type: 'stream-deleted' }

/**
 * The expected answers of a store, in memory and without any of its code. It keeps one list of events and scans all of
 * it each time.
 */
export class StoreModel {
  readonly log: ModelEvent[] = []
  private readonly streams = new Map<string, ModelEvent[]>()
  private readonly ended = new Set<string>()
  private readonly places = new Map<string, number>()
  private recent = new Map<string, ModelEvent>()

  apply(operation: Operation): Answer {
    switch (operation.kind) {
      case 'append':
        return this.append(operation.stream, operation.expected, operation.events)
      case 'delete':
        return this.softDelete(operation.stream, operation.expected)
      case 'tombstone':
        return this.tombstone(operation.stream, operation.expected)
      case 'read':
        return this.read(operation)
      case 'metadata':
        return this.readMetadata(operation.stream)
      case 'read-all':
        return this.readAll(operation)
      case 'subscribe':
        return this.subscribe(operation)
      case 'subscribe-all':
        return this.subscribeAll(operation)
    }
  }

  /** A restart drops the ids that identify repeats of appends without a revision. */
  restart(): void {
    this.recent = new Map()
  }

  /** Revision of the last event, or -1. A tombstone does not count as an event. */
  head(stream: string): number {
    return (this.streams.get(stream)?.length ?? 0) - 1
  }

  isTombstoned(stream: string): boolean {
    return this.ended.has(stream)
  }

  isSoftDeleted(stream: string): boolean {
    return this.metadataOf(stream).$tb === EVERYTHING
  }

  /** All events of `$all`. */
  everything(): string[] {
    return this.log.map(textOf)
  }

  private append(stream: string, expected: Expected, events: Written[]): Answer {
    const refusal = this.check(stream, expected)
    if (refusal !== undefined) return refusal
    const head = this.head(stream)
    const repeated = this.repeatedRevision(stream, expected, events)
    if (repeated === 'conflict') return wrongVersion(head)
    if (repeated !== undefined)
      return { outcome: 'written', revision: repeated, hasPosition: this.isReadable(stream, repeated) }
    const isRevived = this.isSoftDeleted(stream)
    const original = stream.startsWith('$$') ? stream.slice(2) : undefined
    const isOriginalRevived = original !== undefined && this.isSoftDeleted(original)
    for (const event of events) this.write(stream, event)
    if (isRevived) this.revive(stream, head + 1)
    if (original !== undefined && isOriginalRevived) this.revive(original, this.head(original) + 1)
    // The client reports "no stream" as 0.
    return { outcome: 'written', revision: Math.max(0, head + events.length), hasPosition: true }
  }

  /** The reason why nothing may be written, independent of the events. */
  private check(stream: string, expected: Expected): Answer | undefined {
    if (this.ended.has(stream) || (stream.startsWith('$$') && this.ended.has(stream.slice(2)))) return DELETED
    if (expected !== 'stream_exists') return undefined
    if (this.isSoftDeleted(stream)) return DELETED
    return this.head(stream) < 0 && this.head(`$$${stream}`) < 0 && !this.ended.has(`$$${stream}`)
      ? wrongVersion(-1)
      : undefined
  }

  /**
   * The last revision of a repeated append from the first time. 'conflict' for a mismatch, undefined for a new append.
   */
  private repeatedRevision(stream: string, expected: Expected, events: Written[]): number | 'conflict' | undefined {
    const head = this.head(stream)
    if (expected === 'any' || expected === 'stream_exists') {
      const known = events
        .map(({ id }) => this.recent.get(id))
        .map((event) => (event?.stream === stream ? event.revision : undefined))
      if (known[0] === undefined) return undefined
      return known.includes(undefined) ? 'conflict' : known.at(-1)
    }
    const before = expected === 'no_stream' ? -1 : expected
    if (before === head) return undefined
    if (before > head || events.length === 0) return 'conflict'
    const written = events.map(({ id }, offset) => this.streams.get(stream)?.[before + 1 + offset]?.id === id)
    if (written.every(Boolean)) return before + events.length
    return written[0] === false && expected === 'no_stream' && this.isSoftDeleted(stream) ? undefined : 'conflict'
  }

  private softDelete(stream: string, expected: Expected): Answer {
    const refusal = this.check(stream, expected) ?? this.checkRevision(stream, expected)
    if (refusal !== undefined) return refusal
    if (this.ended.has(`$$${stream}`)) return DELETED
    if (this.head(stream) < 0 && this.head(`$$${stream}`) < 0) return wrongVersion(-1)
    this.writeMetadata(stream, { $tb: EVERYTHING })
    return { outcome: 'done' }
  }

  private tombstone(stream: string, expected: Expected): Answer {
    const refusal = this.check(stream, expected) ?? this.checkRevision(stream, expected)
    if (refusal !== undefined) return refusal
    const event: ModelEvent = {
      stream,
      revision: this.head(stream) + 1,
      id: '',
      type: '$streamDeleted',
      isJson: false,
      data: '',
      metadata: '',
      isTombstone: true,
    }
    this.log.push(event)
    this.ended.add(stream)
    return { outcome: 'done' }
  }

  private checkRevision(stream: string, expected: Expected): Answer | undefined {
    const repeated = this.repeatedRevision(stream, expected, [
      { id: 'new', type: '', isJson: false, data: '', metadata: '' },
    ])
    return repeated === undefined ? undefined : wrongVersion(this.head(stream))
  }

  private write(stream: string, event: Written): void {
    const events = this.streams.get(stream) ?? []
    const written = { ...event, stream, revision: events.length, isTombstone: false }
    this.streams.set(stream, events)
    events.push(written)
    this.places.set(`${stream}/${written.revision}`, this.log.push(written) - 1)
    if (!this.recent.has(event.id)) this.recent.set(event.id, written)
  }

  private writeMetadata(stream: string, metadata: Metadata): void {
    this.write(`$$${stream}`, {
      id: `own ${this.log.length}`,
      type: '$metadata',
      isJson: true,
      data: canonicalJson(metadata),
      metadata: '',
    })
  }

  /** Adds `$tb` to the last metadata, with any content type. Data that is not JSON stays unchanged. */
  private revive(stream: string, firstRevision: number): void {
    const written = this.streams.get(`$$${stream}`)?.at(-1)?.data ?? ''
    if (written.startsWith('{')) this.writeMetadata(stream, { ...JSON.parse(written), $tb: firstRevision })
  }

  private isReadable(stream: string, revision: number): boolean {
    const events = this.readable(stream)
    return Array.isArray(events) && events.some((event) => event.revision === revision)
  }

  private metadataOf(stream: string): Metadata {
    if (stream.startsWith('$$')) return { $maxCount: 1 }
    if (this.ended.has(`$$${stream}`)) return {}
    const last = this.streams.get(`$$${stream}`)?.at(-1)
    return last?.isJson === true ? JSON.parse(last.data) : {}
  }

  /** The readable events of a stream, or the reason why there are none. */
  private readable(stream: string): ModelEvent[] | Answer {
    if (this.ended.has(stream) || (stream.startsWith('$$') && this.ended.has(stream.slice(2)))) return DELETED
    const events = this.streams.get(stream)
    const { $maxCount = Infinity, $tb = 0 } = this.metadataOf(stream)
    if (events === undefined || $tb === EVERYTHING) return { outcome: 'refused', type: 'stream-not-found' }
    return events.slice(Math.max(0, $tb, events.length - $maxCount))
  }

  private read({ stream, backwards, from, count, resolve }: Extract<Operation, { kind: 'read' }>): Answer {
    if (count < 1 || (from === 'end' && !backwards)) return { outcome: 'refused', type: 'unknown' }
    const events = this.readable(stream)
    if (!Array.isArray(events)) return events
    const found = backwards
      ? events.filter(({ revision }) => from === 'end' || revision <= (from === 'start' ? 0 : from)).toReversed()
      : events.filter(({ revision }) => typeof from !== 'number' || revision >= from)
    return this.shown(found.slice(0, count), resolve)
  }

  private readMetadata(stream: string): Answer {
    const events = this.readable(`$$${stream}`)
    if (!Array.isArray(events))
      return events.outcome === 'refused' && events.type === 'stream-not-found'
        ? { outcome: 'metadata', metadata: '' }
        : events
    const last = events.at(-1)
    return { outcome: 'metadata', metadata: last?.isJson === true ? asClientNames(last.data) : '' }
  }

  private readAll({ backwards, from, count, resolve }: Extract<Operation, { kind: 'read-all' }>): Answer {
    const at = from === 'start' ? 0 : from === 'end' ? this.log.length : this.indexOf(from)
    const found = backwards ? this.log.slice(Math.max(0, at - count), at).toReversed() : this.log.slice(at, at + count)
    return this.shown(found, resolve)
  }

  private subscribe({ stream, after, resolve }: Extract<Operation, { kind: 'subscribe' }>): Answer {
    const events = this.readable(stream)
    if (!Array.isArray(events)) return events
    return this.shown(
      events.filter(({ revision }) => after === 'start' || revision > after),
      resolve,
    )
  }

  private subscribeAll({ after, resolve, filter }: Extract<Operation, { kind: 'subscribe-all' }>): Answer {
    const behind = this.log.slice(after === 'start' ? 0 : this.indexOf(after) + 1)
    return this.shown(
      behind.filter((event) => filter === undefined || passes(filter, event)),
      resolve,
    )
  }

  private indexOf(place: Place): number {
    const index = this.places.get(`${place.stream}/${place.revision}`)
    if (index === undefined) throw new Error(`no event at ${place.stream}/${place.revision}`)
    return index
  }

  private shown(events: ModelEvent[], resolve: boolean): Answer {
    return {
      outcome: 'events',
      events: events.map((event) =>
        resolve && event.type === '$>' ? resolvedText(this.targetOf(event), textOf(event)) : textOf(event),
      ),
    }
  }

  private targetOf(link: ModelEvent): string | undefined {
    const at = link.data.indexOf('@')
    const events = this.readable(link.data.slice(at + 1))
    const target = Array.isArray(events)
      ? events.find(({ revision }) => revision === Number(link.data.slice(0, at)))
      : undefined
    return target === undefined ? undefined : textOf(target)
  }
}

function passes(filter: NameFilter, event: ModelEvent): boolean {
  const name = filter.on === 'stream' ? event.stream : event.type
  return 'regex' in filter
    ? new RegExp(filter.regex, 'u').test(name)
    : filter.prefixes.some((prefix) => name.startsWith(prefix))
}

function textOf(event: ModelEvent): string {
  return eventText({ ...event, revision: event.isTombstone ? 'end' : String(event.revision) })
}

/** Renames known metadata members to the client's names. */
function asClientNames(json: string): string {
  const names: Record<string, string> = {
    $maxCount: 'maxCount',
    $maxAge: 'maxAge',
    $tb: 'truncateBefore',
    $cacheControl: 'cacheControl',
  }
  const values: Metadata = JSON.parse(json)
  return canonicalJson(Object.fromEntries(Object.entries(values).map(([key, value]) => [names[key] ?? key, value])))
}

function wrongVersion(actual: number): Answer {
  return { outcome: 'refused', type: 'wrong-expected-version', actual }
}
