import {
  AppendOutcomeUnknownError,
  AppendTooLargeError,
  EventStoreClosedError,
  EventStoreUnavailableError,
} from '../../streams/store/errors.ts'
import { isDatabaseMissing, isDatabaseUnavailable } from '../database.ts'
import { problem, type Problem } from '../problems.ts'

/** What the stages throw when something they stand on is away, as the caller hears of it. */
export function errorAsProblem(error: unknown): Problem | undefined {
  if (error instanceof AppendTooLargeError) return problem('command-too-large')
  if (error instanceof EventStoreUnavailableError || error instanceof AppendOutcomeUnknownError) {
    return problem('event-store-unavailable', { retryAfterSeconds: 2, cause: error })
  }
  if (error instanceof EventStoreClosedError) return problem('shutting-down', { cause: error })
  if (isDatabaseUnavailable(error) || isDatabaseMissing(error)) {
    return problem('database-unavailable', { retryAfterSeconds: 2, cause: error })
  }
  return undefined
}
