import { START, type AllStreamResolvedEvent, type EventStoreDBClient, type RecordedEvent as ClientEvent } from '@eventstore/db-client'
import { backoffMs, pause } from './backoff.ts'
import type { Catalogue } from './catalogue.ts'
import { isRefusal } from './client-errors.ts'
import type { Codec } from './codec.ts'
import { headOf, isSystemEvent, positionOf } from './decoding.ts'
import { EventStoreRefusedError, EventStoreUnavailableError, UndecodableEventError, UnknownEventTypeError } from './errors.ts'
import type { RecordedEvent } from './events.ts'
import { comparePositions, startOfLog, type Position } from './positions.ts'
import { Pull } from './pull.ts'
import type { ReadTiming } from './reading.ts'
import type { EventFilter } from './subscription-options.ts'

/** A reading of a piece of the log that has an end. */
export interface LogRead {
  readonly filter: EventFilter
  /** Exclusive. */
  readonly after: Position
  /** Inclusive; a place that the log has reached. */
  readonly upTo: Position
  /** Events of other types are neither decoded nor handed over; a type that the catalogue does not know is always told. */
  readonly wants: (type: string) => boolean
  /** Most events of one batch, wanted or not. */
  readonly batchSize: number
  readonly signal?: AbortSignal
}

/** What lies between the end of the batch before and `position`, both in the order of the log. */
export interface LogBatch {
  readonly events: readonly RecordedEvent[]
  readonly undecodable: readonly UndecodableEventError[]
  /** Events that were looked at. */
  readonly considered: number
  readonly position: Position
}

const backoff = { firstMs: 50, mostMs: 1_000 }
/** Events that may wait on each side of the client's transform, so that reading goes on while a batch is worked on. */
const bufferedEvents = 2_048

/**
 * Reads a piece of the log in large batches; the last one ends at `upTo` exactly. A broken connection is picked up where
 * it broke.
 * @throws EventStoreUnavailableError, EventStoreRefusedError, the signal's reason
 */
export async function* readLogPiece(
  client: EventStoreDBClient,
  { codec, catalogue }: { readonly codec: Codec; readonly catalogue: Catalogue },
  { filter, after, upTo, wants, batchSize, signal }: LogRead,
  timing: ReadTiming,
): AsyncGenerator<LogBatch, void, undefined> {
  let position = after
  let attempt = 0
  let progressAt = performance.now()
  const isOurs = passing(filter)
  while (comparePositions(position, upTo) < 0) {
    const pages = readPages(client, position, upTo, batchSize, timing.silenceMs, signal)
    try {
      for await (const page of pages) {
        const wanted = page.filter((event) => isOurs(event.streamId) && (wants(event.type) || catalogue.entry(event.type) === undefined))
        const decoded = await decodeAll(codec, catalogue, wanted).catch(broken)
        const last = page.at(-1)
        position = last === undefined ? upTo : positionOf(last)
        attempt = 0
        progressAt = performance.now()
        yield { ...decoded, considered: page.length, position }
      }
      if (comparePositions(position, upTo) < 0) yield { events: [], undecodable: [], considered: 0, position: upTo }
      return
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof BrokenLogRead)) throw error
      if (performance.now() - progressAt >= timing.budgetMs) throw new EventStoreUnavailableError('$all', { cause: error.cause })
    }
    attempt += 1
    await pause(backoffMs(backoff, attempt), signal)
    signal?.throwIfAborted()
  }
}

class BrokenLogRead extends Error {}

function broken(cause: unknown): never {
  throw new BrokenLogRead('broken off', { cause })
}

async function* readPages(
  client: EventStoreDBClient,
  after: Position,
  upTo: Position,
  size: number,
  silenceMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<ClientEvent[], void, undefined> {
  const isStart = comparePositions(after, startOfLog) === 0
  const read = client.readAll({ fromPosition: isStart ? START : { ...after } }, { highWaterMark: bufferedEvents })
  const pull = new Pull<AllStreamResolvedEvent>(read)
  let page: ClientEvent[] = []
  try {
    while (true) {
      for (let item = pull.take(); item !== undefined; item = pull.take()) {
        const { event } = item
        if (event === undefined) continue
        const position = positionOf(event)
        // A forwards read from a position begins with what is at it.
        if (comparePositions(position, after) <= 0 || isSystemEvent(event)) continue
        if (comparePositions(position, upTo) > 0) return yield page
        page.push(event)
        if (page.length < size) continue
        yield page
        page = []
      }
      const more = await pull.more(silenceMs, signal)
      signal?.throwIfAborted()
      if (more === 'silence') throw new Error('silence')
      if (more === 'end') return yield page
    }
  } catch (error) {
    signal?.throwIfAborted()
    if (isRefusal(error)) throw new EventStoreRefusedError('reading $all', { cause: error })
    return broken(error)
  } finally {
    pull.discard()
    if (!read.readableEnded) await read.cancel().catch(() => undefined)
  }
}

/** An error of the vault itself rejects: the piece is read again. */
async function decodeAll(codec: Codec, catalogue: Catalogue, stored: readonly ClientEvent[]): Promise<Pick<LogBatch, 'events' | 'undecodable'>> {
  const undecodable: UndecodableEventError[] = []
  const refuse = (error: unknown): undefined => {
    if (!(error instanceof UndecodableEventError)) throw error
    undecodable.push(error)
  }
  const begun = stored.map((event) => {
    try {
      if (catalogue.entry(event.type) === undefined) throw new UnknownEventTypeError(headOf(event))
      const decoded = codec.decode(event)
      return decoded instanceof Promise ? decoded.catch(refuse) : decoded
    } catch (error) {
      return refuse(error)
    }
  })
  const isAtOnce = !begun.some((event) => event instanceof Promise)
  const all = isAtOnce ? begun : await Promise.all(begun)
  const events = all.filter((event): event is RecordedEvent => event !== undefined && !(event instanceof Promise))
  return { events, undecodable: undecodable.sort((a, b) => comparePositions(a.head.position, b.head.position)) }
}

function passing({ streamPrefixes }: EventFilter): (stream: string) => boolean {
  if (streamPrefixes.length === 0) return () => true
  return (stream) => streamPrefixes.some((prefix) => stream.startsWith(prefix))
}
