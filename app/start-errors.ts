import { isDatabaseFull, isDatabaseUnavailable } from '../platform/database/database.ts'
import { denialOf } from '../engine/store/client-errors.ts'
import { EventStoreRefusedError, EventStoreUnavailableError, UndecodableEventError } from '../engine/store/errors.ts'
import { certificateProblem } from '../platform/kit/certificate-errors.ts'
import { errorCode } from '../platform/kit/error-codes.ts'

/**
 * Names the variable of the server that does not answer or refuses us. A driver's own message may be empty, or contain
 * an address that five servers may have. `variable` is the one of the database in use. Errors of the event store always
 * name ESDB_URL. Messages without an address of ours pass unchanged.
 */
export async function clearly<Result>(variable: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const message = eventStoreProblem(error) ?? databaseProblem(variable, error)
    if (message === undefined) throw error
    throw new Error(message, { cause: error })
  }
}

function eventStoreProblem(error: unknown): string | undefined {
  if (error instanceof EventStoreUnavailableError)
    return (
      certificateProblem('ESDB_URL', error, 'tlsCAFile in ESDB_URL, or NODE_EXTRA_CA_CERTS,') ??
      `the server of ESDB_URL does not answer (${error.code})`
    )
  if (error instanceof EventStoreRefusedError) return rightsProblem(error)
  if (!(error instanceof UndecodableEventError) || (error.reason !== 'signature' && error.reason !== 'key-missing'))
    return undefined
  return `the vault of VAULT_DATABASE_URL does not belong to the event store of ESDB_URL: its keys do not fit the events (${error.code})`
}

/** Which right the user of the event store lacks, and who gives it. */
function rightsProblem(error: EventStoreRefusedError): string | undefined {
  const denial = denialOf(error.cause)
  if (denial === undefined) return undefined
  if (denial === 'login') return `the server of ESDB_URL does not admit its user with its password (${error.code})`
  const toDo = error.message.endsWith('reading $all')
    ? 'make it a member of $admins, or name one of its groups in the access list of $all'
    : 'give it this right in the access list of the stream, or in $settings'
  return `the user of ESDB_URL lacks a right (${error.message}): ${toDo}`
}

function databaseProblem(variable: string, error: unknown): string | undefined {
  // A host with several addresses fails with one error per address.
  const [first] = error instanceof AggregateError ? error.errors : [error]
  const code = errorCode(first)
  const refused = certificateProblem(variable, first, `sslrootcert in ${variable}, or NODE_EXTRA_CA_CERTS,`)
  if (refused !== undefined) return refused
  if (isDatabaseFull(first)) return `the server of ${variable} has no room on its disk (${code})`
  if (isDatabaseUnavailable(first)) return `the server of ${variable} does not answer (${code ?? 'no connection'})`
  // Class 28 of Postgres: invalid authorization.
  return code?.startsWith('28')
    ? `the server of ${variable} does not admit its user with its password (${code})`
    : undefined
}
