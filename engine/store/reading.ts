import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import { limited } from '../../platform/kit/time-limits.ts'
import { commandErrorOf, ClientStreamTombstoned, isRefusal } from './client-errors.ts'
import { EventStoreRefusedError, EventStoreUnavailableError, StreamTombstonedError } from './errors.ts'
import type { StoredEvent } from './decoding.ts'
import { frameOf, type LogFrame } from './log-frames.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { isLongSilence, type NodeConnection } from './node-connection.ts'
import { Pull } from './pull.ts'
import { endCall, openRawLog, openRawLogBackwards, openRawStream, type RawCall, type StreamRange } from './raw-calls.ts'

export interface ReadTiming {
  /** A read without data for this long is restarted, in milliseconds. */
  readonly silenceMs: number
  /** A read fails after this long without progress, in milliseconds. Its retries and the connection count. */
  readonly budgetMs: number
}

const backoff = { firstMs: 50, mostMs: 1_000 }

/**
 * Stored events of one stream, not decoded; none for a stream that does not exist. A broken read resumes at the same
 * place.
 * @throws EventStoreUnavailableError, StreamTombstonedError, EventStoreRefusedError
 */
export async function* readRawStream(
  connection: NodeConnection,
  stream: string,
  { from, direction, limit }: StreamRange,
  timing: ReadTiming,
): AsyncGenerator<StoredEvent, void, undefined> {
  let next = from
  let left = limit
  yield* resumed(connection, stream, timing, async function* (leftMs) {
    if (left <= 0 || (typeof next === 'bigint' && next < 0n)) return
    const range = { from: next, direction, limit: left }
    const open = () => openRawStream(connection, stream, range)
    for await (const frame of readFrames(connection, stream, open, timing, leftMs)) {
      const event = frame.open()
      next = direction === 'forwards' ? event.revision + 1n : event.revision - 1n
      left -= 1
      yield event
    }
  })
}

/** Events of the first page of a backwards read. A search for new events usually ends there. Later pages are larger. */
const firstPage = 16

/**
 * Stored events of the whole log from the leader, newest first, including system events.
 * @throws EventStoreUnavailableError, EventStoreRefusedError
 */
export async function* readLogBackwards(
  connection: NodeConnection,
  timing: ReadTiming,
): AsyncGenerator<LogFrame, void, undefined> {
  let next: Position | 'end' = 'end'
  let pageSize = firstPage
  let isLogLeft = true
  while (isLogLeft) {
    let count = 0
    const page = resumed(connection, '$all', timing, async function* (leftMs) {
      const from = next
      const open = () => openRawLogBackwards(connection, from, pageSize)
      for await (const frame of readFrames(connection, '$all', open, timing, leftMs)) {
        count += 1
        next = frame.position
        yield frame
      }
    })
    yield* page
    isLogLeft = count >= pageSize
    pageSize = Math.min(pageSize * 4, 2_048)
  }
}

/** Where a read of the log begins: after a position, or with the event at it. */
export type LogStart = { readonly after: Position } | { readonly at: Position }

/**
 * What `take` makes of the events of the whole log from a place on, without those of the server's own streams. Ends where
 * the server ended, which proves nothing about the end of the log. A consumer that stops reading holds the read up.
 * @throws EventStoreUnavailableError, EventStoreRefusedError
 */
export async function* readLogForwards<Taken>(
  connection: NodeConnection,
  start: LogStart,
  timing: ReadTiming,
  take: (frame: LogFrame) => Taken,
): AsyncGenerator<Taken, void, undefined> {
  let seen = 'after' in start ? start.after : undefined
  yield* resumed(connection, '$all', timing, async function* (leftMs) {
    const from = seen ?? ('at' in start ? start.at : start.after)
    for await (const frame of readFrames(connection, '$all', () => openRawLog(connection, from), timing, leftMs)) {
      // A read from a position starts with the event at that position.
      if (seen !== undefined && frame.isUpTo(seen)) continue
      seen = frame.position
      if (!frame.stream.startsWith('$')) yield take(frame)
    }
  })
}

/** Repeats the read until one ends by itself. Progress renews the budget. */
async function* resumed<Event>(
  connection: NodeConnection,
  what: string,
  { budgetMs }: ReadTiming,
  read: (leftMs: () => number) => AsyncGenerator<Event, void, undefined>,
): AsyncGenerator<Event, void, undefined> {
  let attempt = 0
  let progressAt = performance.now()
  const leftMs = (): number => budgetMs - (performance.now() - progressAt)
  while (true) {
    attempt += 1
    const waitMs = backoffMs(backoff, attempt)
    try {
      for await (const event of read(leftMs)) {
        attempt = 0
        yield event
        // The time in which the consumer works on the event does not count.
        progressAt = performance.now()
      }
      return
    } catch (error) {
      if (!(error instanceof BrokenRead)) throw error
      if (connection.isHurried || leftMs() <= waitMs) throw new EventStoreUnavailableError(what, { cause: error.cause })
    }
    await pause(waitMs)
  }
}

class BrokenRead extends Error {}

async function* readFrames(
  connection: NodeConnection,
  what: string,
  open: () => Promise<RawCall>,
  { silenceMs, budgetMs }: ReadTiming,
  leftMs: () => number,
): AsyncGenerator<LogFrame, void, undefined> {
  let read: RawCall | undefined
  let pull: Pull<Buffer> | undefined
  try {
    read = await openWithin(leftMs(), open)
    pull = new Pull<Buffer>(read, connection.whenOverdue)
    while (true) {
      for (let message = pull.take(); message !== undefined; message = pull.take()) {
        const frame = frameOf(message)
        if (frame !== undefined) yield frame
      }
      const waitsSinceMs = performance.now()
      const more = await pull.more(Math.min(silenceMs, leftMs()))
      if (more === 'silence') {
        const waitedMs = performance.now() - waitsSinceMs
        if (isLongSilence(waitedMs, Math.min(silenceMs, budgetMs))) connection.leaveNodeOf(read, waitsSinceMs)
        throw new BrokenRead('silence')
      }
      connection.heard(read)
      if (more === 'end') return
    }
  } catch (error) {
    if (error instanceof BrokenRead) throw error
    const cause = error instanceof Error ? commandErrorOf(error) : error
    if (cause instanceof ClientStreamTombstoned) throw new StreamTombstonedError(what)
    if (isRefusal(cause)) throw new EventStoreRefusedError(`reading ${what}`, { cause })
    throw new BrokenRead('broken off', { cause })
  } finally {
    pull?.discard()
    if (read !== undefined) await endCall(read)
  }
}

/** The search for a node of a cluster may take a minute. A call that is opened too late is ended. */
async function openWithin(limitMs: number, open: () => Promise<RawCall>): Promise<RawCall> {
  const opening = open()
  try {
    return await limited(limitMs, opening)
  } catch (error) {
    const abandon = (call: RawCall): Promise<void> => endCall(call.on('error', () => undefined))
    void opening.then(abandon, () => undefined)
    throw error
  }
}
