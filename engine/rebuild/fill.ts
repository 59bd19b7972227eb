import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import type { LogBatch } from '../store/log-reading.ts'
import type { UndecodableEventError } from '../store/errors.ts'
import type { RecordedEvent } from '../store/events.ts'
import { handlerOf, partOf } from '../projections/batch-writer.ts'
import { failureOf, type ProjectionFailure } from '../projections/checkpoints.ts'
import { isSkipped, type Member, type MemberBatch } from '../projections/feed.ts'
import { RetryingWriter, type PartOfMember } from '../projections/retrying-writer.ts'
import { reportOfUndecodable, stopsAt } from '../projections/undecodable.ts'
import type { RebuildContext } from './context.ts'
import type { Copy } from './copies.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import type { Pool } from 'pg'
import type { Projector } from '../projections/projector.ts'
import { quoted } from '../projections/row-statements.ts'

/** The exact target of a fill. The log must have reached this position. */
export interface FillTarget {
  readonly copy: Copy
  readonly upTo: Position
}

/** Parallel transactions; each one writes one copy. */
const copiesAtOnce = 3
/** A copy with few events stores its position after this many batches of other copies. */
const batchesWithoutPlace = 20

/**
 * Fills copies in one read of the log, each exactly to its target. A copy that cannot process an event ends there with
 * its `failure`. A copy that another process took over is left alone. The other copies continue. Rejects at the end
 * with CopyLostError if a copy was taken over or the disk is full; rejects with the signal's reason.
 */
export async function fill(context: RebuildContext, targets: readonly FillTarget[]): Promise<void> {
  const open = targets.filter(
    ({ copy, upTo }) => copy.failure === undefined && comparePositions(copy.position, upTo) < 0,
  )
  const [first] = open
  if (first === undefined) return
  const { eventStore, filter, signal, batchSize = 5_000, onProgress } = context
  const fills = open.map((target) => new CopyFill(target))
  const writer = writerOf(
    context,
    open.map(({ copy }) => copy),
  )
  const after = open
    .map(({ copy }) => copy.position)
    .reduce((a, b) => (comparePositions(a, b) <= 0 ? a : b), first.copy.position)
  const upTo = open.map((target) => target.upTo).reduce((a, b) => (comparePositions(a, b) >= 0 ? a : b), first.upTo)
  const wanted = new Set(fills.flatMap(({ copy }) => Object.keys(copy.projector.handlers)))
  const opened = new Set(
    fills.flatMap(({ copy: { projector } }) =>
      projector.opensPersonal === true ? Object.keys(projector.handlers) : [],
    ),
  )
  const read = {
    filter,
    after,
    upTo,
    wants: (type: string) => wanted.has(type),
    opens: (type: string) => opened.has(type),
    batchSize,
    ...(signal === undefined ? {} : { signal }),
  }
  let events = 0
  let writing: Promise<void> = Promise.resolve()
  try {
    for await (const batch of ahead(eventStore.readLog(read))) {
      for (const each of fills) each.take(batch)
      const due = fills.filter((each) => each.isDue(batchSize)).flatMap((each) => each.fold())
      // One batch is written while the next one is read.
      if (due.length > 0) {
        await writing
        writing = writeEach(writer, due)
        writing.catch(() => undefined)
      }
      events += batch.considered
      onProgress?.({ phase: 'filling', events, position: batch.position, target: upTo })
      if (fills.every((each) => each.isOver)) break
    }
  } finally {
    await writing
  }
  await writeEach(
    writer,
    fills.flatMap((each) => each.fold()),
  )
  for (const { copy, unreadable } of fills) {
    if (unreadable !== undefined && copy.isActive)
      await writer.fail(copy, failureOf(unreadable.head, reportOfUndecodable(unreadable)))
  }
  signal?.throwIfAborted()
  const lost = open.filter(
    ({ copy, upTo: target }) => copy.failure === undefined && comparePositions(copy.position, target) !== 0,
  )
  if (lost.length > 0)
    throw new CopyLostError(
      `${lost.map(({ copy }) => copy.projector.name).join(', ')} no longer belongs to this process`,
    )
}

/** Another process restarted or removed this copy. */
export class CopyLostError extends Error {
  override readonly name = 'CopyLostError'
}

/** One copy's part of the read: its events that are not written yet. */
class CopyFill {
  readonly copy: Copy
  readonly #upTo: Position
  #events: RecordedEvent[] = []
  #read: Position
  #folded: Position
  #batches = 0
  /** An event of this copy that cannot be decoded. No later event is taken. */
  unreadable: UndecodableEventError | undefined

  constructor({ copy, upTo }: FillTarget) {
    this.copy = copy
    copy.isActive = true
    this.#upTo = upTo
    this.#read = copy.position
    this.#folded = copy.position
  }

  get isOver(): boolean {
    return !this.copy.isActive || this.unreadable !== undefined || comparePositions(this.#read, this.#upTo) >= 0
  }

  take({ events, undecodable, position }: LogBatch): void {
    if (this.isOver) return
    this.unreadable = undecodable.find(
      (error) =>
        this.#isWithin(error.head.position) &&
        !isSkipped(this.copy, error.head) &&
        stopsAt(this.copy.projector, error.head, error),
    )
    for (const event of events) {
      if (this.unreadable !== undefined && comparePositions(event.position, this.unreadable.head.position) > 0) break
      if (
        this.#isWithin(event.position) &&
        handlerOf(this.copy.projector, event.type) !== undefined &&
        !isSkipped(this.copy, event)
      )
        this.#events.push(event)
    }
    const last = this.unreadable === undefined ? position : (this.#events.at(-1)?.position ?? this.#folded)
    this.#read = comparePositions(last, this.#upTo) < 0 ? last : this.#upTo
    this.#batches += 1
  }

  isDue(batchSize: number): boolean {
    return this.#events.length >= batchSize || this.#batches >= batchesWithoutPlace
  }

  fold(): MemberBatch[] {
    const [events, from, to] = [this.#events, this.#folded, this.#read]
    if (!this.copy.isActive || comparePositions(from, to) >= 0) return []
    this.#events = []
    this.#folded = to
    this.#batches = 0
    const member = this.copy
    try {
      return [{ member, events, part: partOf(member.projector, events, from, to) }]
    } catch {
      return [{ member, events, part: undefined }]
    }
  }

  #isWithin(position: Position): boolean {
    return comparePositions(position, this.#read) > 0 && comparePositions(position, this.#upTo) <= 0
  }
}

/** Writes the batches of copies, despite outages of the database. Isolates the event that a copy cannot process. */
function writerOf(
  { pool, logger, signal = new AbortController().signal }: RebuildContext,
  copies: readonly Copy[],
): RetryingWriter {
  const listener = {
    written: (entries: readonly PartOfMember[]) => {
      for (const { member, part } of entries) member.position = part.to
    },
    // Inactive from now on, before its target.
    lost: () => undefined,
    failed: (member: Member, failure: ProjectionFailure) => {
      for (const copy of copies) if (copy === member) copy.failure = failure
    },
    databaseGone: () => undefined,
  }
  return new RetryingWriter(pool, logger, listener, signal, { isLossHarmless: true })
}

async function writeEach(writer: RetryingWriter, batches: readonly MemberBatch[]): Promise<void> {
  for (let index = 0; index < batches.length; index += copiesAtOnce) {
    await Promise.all(batches.slice(index, index + copiesAtOnce).map((batch) => writer.write([batch])))
  }
}

/** Requests the next batch before the current one is processed. */
async function* ahead(batches: AsyncGenerator<LogBatch, void, undefined>): AsyncGenerator<LogBatch, void, undefined> {
  try {
    let next = batches.next()
    while (true) {
      const { done, value } = await next
      if (done === true || value === undefined) return
      next = batches.next()
      next.catch(() => undefined)
      yield value
    }
  } finally {
    await batches.return()
  }
}

/** Time limit for the statistics of one table, in milliseconds. That of the pool is for short statements. */
const mostAnalyzeMs = 3_600_000

/** Gives the planner statistics of a copy. Otherwise its first readers get plans for an empty table. */
export async function analyze(pool: Pool, { name, tables }: Projector): Promise<void> {
  for (const table of tables) {
    await inTransaction(pool, async (client) => {
      // `query_timeout` of one statement is missing in pg's types.
      const statement = { text: `analyze ${quoted(name)}.${quoted(table.name)}`, query_timeout: mostAnalyzeMs }
      await client.query(`set local statement_timeout = ${mostAnalyzeMs}`)
      await client.query(statement)
    })
  }
}
