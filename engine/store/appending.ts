import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import { categoryOf } from './catalogue.ts'
import {
  ClientAppendTooLarge,
  ClientStreamTombstoned,
  ClientWrongVersion,
  isRefusal,
  isWithoutRoom,
  reasonOf,
} from './client-errors.ts'
import type { OutgoingEvent } from './codec.ts'
import type { EventStoreConnection } from './connection.ts'
import type { StoreLogger } from './errors.ts'
import {
  AppendOutcomeUnknownError,
  AppendTooLargeError,
  EventStoreFullError,
  EventStoreRefusedError,
  StreamTombstonedError,
} from './errors.ts'
import type { StreamRevision, Position } from '../../platform/kit/positions.ts'

/** The most that the server takes in one append, in bytes. */
export const appendLimitBytes = 1_048_576

export interface AppendTiming {
  /** Time limit of one attempt, in milliseconds. The server's deadline follows the server's clock. */
  readonly attemptMs: number
  /** How long an append takes at most, with its retries after unknown outcomes, in milliseconds. */
  readonly budgetMs: number
}

export interface ExactAppend {
  readonly stream: string
  readonly expected: StreamRevision
  readonly events: readonly OutgoingEvent[]
}

/** Receives notice of appends without an answer or without room. */
export interface AppendWatch {
  readonly logger: StoreLogger | undefined
  /** An attempt was refused for lack of room, whatever the outcome of the append is. */
  readonly onFull: () => void
  /** An attempt ended. It is answered if the store has decided about it. The time is that of `performance.now()`. */
  readonly onAttempt: (isAnswered: boolean, sentAtMs: number) => void
}

/** `conflict` means only that the stream has another revision. The events of an earlier attempt may be the cause. */
export type AppendAnswer =
  | { readonly kind: 'written'; readonly revision: bigint; readonly position: Position | undefined }
  | { readonly kind: 'conflict'; readonly actual: StreamRevision }

type Outcome =
  | AppendAnswer
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'unknown'; readonly error: unknown }

const backoff = { firstMs: 50, mostMs: 2_000 }
// The server compares this deadline with its own clock, so it must outlast any clock skew. Our own timer is the real
// limit.
const serverDeadlineMs = 24 * 3_600_000

/**
 * Appends. After an unknown outcome it repeats the same request (ids, revision) until the server reports the outcome.
 * The server answers a repeat of a written append with the first answer.
 * @throws AppendOutcomeUnknownError, AppendTooLargeError, EventStoreFullError, StreamTombstonedError,
 * EventStoreRefusedError
 */
export async function appendExactly(
  connection: EventStoreConnection,
  append: ExactAppend,
  timing: AppendTiming,
  { logger, onFull, onAttempt }: AppendWatch,
): Promise<AppendAnswer> {
  const startedAt = performance.now()
  for (let attempt = 1; ; attempt += 1) {
    const sentAt = performance.now()
    const withinMs = Math.min(timing.attemptMs, timing.budgetMs - (sentAt - startedAt))
    const outcome = await attemptAppend(connection, append, withinMs, Math.min(timing.attemptMs, timing.budgetMs))
    onAttempt(outcome.kind !== 'unknown', sentAt)
    if (outcome.kind === 'written' || outcome.kind === 'conflict') return outcome
    if (outcome.error instanceof EventStoreFullError) onFull()
    // A refusal proves nothing about an earlier attempt whose answer was lost.
    if (outcome.kind === 'failed' && attempt === 1) throw outcome.error
    const waitMs = backoffMs(backoff, attempt)
    logger?.warn(
      { category: categoryOf(append.stream), attempt, reason: reasonOf(outcome.error) },
      'append without a known outcome',
    )
    if (connection.commands.isHurried || performance.now() - startedAt + waitMs >= timing.budgetMs) {
      throw new AppendOutcomeUnknownError(append.stream, attempt, { cause: outcome.error })
    }
    await pause(waitMs)
  }
}

type Attempt = Omit<ExactAppend, 'expected'> & { readonly expected: StreamRevision | 'any' }

async function attemptAppend(
  { appends }: EventStoreConnection,
  append: Attempt,
  withinMs: number,
  usualMs?: number,
): Promise<Outcome> {
  try {
    const { stream, events } = append
    const deadline = new Date(Date.now() + serverDeadlineMs)
    return {
      kind: 'written',
      ...(await appends.send({ stream, expected: append.expected, events, deadline }, withinMs, usualMs)),
    }
  } catch (error) {
    return failedOutcome(append, error)
  }
}

function failedOutcome({ stream }: Attempt, error: unknown): Outcome {
  if (error instanceof ClientWrongVersion) return { kind: 'conflict', actual: actualRevision(error.actualVersion) }
  if (error instanceof ClientAppendTooLarge) {
    return { kind: 'failed', error: new AppendTooLargeError(stream, appendLimitBytes, error.maxAppendSize) }
  }
  if (error instanceof ClientStreamTombstoned) return { kind: 'failed', error: new StreamTombstonedError(stream) }
  if (isWithoutRoom(error)) return { kind: 'failed', error: new EventStoreFullError(stream, { cause: error }) }
  if (isRefusal(error)) {
    return { kind: 'failed', error: new EventStoreRefusedError(`appending to ${stream}`, { cause: error }) }
  }
  return { kind: 'unknown', error }
}

function actualRevision(actual: bigint | string): StreamRevision {
  return typeof actual === 'bigint' && actual >= 0n ? actual : 'no_stream'
}

/**
 * Whether the server would refuse an append for lack of room. Rejects if there is no answer. Call it only after such a
 * refusal.
 */
export async function refusesForWantOfRoom(
  connection: EventStoreConnection,
  stream: string,
  { attemptMs }: AppendTiming,
): Promise<boolean> {
  const outcome = await attemptAppend(connection, { stream, expected: 'any', events: [] }, attemptMs)
  if (outcome.kind === 'written' || outcome.kind === 'conflict') return false
  if (outcome.error instanceof EventStoreFullError) return true
  throw outcome.error
}
