import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import {
  BACKWARDS,
  END,
  EventStoreDBClient,
  FORWARDS,
  binaryEvent,
  eventTypeFilter,
  jsonEvent,
  streamNameFilter,
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  type AppendExpectedRevision,
  type EventData,
  type ExpectedRevision,
  type Filter,
  type Position,
  type RecordedEvent,
  type ResolvedEvent,
  type StreamSubscription,
} from '@eventstore/db-client'
import { officialAddress } from '../official-address.ts'
import {
  canonicalJson,
  eventText,
  resolvedText,
  type Answer,
  type Expected,
  type ExpectedOfDelete,
  type NameFilter,
  type Operation,
  type Place,
  type Written,
} from './operation.ts'

type Resolved = ResolvedEvent | AllStreamResolvedEvent
type Subscription = StreamSubscription | AllStreamSubscription
type Performed = { answer: Answer; message: string | undefined }

const TOMBSTONE = 2n ** 63n - 1n
/** Foreign events that may lie between those of the run in `$all` of a real server. */
const FOREIGN = 200
/** After a soft delete a real server's writer may use the metadata from before it for a moment. */
const DELETE_DELAY_MS = 500

/** A store through the official client. Performs operations and normalises their answers. */
export class StoreUnderCheck {
  readonly client: EventStoreDBClient
  private readonly run: string
  private readonly isReal: boolean
  private positions = new Map<string, Position>()
  private heads = new Map<string, number>()
  private readonly deletedUntil = new Map<string, number>()
  private latest = -1n
  /** Start of the run. The `$all` of a real server contains earlier events. */
  private origin: Position | 'start' = 'start'

  /** `run` is part of the name of every stream of this run. All other streams are foreign. */
  constructor(url: string, run: string, isReal: boolean) {
    this.client = EventStoreDBClient.connectionString(officialAddress(url))
    this.run = run
    this.isReal = isReal
  }

  /** The same store after a restart, over a new connection. */
  reconnected(url: string): StoreUnderCheck {
    const store = new StoreUnderCheck(url, this.run, this.isReal)
    store.positions = this.positions
    store.heads = this.heads
    store.latest = this.latest
    return store
  }

  /** Marks the present end of `$all` as the start of the run. */
  async begin(): Promise<void> {
    for await (const { event } of this.client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }))
      this.origin = event?.position ?? 'start'
  }

  /** Throws on anything that is not an answer of a store, such as a lost connection. */
  async perform(operation: Operation): Promise<Performed> {
    if (this.isReal && 'stream' in operation) await this.waitForDelete(operation)
    try {
      return { answer: await this.ask(operation), message: undefined }
    } catch (error) {
      if (!(error instanceof Error) || !('type' in error) || error.type === 'unavailable')
        throw new Error(`no answer to ${JSON.stringify(operation)}`, { cause: error })
      const actual =
        'actualVersion' in error
          ? { actual: error.actualVersion === 'no_stream' ? -1 : Number(error.actualVersion) }
          : {}
      return { answer: { outcome: 'refused', type: String(error.type), ...actual }, message: error.message }
    }
  }

  /** All events of this run in `$all`, in order. */
  async everything(): Promise<string[]> {
    const texts: string[] = []
    for await (const event of this.client.readAll({ fromPosition: this.origin }))
      if (this.isOwn(event)) texts.push(textOf(event))
    return texts
  }

  private async waitForDelete(operation: Extract<Operation, { stream: string }>): Promise<void> {
    const original = operation.stream.replace(/^\$\$/, '')
    const deletedAt = this.deletedUntil.get(original) ?? 0
    if (operation.kind === 'delete') this.deletedUntil.set(original, performance.now() + DELETE_DELAY_MS)
    if (deletedAt > performance.now()) await sleep(deletedAt - performance.now())
  }

  private async ask(operation: Operation): Promise<Answer> {
    switch (operation.kind) {
      case 'append':
        return this.append(operation)
      case 'delete':
        return this.done(
          this.client.deleteStream(operation.stream, { expectedRevision: revisionOf(operation.expected) }),
        )
      case 'tombstone':
        return this.done(
          this.client.tombstoneStream(operation.stream, { expectedRevision: revisionOf(operation.expected) }),
        )
      case 'read':
        return this.read(operation)
      case 'metadata': {
        const { metadata } = await this.client.getStreamMetadata(operation.stream)
        return { outcome: 'metadata', metadata: metadata === undefined ? '' : canonicalJson(metadata) }
      }
      case 'read-all':
        return this.readAll(operation)
      case 'subscribe': {
        const { stream, after, resolve } = operation
        const fromRevision = after === 'start' ? after : BigInt(after)
        return untilCaughtUp(
          this.client.subscribeToStream(stream, { fromRevision, resolveLinkTos: resolve }),
          () => true,
        )
      }
      case 'subscribe-all': {
        const { after, resolve, filter } = operation
        const options = {
          fromPosition: after === 'start' ? this.origin : this.positionOf(after),
          resolveLinkTos: resolve,
        }
        return untilCaughtUp(
          this.client.subscribeToAll(filter === undefined ? options : { ...options, filter: clientFilter(filter) }),
          (event) => this.isOwn(event),
        )
      }
    }
  }

  private async append({ stream, expected, events, call }: Extract<Operation, { kind: 'append' }>): Promise<Answer> {
    const options = { expectedRevision: revisionOf(expected) }
    // Credentials make the client use the call for one append. A store without accounts ignores them.
    const way = call === 'single' ? { ...options, credentials: { username: 'admin', password: 'changeit' } } : options
    const { nextExpectedRevision, position } = await this.client.appendToStream(stream, events.map(proposed), way)
    const revision = Number(nextExpectedRevision)
    if (events.length > 0 && position !== undefined && revision > (this.heads.get(stream) ?? -1)) {
      if (position.commit <= this.latest)
        throw new Error(`${stream}/${revision} was written at ${position.commit}, which is not after ${this.latest}`)
      this.latest = position.commit
      this.heads.set(stream, revision)
      this.positions.set(`${stream}/${revision}`, position)
    }
    return { outcome: 'written', revision, hasPosition: position !== undefined }
  }

  private async done(call: Promise<unknown>): Promise<Answer> {
    await call
    return { outcome: 'done' }
  }

  private async read({
    stream,
    backwards,
    from,
    count,
    resolve,
  }: Extract<Operation, { kind: 'read' }>): Promise<Answer> {
    const direction = backwards ? BACKWARDS : FORWARDS
    const fromRevision = typeof from === 'number' ? BigInt(from) : from
    return {
      outcome: 'events',
      events: await texts(
        this.client.readStream(stream, { direction, fromRevision, maxCount: count, resolveLinkTos: resolve }),
      ),
    }
  }

  private async readAll({
    backwards,
    from,
    count,
    resolve,
  }: Extract<Operation, { kind: 'read-all' }>): Promise<Answer> {
    const fromPosition =
      from === 'end' ? from : from === 'start' ? (backwards ? from : this.origin) : this.positionOf(from)
    const maxCount = this.isReal ? count + FOREIGN : count
    const read = this.client.readAll({
      direction: backwards ? BACKWARDS : FORWARDS,
      fromPosition,
      maxCount,
      resolveLinkTos: resolve,
    })
    const found: string[] = []
    let before: bigint | undefined
    for await (const event of read) {
      const at = (event.link ?? event.event)?.position?.commit ?? -1n
      if (before !== undefined && (backwards ? at > before : at < before))
        throw new Error(`$all is out of order at ${at}`)
      before = at
      if (this.isOwn(event) && found.length < count) found.push(textOf(event))
    }
    return { outcome: 'events', events: found }
  }

  private isOwn({ event, link }: Resolved): boolean {
    return (link ?? event)?.streamId.includes(this.run) === true
  }

  private positionOf(place: Place): Position {
    const position = this.positions.get(`${place.stream}/${place.revision}`)
    if (position === undefined) throw new Error(`no known position of ${place.stream}/${place.revision}`)
    return position
  }
}

async function texts(read: AsyncIterable<Resolved>): Promise<string[]> {
  const found: string[] = []
  for await (const event of read) found.push(textOf(event))
  return found
}

/**
 * The events of a subscription before its caught-up message. The client emits that message ahead of events that it
 * still holds.
 */
async function untilCaughtUp(subscription: Subscription, isWanted: (event: Resolved) => boolean): Promise<Answer> {
  const found: string[] = []
  try {
    await new Promise<void>((resolve, reject) => {
      subscription.on('error', reject)
      subscription.on('data', (event: Resolved) => {
        if (isWanted(event)) found.push(textOf(event))
      })
      subscription.on('caughtUp', resolve)
    })
    do await nextTurn()
    while (holdsEvents(subscription))
  } finally {
    await subscription.unsubscribe()
    subscription.destroy()
  }
  return { outcome: 'events', events: found }
}

function holdsEvents(subscription: Subscription): boolean {
  return subscription.readableLength > 0 || ('writableLength' in subscription && subscription.writableLength !== 0)
}

function textOf({ event, link }: Resolved): string {
  return resolvedText(event && recordText(event), link && recordText(link))
}

function recordText(record: RecordedEvent): string {
  const data =
    record.data instanceof Uint8Array ? Buffer.from(record.data).toString('utf8') : canonicalJson(record.data)
  return eventText({
    stream: record.streamId,
    revision: record.revision === TOMBSTONE ? 'end' : String(record.revision),
    id: record.id,
    type: record.type,
    isJson: record.isJson,
    data,
    metadata: record.metadata === undefined ? '' : canonicalJson(record.metadata),
  })
}

function proposed({ id, type, isJson, data, metadata }: Written): EventData {
  const parts = metadata === '' ? { id, type } : { id, type, metadata: JSON.parse(metadata) }
  return isJson ? jsonEvent({ ...parts, data: JSON.parse(data) }) : binaryEvent({ ...parts, data: Buffer.from(data) })
}

function clientFilter(filter: NameFilter): Filter {
  const by = filter.on === 'stream' ? streamNameFilter : eventTypeFilter
  return 'regex' in filter ? by({ regex: filter.regex }) : by({ prefixes: filter.prefixes })
}

function revisionOf(expected: ExpectedOfDelete): ExpectedRevision
function revisionOf(expected: Expected): AppendExpectedRevision
function revisionOf(expected: Expected): AppendExpectedRevision {
  return typeof expected === 'number' ? BigInt(expected) : expected
}
