import type { Pool } from 'pg'
import { isDatabaseFull } from '../../platform/database/database.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import type { RecordedEvent } from '../store/events.ts'
import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import { CheckpointLostError, partOf, writeBatch, type WriteOptions } from './batch-writer.ts'
import type { BatchPart } from './checkpoint-moves.ts'
import { failureOf, readCheckpoints, recordFailure, type ProjectionFailure } from './checkpoints.ts'
import { databaseFailure, isTimedOut, reasonOf } from './database-errors.ts'
import type { Member, MemberBatch } from './feed.ts'
import { RowConflictError } from './rows-step.ts'
import { fitOf } from './schema.ts'

const backoff = { firstMs: 50, mostMs: 2_000 }
/** So often the server ends a batch for its time limit. Then the batch is written in smaller parts. */
const mostTimeouts = 3

/** A part of a batch, and the member whose events it has. */
export interface PartOfMember {
  readonly member: Member
  readonly part: BatchPart
}

export interface WriteListener {
  /** These parts are stored, and their writes have touched rows. After a lost answer, some may have touched none. */
  written(entries: readonly PartOfMember[]): void
  /** Another instance moved the member's checkpoint. */
  lost(member: Member): void
  /** The member cannot process an event. The failure is already recorded. */
  failed(member: Member, failure: ProjectionFailure): void
  databaseGone(): void
}

/**
 * Writes batches despite failures. It waits while the database is away and gives way to another instance. It isolates
 * the one event that a projector cannot process. Earlier events and other projectors continue. A batch that the server
 * cannot write within the time limit of a statement is written by projector, and then by event.
 */
export class RetryingWriter {
  readonly #pool: Pool
  readonly #logger: Logger
  readonly #listener: WriteListener
  readonly #signal: AbortSignal
  readonly #options: WriteOptions
  #heldUp = 0

  constructor(pool: Pool, logger: Logger, listener: WriteListener, signal: AbortSignal, options: WriteOptions = {}) {
    this.#pool = pool
    this.#logger = logger
    this.#listener = listener
    this.#signal = signal
    this.#options = options.isLossHarmless === true ? options : { ...options, copies: new Map() }
  }

  /** True while the database refuses writes. */
  get isHeldUp(): boolean {
    return this.#heldUp > 0
  }

  async write(batches: readonly MemberBatch[]): Promise<void> {
    const entries = batches.flatMap(({ member, part }) => (part === undefined ? [] : [{ member, part }]))
    const suspects = batches.filter(({ part }) => part === undefined)
    const refusal = await this.#attempt(entries)
    if (refusal !== undefined) suspects.push(...batches.filter(({ part }) => part !== undefined))
    for (const { member, events, part } of suspects) {
      const isRefused = part === undefined || (await this.#attempt([{ member, part }])) !== undefined
      if (isRefused) await this.#eventByEvent(member, events, part?.to)
    }
  }

  /** Stops a member at an event. Earlier events are written. */
  async fail(member: Member, failure: ProjectionFailure): Promise<void> {
    member.isActive = false
    const isRecorded = await this.#persist(() =>
      recordFailure(this.#pool, member.projector.name, member.copyId, failure),
    )
    if (isRecorded === undefined) return
    if (!isRecorded) return this.#listener.lost(member)
    const { position: _, ...shown } = failure
    this.#logger.error({ projector: member.projector.name, ...shown }, 'projector stopped at an event it cannot take')
    this.#listener.failed(member, failure)
  }

  /**
   * Writes the parts of active members. Returns the error if Postgres or a row refused one of them, or if they take too
   * long. One event is tried for as long as necessary: the database may only be slow.
   */
  async #attempt(entries: readonly PartOfMember[], isOneEvent = false): Promise<unknown> {
    let isOutcomeUnknown = false
    let timeouts = 0
    for (let attempt = 1; !this.#signal.aborted; attempt += 1) {
      const active = entries.filter(({ member }) => member.isActive)
      if (active.length === 0) return undefined
      try {
        const parts = active.map(({ part }) => part)
        const touched = await writeBatch(this.#pool, parts, this.#options)
        const withRows = ({ part, member }: PartOfMember): PartOfMember => {
          return { member, part: { ...part, writes: part.writes.filter((write) => touched.has(write)) } }
        }
        this.#listener.written(active.map(withRows))
        return undefined
      } catch (error) {
        if (error instanceof RowConflictError) return error
        if (error instanceof CheckpointLostError) {
          const written = await this.#sortOutLost(active, error.projectors, isOutcomeUnknown)
          if (written.length > 0) {
            this.#listener.written(written)
            entries = entries.filter((entry) => !written.includes(entry))
          }
          continue
        }
        if (databaseFailure(error) === 'rejected') return error
        isOutcomeUnknown = true
        if (isTimedOut(error)) timeouts += 1
        if (timeouts >= mostTimeouts && !isOneEvent) return error
        await this.#waitOut(error, attempt)
      }
    }
    return undefined
  }

  /**
   * A commit whose answer was lost looks like a foreign one, at exactly the expected position. Returns the entries with
   * that position. The others now belong to another instance.
   */
  async #sortOutLost(
    entries: readonly PartOfMember[],
    names: readonly string[],
    isOutcomeUnknown: boolean,
  ): Promise<readonly PartOfMember[]> {
    const concerned = entries.filter(({ part }) => names.includes(part.projector.name))
    const stored = await this.#persist(() => readCheckpoints(this.#pool, names))
    const written = concerned.filter(({ part: { projector, to } }) => {
      const checkpoint = stored?.get(projector.name)
      return (
        isOutcomeUnknown &&
        checkpoint !== undefined &&
        fitOf(checkpoint, projector) === 'current' &&
        comparePositions(checkpoint.position, to) === 0
      )
    })
    for (const entry of concerned) {
      if (written.includes(entry) || this.#signal.aborted) continue
      entry.member.isActive = false
      this.#listener.lost(entry.member)
    }
    return written
  }

  /** `to`: end of the batch, after events of other members; undefined if unknown. */
  async #eventByEvent(member: Member, events: readonly RecordedEvent[], to: Position | undefined): Promise<void> {
    let from = await this.#storedPosition(member)
    for (const event of events) {
      if (!member.isActive || this.#signal.aborted || from === undefined) return
      if (comparePositions(event.position, from) <= 0) continue
      let part: BatchPart
      try {
        part = partOf(member.projector, [event], from, event.position)
      } catch (error) {
        return this.fail(member, failureOf(event, reasonOf(error)))
      }
      const refusal = await this.#attempt([{ member, part }], true)
      if (refusal !== undefined) return this.fail(member, failureOf(event, reasonOf(refusal)))
      from = event.position
    }
    if (from === undefined || to === undefined || comparePositions(from, to) >= 0) return
    await this.#attempt([{ member, part: partOf(member.projector, [], from, to) }], true)
  }

  async #storedPosition(member: Member): Promise<Position | undefined> {
    const { name } = member.projector
    const stored = await this.#persist(() => readCheckpoints(this.#pool, [name]))
    return stored?.get(name)?.position
  }

  /** Repeats a small statement until the database accepts it. Undefined only if the runner closes. */
  async #persist<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    for (let attempt = 1; !this.#signal.aborted; attempt += 1) {
      try {
        return await work()
      } catch (error) {
        await this.#waitOut(error, attempt)
      }
    }
    return undefined
  }

  async #waitOut(error: unknown, attempt: number): Promise<void> {
    // The fill of a copy must free the room that serving needs, instead of waiting for more.
    if (this.#options.isLossHarmless === true && isDatabaseFull(error)) throw error
    if (databaseFailure(error) === 'gone') this.#listener.databaseGone()
    this.#logger.warn(
      { component: 'projections', attempt, err: error },
      'read-model database did not take a batch, trying again',
    )
    this.#heldUp += 1
    await pause(backoffMs(backoff, attempt), this.#signal)
    this.#heldUp -= 1
  }
}
