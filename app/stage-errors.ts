import {
  AppendOutcomeUnknownError,
  AppendTooLargeError,
  EventStoreClosedError,
  EventStoreFullError,
  EventStoreUnavailableError,
  RevisionConflictError,
  StreamRevivedError,
  StreamTruncatedError,
  UndecodableEventError,
} from '../streams/store/errors.ts'
import { isDatabaseMissing, isDatabaseUnavailable, isTableMissing } from '../platform/database/database.ts'
import { problem, type Problem } from '../platform/http/problems.ts'

/** What the layers below throw when a dependency is away or a race is lost, as the caller is told; undefined for the rest. */
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
    error instanceof StreamRevivedError ||
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

/** The event bears our signature, so what this program does not know of it a later one has written. */
function isOfNewerVersion(error: unknown): boolean {
  return error instanceof UndecodableEventError && (error.reason === 'unknown-type' || error.reason === 'newer-version')
}

/** Errors of the S3 client carry `$metadata`; without an HTTP status there was no answer. */
function isObjectStoreAway(error: unknown): boolean {
  if (
    !(error instanceof Error) ||
    !('$metadata' in error) ||
    typeof error.$metadata !== 'object' ||
    error.$metadata === null
  )
    return false
  const status = 'httpStatusCode' in error.$metadata ? error.$metadata.httpStatusCode : undefined
  return typeof status !== 'number' || status >= 500
}
