import type { PoolClient } from 'pg'
import { limited } from '../../platform/kit/time-limits.ts'
import type { LogBatch } from '../../streams/store/log-reading.ts'
import { comparePositions, formatPosition, type Position } from '../../platform/kit/positions.ts'
import { handlerOf, shareOf, writeSharesIn } from '../runtime/batch-writer.ts'
import type { StoredCheckpoint } from '../runtime/checkpoints.ts'
import { stopsAt } from '../runtime/undecodable.ts'
import type { RebuildContext } from './context.ts'
import type { Copy } from './copies.ts'
import { CopyLostError } from './fill.ts'

/** Events between the copy and the serving one that are written while the serving one's writer waits. */
const gapEvents = 300
/** How long a switch waits for an answer of the event store while it holds no lock, in milliseconds. */
const answerMs = 3_000
/** The same while the serving one's writer waits for it. */
const heldAnswerMs = 500

/** It cannot be switched in this moment: outside, what is missing is filled, and it is tried again. */
export class NotYet extends Error {
  override readonly name = 'NotYet'
}

/** What the log holds behind a copy, as much of it as a switch may write under its lock. */
export interface Gap {
  readonly batch: LogBatch | undefined
  /** Everything between the copy and this place is in `batch`. */
  readonly reach: Position
}

/**
 * Asks the event store for all that a switch has to know of it: whether the skips are still those of the copy, and the
 * events that the serving one's writer may have written by the time its checkpoint is locked.
 * @throws NotYet, CopyLostError when an event was skipped that the copy has taken
 */
export async function readGap(context: RebuildContext, copy: Copy, stored: StoredCheckpoint): Promise<Gap> {
  const { eventStore, filter, skips, signal } = context
  const { serving, skipped, position: after } = copy
  const now = skips === undefined ? skipped : await answered(limited(answerMs, skips(serving.name)), signal)
  if (now.size !== skipped.size || [...now].some((position) => !skipped.has(position))) {
    throw new CopyLostError(`an event of ${serving.name} was skipped while its copy was filled: rebuild once more`)
  }
  // Nobody writes to it.
  if (stored.status === 'stopped' || stored.status === 'failed') return { batch: undefined, reach: after }
  const head = await answered(limited(answerMs, eventStore.head(filter, { downTo: after })), signal)
  const upTo = comparePositions(head, stored.position) < 0 ? stored.position : head
  return gapUpTo(context, copy, upTo, answerMs)
}

/**
 * The same up to where the serving one's writer was when its checkpoint was locked: that may be behind what was read. A
 * writer that keeps up with a busy log is always a few events ahead of whoever read it a moment ago.
 */
export async function gapAtLock(context: RebuildContext, copy: Copy, gap: Gap, upTo: Position): Promise<Gap> {
  const isRead = comparePositions(copy.position, upTo) >= 0 || comparePositions(gap.reach, upTo) >= 0
  return isRead ? gap : gapUpTo(context, copy, upTo, heldAnswerMs)
}

async function gapUpTo(
  { eventStore, filter, signal }: RebuildContext,
  { projector, position: after }: Copy,
  upTo: Position,
  limitMs: number,
): Promise<Gap> {
  if (comparePositions(after, upTo) >= 0) return { batch: undefined, reach: after }
  const wants = (type: string) => handlerOf(projector, type) !== undefined
  const ending = new AbortController()
  const batches = eventStore.readLog({ filter, after, upTo, wants, batchSize: gapEvents, signal: ending.signal })
  try {
    // By the clock: a reading looks at its signal only between answers, and may wait longer for a key or for what else the log holds.
    const { value: batch } = await answered(limited(limitMs, batches.next()), signal)
    return batch === undefined ? { batch: undefined, reach: after } : { batch, reach: batch.position }
  } finally {
    ending.abort()
    // It cancels its call as soon as it comes to itself, and nobody waits for that under a lock.
    void batches.return().catch(() => undefined)
  }
}

/** A copy that took hours is not given up for an answer that does not come. */
async function answered<Answer>(asking: Promise<Answer>, signal: AbortSignal | undefined): Promise<Answer> {
  try {
    return await asking
  } catch (cause) {
    signal?.throwIfAborted()
    throw new NotYet('the event store does not answer', { cause })
  }
}

/** Writes the few events that the copy lacks up to the place of the serving one, whose writer waits meanwhile. */
export async function closeGap(
  client: PoolClient,
  { projector, skipped, position: after }: Copy,
  { batch, reach }: Gap,
  upTo: Position,
): Promise<void> {
  if (comparePositions(after, upTo) >= 0) return
  if (batch === undefined || comparePositions(reach, upTo) < 0) throw new NotYet('too far behind')
  const isWanted = (position: Position) =>
    comparePositions(position, upTo) <= 0 && !skipped.has(formatPosition(position))
  if (batch.undecodable.some((error) => isWanted(error.head.position) && stopsAt(projector, error.head, error)))
    throw new NotYet('an event that cannot be read')
  const events = batch.events.filter(
    (event) => handlerOf(projector, event.type) !== undefined && isWanted(event.position),
  )
  await writeSharesIn(client, [shareOf(projector, events, after, upTo)])
}
