import type { PoolClient } from 'pg'
import { limited } from '../../platform/kit/time-limits.ts'
import type { LogBatch } from '../store/log-reading.ts'
import { comparePositions, formatPosition, type Position } from '../../platform/kit/positions.ts'
import { handlerOf, partOf, writeBatchIn } from '../projections/batch-writer.ts'
import type { StoredCheckpoint } from '../projections/checkpoints.ts'
import { stopsAt } from '../projections/undecodable.ts'
import type { RebuildContext } from './context.ts'
import type { Copy } from './copies.ts'
import { CopyLostError } from './fill.ts'

/** Most missing events that a switch writes while the serving one's writer waits. */
const gapEvents = 300
/** How long a switch without a lock waits for the event store, in milliseconds. */
const answerMs = 3_000
/** The same while the serving one's writer is locked out. */
const heldAnswerMs = 500

/** The switch is not possible at this moment. The missing events are filled without a lock, then it is tried again. */
export class NotYet extends Error {
  override readonly name = 'NotYet'
}

/** The events of the log after a copy, at most as many as a switch may write under its lock. */
export interface Gap {
  readonly batch: LogBatch | undefined
  /** `batch` contains everything between the copy and this position. */
  readonly reach: Position
}

/**
 * Reads everything that a switch needs from the event store. First it checks that the copy was filled with the present
 * skips. Then it reads the events that the writer of the serving copy may write before the switch locks the checkpoint.
 * @throws NotYet; CopyLostError if an event in the copy was skipped since
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
 * Returns the events up to the locked checkpoint of the serving copy. It reads again only if the earlier read ended
 * before that checkpoint. On a busy log the writer is always a few events ahead of an earlier read.
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
  const opens = () => projector.opensPersonal === true
  const ending = new AbortController()
  const batches = eventStore.readLog({ filter, after, upTo, wants, opens, batchSize: gapEvents, signal: ending.signal })
  try {
    // Uses a timer: the read checks its signal only between answers, and may wait longer for a key or for the log.
    const { value: batch } = await answered(limited(limitMs, batches.next()), signal)
    return batch === undefined ? { batch: undefined, reach: after } : { batch, reach: batch.position }
  } finally {
    ending.abort()
    // The read cancels its call as soon as it continues. Nothing waits for that under a lock.
    void batches.return().catch(() => undefined)
  }
}

/** A copy that took hours is not abandoned for a missing answer. */
async function answered<Answer>(asking: Promise<Answer>, signal: AbortSignal | undefined): Promise<Answer> {
  try {
    return await asking
  } catch (cause) {
    signal?.throwIfAborted()
    throw new NotYet('the event store does not answer', { cause })
  }
}

/** Writes the few events between the copy and the checkpoint of the serving one. Its writer waits meanwhile. */
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
  await writeBatchIn(client, [partOf(projector, events, after, upTo)])
}
