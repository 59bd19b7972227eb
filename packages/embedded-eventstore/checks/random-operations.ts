import type { StoreModel } from './model.ts'
import { canonicalJson, type Expected, type NameFilter, type Operation, type Place, type Written } from './operation.ts'
import type { SeededRandom } from './seeded-random.ts'

const STREAMS = 40
const APPENDS_REMEMBERED = 300
const TYPES = ['Noted', 'Measured', 'Größe', 'Closed']

type Append = Extract<Operation, { kind: 'append' }>

/**
 * Operations in a mix as from clients. Names, revisions and ids often match earlier ones. `isComparable` excludes
 * operations for which the documentation names different answers of server and node.
 */
export class RandomOperations {
  private readonly random: SeededRandom
  private readonly ids: SeededRandom
  private readonly model: StoreModel
  private readonly run: string
  private readonly isComparable: boolean
  private readonly streams: string[] = []
  private readonly recentAppends: Append[] = []
  private readonly places: Place[] = []
  private created = 0

  /** A server keeps ids across streams, so `ids` must not repeat those of an earlier run. */
  constructor(random: SeededRandom, ids: SeededRandom, model: StoreModel, run: string, isComparable: boolean) {
    this.random = random
    this.ids = ids
    this.model = model
    this.run = run
    this.isComparable = isComparable
  }

  next(): Operation {
    const kind = this.random.below(1000)
    if (kind < 400) return this.append()
    if (kind < 440) return this.metadataChange()
    if (kind < 475) return this.deletion(kind < 465 ? 'delete' : 'tombstone')
    if (kind < 775) return this.read()
    if (kind < 835) return { kind: 'metadata', stream: this.stream() }
    if (kind < 915) return this.readAll()
    if (kind < 965) return this.subscribe()
    return this.subscribeAll()
  }

  /** Records an answered append. Later appends repeat it, and reads begin at its end. */
  wrote(operation: Append, revision: number): void {
    if (operation.events.length === 0) return
    this.recentAppends.push(operation)
    if (this.recentAppends.length > APPENDS_REMEMBERED) this.recentAppends.shift()
    if (revision < this.model.head(operation.stream)) return
    this.places.push({ stream: operation.stream, revision })
    if (this.places.length > APPENDS_REMEMBERED * 3) this.places.splice(this.random.below(APPENDS_REMEMBERED), 1)
  }

  private append(): Operation {
    if (this.recentAppends.length > 0 && this.random.oneIn(6)) return this.repeat(this.random.pick(this.recentAppends))
    const stream = this.random.oneIn(60) ? `$$${this.stream()}` : this.stream()
    const count = this.random.oneIn(40) ? 0 : this.random.oneIn(4) ? 1 + this.random.below(8) : 1
    return this.appended(
      stream,
      this.expected(stream),
      Array.from({ length: count }, () => this.event()),
    )
  }

  private deletion(kind: 'delete' | 'tombstone'): Operation {
    const isOfMetadata = this.random.oneIn(80) && !this.isComparable
    const stream = isOfMetadata ? `$$${this.stream()}` : this.stream()
    const expected = this.random.oneIn(2) ? 'any' : this.expected(stream)
    return { kind, stream, expected: expected === 'stream_exists' ? 'any' : expected }
  }

  /** The same append again, or with another revision or stream, or with more or fewer events. */
  private repeat(original: Append): Operation {
    const { stream, expected, events } = original
    const change = this.random.below(8)
    if (change < 4) return this.appended(stream, expected, events)
    if (change === 4) return this.appended(stream, this.expected(stream), events)
    if (change === 5) return this.appended(stream, expected, [...events, this.event()])
    if (change === 6) return this.appended(stream, expected, events.slice(0, -1))
    return this.appended(this.stream(), 'any', events)
  }

  private appended(stream: string, expected: Expected, events: Written[]): Operation {
    const original = stream.replace(/^\$\$/, '')
    if (this.isComparable && original !== stream && this.model.isTombstoned(original))
      return { kind: 'metadata', stream: original }
    return { kind: 'append', stream, expected, events, call: this.random.oneIn(5) ? 'single' : 'batch' }
  }

  private metadataChange(): Operation {
    const stream = this.stream()
    const head = this.model.head(stream)
    const metadata: Record<string, unknown> = {}
    if (this.random.oneIn(2)) metadata['$maxCount'] = 1 + this.random.below(12)
    if (this.random.oneIn(3)) metadata['$tb'] = Math.max(0, head - 4 + this.random.below(8))
    if (this.random.oneIn(4)) metadata['$maxAge'] = 86_400
    if (this.random.oneIn(4)) metadata['$cacheControl'] = 30
    if (this.random.oneIn(4)) metadata['owner'] = { team: `t${this.random.below(5)}`, of: ['a', 1.5, null] }
    const event = {
      id: this.ids.uuid(),
      type: '$metadata',
      isJson: !this.random.oneIn(8),
      data: canonicalJson(metadata),
      metadata: '',
    }
    return this.appended(`$$${stream}`, this.random.oneIn(3) ? this.expected(`$$${stream}`) : 'any', [event])
  }

  private read(): Operation {
    const stream = this.random.oneIn(25) ? `$$${this.stream()}` : this.stream()
    const backwards = this.random.oneIn(2)
    const from = this.random.pick(['start', backwards ? 'end' : 'start', this.near(stream), this.near(stream)] as const)
    const edge = this.random.oneIn(100)
    return {
      kind: 'read',
      stream,
      backwards,
      from: edge ? 'end' : from,
      count: this.random.oneIn(100) ? 0 : this.count(),
      resolve: this.random.oneIn(2),
    }
  }

  private readAll(): Operation {
    const from =
      this.places.length > 0 && !this.random.oneIn(5)
        ? this.random.pick(this.places)
        : this.random.pick(['start', 'end'] as const)
    return {
      kind: 'read-all',
      backwards: this.random.oneIn(2),
      from,
      count: this.count(),
      resolve: this.random.oneIn(2),
    }
  }

  /** Only subscriptions that end. A subscription to a soft-deleted stream waits for its return. */
  private subscribe(): Operation {
    const stream = this.stream()
    const isReadable = this.model.head(stream) >= 0 && !this.model.isSoftDeleted(stream)
    if (!isReadable && !this.model.isTombstoned(stream)) return this.read()
    return {
      kind: 'subscribe',
      stream,
      after: this.random.oneIn(3) ? 'start' : this.near(stream),
      resolve: this.random.oneIn(2),
    }
  }

  private subscribeAll(): Operation {
    const recent = this.places.slice(-40)
    if (recent.length === 0) return this.read()
    const after = this.random.oneIn(150) ? 'start' : this.random.pick(recent)
    return {
      kind: 'subscribe-all',
      after,
      resolve: this.random.oneIn(2),
      filter: this.random.oneIn(4) ? undefined : this.filter(),
    }
  }

  private filter(): NameFilter {
    const stream = this.stream()
    return this.random.pick<NameFilter>([
      { on: 'stream', prefixes: [stream.slice(0, -1), `$$${stream}`] },
      { on: 'stream', regex: `${this.run}-[0-9]*[02468]$` },
      { on: 'type', prefixes: ['No', 'Gr'] },
      { on: 'type', regex: '^(Measured|Größe)$' },
    ])
  }

  private event(): Written {
    if (this.random.oneIn(8)) {
      const target = this.random.oneIn(12) ? `$$${this.stream()}` : this.stream()
      return {
        id: this.ids.uuid(),
        type: '$>',
        isJson: false,
        data: `${Math.max(0, this.near(target))}@${target}`,
        metadata: '',
      }
    }
    const isJson = !this.random.oneIn(5)
    const filler = 'x'.repeat(this.random.oneIn(30) ? this.random.below(6000) : this.random.below(80))
    return {
      id: this.ids.uuid(),
      type: this.random.pick(TYPES),
      isJson,
      data: isJson ? canonicalJson({ n: this.random.below(1000), filler }) : `bytes ${filler}`,
      metadata: this.random.oneIn(3) ? JSON.stringify({ $correlationId: this.ids.uuid() }) : '',
    }
  }

  private expected(stream: string): Expected {
    const head = this.model.head(stream)
    if (!this.random.oneIn(4)) return head < 0 ? 'no_stream' : head
    return this.random.pick<Expected>(['any', 'any', 'no_stream', 'stream_exists', Math.max(0, head - 1), head + 1])
  }

  private near(stream: string): number {
    return Math.max(0, this.model.head(stream) - this.random.below(12) + 2)
  }

  private count(): number {
    return this.random.oneIn(10) ? 200 : 1 + this.random.below(20)
  }

  /** A name from a set that changes slowly. Tombstoned names leave it in the end. */
  private stream(): string {
    while (this.streams.length < STREAMS) this.streams.push(this.newName())
    const at = this.random.below(STREAMS)
    const stream = this.streams[at] ?? this.newName()
    if (this.random.oneIn(this.model.isTombstoned(stream) ? 20 : 1500)) this.streams[at] = this.newName()
    return stream
  }

  private newName(): string {
    this.created += 1
    return (
      this.random.pick(['', '', '', '', this.isComparable ? 'groesse-' : 'größe-', 'a@b-', 'with space-', '$own-']) +
      `${this.run}-${this.created}`
    )
  }
}
