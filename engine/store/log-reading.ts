import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import type { Catalogue } from './catalogue.ts'
import { commandErrorOf, isRefusal } from './client-errors.ts'
import type { Codec } from './codec.ts'
import { isSystemEvent } from './decoding.ts'
import { EventStoreRefusedError, EventStoreUnavailableError } from './errors.ts'
import { frameOf } from './log-frames.ts'
import { LogPage, type LogBatch, type PageRules } from './log-page.ts'
import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import { isLongSilence, type NodeConnection } from './node-connection.ts'
import { Pull } from './pull.ts'
import { endCall, openRawLog, type RawCall } from './raw-calls.ts'
import { readLogBackwards, type ReadTiming } from './reading.ts'
import type { EventFilter } from './subscription-options.ts'

export type { LogBatch } from './log-page.ts'

/** A read of a bounded range of the log. */
export interface LogRead {
  readonly filter: EventFilter
  /** Exclusive. */
  readonly after: Position
  /** Inclusive. The log must have reached this position. */
  readonly upTo: Position
  /**
   * Events of other types are neither decoded nor returned. Types that are not in the catalogue are always returned.
   */
  readonly wants: (type: string) => boolean
  /** Whether personal members of events of this type are decrypted. Default: none. */
  readonly opens?: (type: string) => boolean
  /** Most events of one batch. Up to four times as many may be skipped for it. */
  readonly batchSize: number
  readonly signal?: AbortSignal
}

const backoff = { firstMs: 50, mostMs: 1_000 }

/**
 * Reads a range of the log in large batches. The last batch ends exactly at `upTo`. A broken connection resumes at the
 * same place.
 * @throws EventStoreUnavailableError, EventStoreRefusedError, the signal's reason
 */
export async function* readLogPiece(
  connection: NodeConnection,
  parts: { readonly codec: Codec; readonly catalogue: Catalogue },
  { filter, after, upTo, wants, opens = () => false, batchSize, signal }: LogRead,
  timing: ReadTiming,
): AsyncGenerator<LogBatch, void, undefined> {
  const rules: PageRules = { ...parts, filter, wants, opens, size: batchSize }
  let position = after
  let attempt = 0
  let failingSince: number | undefined
  while (comparePositions(position, upTo) < 0) {
    try {
      for await (const batch of readOnce(connection, rules, { after: position, upTo }, timing, signal)) {
        ;({ position } = batch)
        attempt = 0
        failingSince = undefined
        yield batch
      }
      return
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof BrokenLogRead)) throw error
      failingSince ??= performance.now()
      if (connection.isHurried || performance.now() - failingSince >= timing.budgetMs)
        throw new EventStoreUnavailableError('$all', { cause: error.cause })
    }
    attempt += 1
    await pause(backoffMs(backoff, attempt), signal)
    signal?.throwIfAborted()
  }
}

class BrokenLogRead extends Error {}

interface Piece {
  readonly after: Position
  readonly upTo: Position
}

async function* readOnce(
  connection: NodeConnection,
  rules: PageRules,
  { after, upTo }: Piece,
  timing: ReadTiming,
  signal: AbortSignal | undefined,
): AsyncGenerator<LogBatch, void, undefined> {
  let read: RawCall | undefined
  let pull: Pull<Buffer> | undefined
  let seen = after
  let page = new LogPage(rules)
  try {
    read = await openRawLog(connection, after)
    pull = new Pull<Buffer>(read, connection.whenOverdue)
    while (true) {
      for (let message = pull.take(); message !== undefined; message = pull.take()) {
        const frame = frameOf(message)
        // A forwards read from a position starts with the event at that position.
        if (frame === undefined || frame.isUpTo(after)) continue
        if (!frame.isUpTo(upTo)) return yield await whole(page, upTo)
        page.add(frame, message.length)
        if (!page.isFull) continue
        const batch = await whole(page)
        seen = batch.position
        yield batch
        page = new LogPage(rules)
      }
      const waitsSinceMs = performance.now()
      const more = await pull.more(timing.silenceMs, signal)
      signal?.throwIfAborted()
      if (more === 'silence') {
        if (isLongSilence(performance.now() - waitsSinceMs, timing.silenceMs))
          connection.leaveNodeOf(read, waitsSinceMs)
        throw new Error('silence')
      }
      if (more === 'end') break
      connection.heard(read)
    }
    // The end of the call does not prove that the server sent everything.
    if (await holdsMore(connection, { after: page.last ?? seen, upTo }, timing)) throw new Error('ended before its end')
    yield await whole(page, upTo)
  } catch (error) {
    signal?.throwIfAborted()
    const cause = error instanceof Error ? commandErrorOf(error) : error
    if (isRefusal(cause)) throw new EventStoreRefusedError('reading $all', { cause })
    throw new BrokenLogRead('broken off', { cause })
  } finally {
    pull?.discard()
    if (read !== undefined) await endCall(read)
  }
}

/** The page's batch. If an event cannot be decoded now, the read fails and is repeated. */
async function whole(page: LogPage, end?: Position): Promise<LogBatch> {
  const position = end ?? page.last
  if (position === undefined) throw new Error('a page without an end')
  return page.decoded(position)
}

/** Throws if the log ends before `upTo`: then nobody can say which events are missing up to there. */
async function holdsMore(connection: NodeConnection, { after, upTo }: Piece, timing: ReadTiming): Promise<boolean> {
  if (comparePositions(after, upTo) >= 0) return false
  let hasReached = false
  for await (const frame of readLogBackwards(connection, timing)) {
    hasReached ||= comparePositions(frame.position, upTo) >= 0
    if (!hasReached) break
    if (!isSystemEvent({ type: frame.type, streamId: frame.stream }) && frame.isUpTo(upTo)) return !frame.isUpTo(after)
  }
  if (!hasReached) throw new Error('the log ends before the end of the piece')
  return false
}
