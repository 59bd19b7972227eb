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
  /** How long one try may take, in milliseconds: the server's deadline is by its own clock. */
  readonly attemptMs: number
  /** How long an unknown outcome is pursued, in milliseconds. */
  readonly budgetMs: number
}

export interface ExactAppend {
  readonly stream: string
  readonly expected: StreamRevision
  readonly events: readonly OutgoingEvent[]
}

/** What an append without an answer, or without room, is told to. */
export interface AppendWatch {
  readonly logger: StoreLogger | undefined
  /** A try was refused for want of room, whatever becomes of the append. */
  readonly onFull: () => void
}

/** `conflict` says only that the stream stands elsewhere: the events of an earlier try may be what moved it. */
export type AppendAnswer =
  | { readonly kind: 'written'; readonly revision: bigint; readonly position: Position | undefined }
  | { readonly kind: 'conflict'; readonly actual: StreamRevision }

type Outcome =
  | AppendAnswer
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'unknown'; readonly error: unknown }

const backoff = { firstMs: 50, mostMs: 2_000 }
// The server compares this deadline with its own clock, so it must outlast any skew; our timer is the real one.
const serverDeadlineMs = 24 * 3_600_000

/**
 * Appends, and after an unknown outcome repeats the very same request (ids, revision) until the server tells what became
 * of it: it answers a repeat of what it has already written with the first answer.
 * @throws AppendOutcomeUnknownError, AppendTooLargeError, EventStoreFullError, StreamTombstonedError, EventStoreRefusedError
 */
export async function appendExactly(
  connection: EventStoreConnection,
  append: ExactAppend,
  timing: AppendTiming,
  { logger, onFull }: AppendWatch,
): Promise<AppendAnswer> {
  const startedAt = performance.now()
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await attemptAppend(connection, append, timing.attemptMs)
    if (outcome.kind === 'written' || outcome.kind === 'conflict') return outcome
    if (outcome.error instanceof EventStoreFullError) onFull()
    // A refusal tells nothing about an earlier try whose answer was lost.
    if (outcome.kind === 'failed' && attempt === 1) throw outcome.error
    const waitMs = backoffMs(backoff, attempt)
    logger?.warn(
      { category: categoryOf(append.stream), attempt, reason: reasonOf(outcome.error) },
      'append without a known outcome',
    )
    if (performance.now() - startedAt + waitMs >= timing.budgetMs) {
      throw new AppendOutcomeUnknownError(append.stream, attempt, { cause: outcome.error })
    }
    await pause(waitMs)
  }
}

type Attempt = Omit<ExactAppend, 'expected'> & { readonly expected: StreamRevision | 'any' }

async function attemptAppend({ appends }: EventStoreConnection, append: Attempt, attemptMs: number): Promise<Outcome> {
  try {
    const { stream, events } = append
    const deadline = new Date(Date.now() + serverDeadlineMs)
    return {
      kind: 'written',
      ...(await appends.send({ stream, expected: append.expected, events, deadline }, attemptMs)),
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

/** Whether an append would be refused for want of room; rejects when there is no answer. Only where one just was. */
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
