import {
  AppendOutcomeUnknownError,
  AppendTooLargeError,
  EventStoreClosedError,
  EventStoreFullError,
  EventStoreUnavailableError,
  RevisionConflictError,
  StreamRevivedError,
  StreamTombstonedError,
  StreamTruncatedError,
  UndecodableEventError,
} from '../engine/store/errors.ts'
import { isObjectStoreAway } from '../platform/storage/object-store-away.ts'
import { isDatabaseMissing, isDatabaseUnavailable, isTableMissing } from '../platform/database/database.ts'
import { problem, type Problem } from '../platform/http/problems.ts'
import { MissingKeyError } from '../platform/kit/key-vault.ts'

/**
 * Translates errors of lower layers (a dependency is away, a race is lost) for the caller; undefined for all others.
 */
export function translateStageError(error: unknown): Problem | undefined {
  if (error instanceof RevisionConflictError) return problem('conflict', { cause: error })
  if (error instanceof AppendTooLargeError) return problem('command-too-large', { cause: error })
  if (error instanceof EventStoreUnavailableError || error instanceof AppendOutcomeUnknownError) {
    return problem('event-store-unavailable', { cause: error, retryAfterSeconds: 2 })
  }
  if (error instanceof EventStoreFullError)
    return problem('event-store-unavailable', { cause: error, retryAfterSeconds: 10 })
  if (isOfNewerVersion(error)) return problem('written-by-newer-version', { cause: error, retryAfterSeconds: 2 })
  if (
    error instanceof UndecodableEventError ||
    error instanceof MissingKeyError ||
    error instanceof StreamRevivedError ||
    error instanceof StreamTombstonedError ||
    error instanceof StreamTruncatedError
  )
    return problem('record-unreadable', { cause: error })
  if (error instanceof EventStoreClosedError) return problem('shutting-down', { cause: error })
  if (isObjectStoreAway(error)) return problem('object-store-unavailable', { cause: error, retryAfterSeconds: 2 })
  if (isDatabaseMissing(error) || isDatabaseUnavailable(error))
    return problem('database-unavailable', { cause: error, retryAfterSeconds: 2 })
  if (isTableMissing(error)) return problem('read-model-behind', { cause: error, retryAfterSeconds: 1 })
  return undefined
}

/** The event has our signature. So a later program wrote the part that this program does not understand. */
function isOfNewerVersion(error: unknown): boolean {
  return error instanceof UndecodableEventError && (error.reason === 'unknown-type' || error.reason === 'newer-version')
}
