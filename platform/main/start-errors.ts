import { isDatabaseUnavailable } from '../database.ts'
import { EventStoreUnavailableError } from '../../streams/store/errors.ts'

/**
 * Names the variable whose server does not answer: a driver's own message may be empty, or name an address without saying
 * which of five servers has it. Messages that hold no address of ours pass unchanged.
 */
export async function clearly<Result>(variable: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    throw new Error(`the server of ${variable} does not answer (${reason})`, { cause: error })
  }
}

function reasonOf(error: unknown): string | undefined {
  if (error instanceof EventStoreUnavailableError) return error.code
  // A host with several addresses fails with one error for each.
  const [first] = error instanceof AggregateError ? error.errors : [error]
  if (!isDatabaseUnavailable(first)) return undefined
  return first instanceof Error && 'code' in first && typeof first.code === 'string' ? first.code : 'no connection'
}
