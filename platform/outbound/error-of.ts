/** What operators see of an error. It contains no message, no path, and no part of an answer. */
export interface ErrorSummary {
  /** The class of the error in the program. */
  readonly class: string
  /** An HTTP status, SQLSTATE, errno, SMTP or gRPC status, or a slug of the program. Null for any other text. */
  readonly code: string | null
  /** The server that was called, with a port that is not the usual one. */
  readonly host: string | null
}

const mostCauses = 5
const className = /^[A-Za-z_$][\w$]{0,63}$/
/** `ECONNREFUSED`, `UND_ERR_SOCKET`, and SQLSTATEs such as `23505`. */
const systemCode = /^(?:[A-Z][A-Z0-9_]{2,63}|[0-9A-Z]{5})$/
const slug = /^[a-z][a-z0-9]*(?:[-_][a-z0-9]+){0,8}$/
const hostName = /^(?:[\w.-]{1,255}|\[[0-9A-Fa-f:.%\w]{2,64}\])(?::\d{1,5})?$/

/**
 * The class is that of the error itself. The code is the innermost one of a system (an error of ours often wraps the
 * failure of a server), else the outermost slug. The host is the first that the error or a cause names.
 */
export function errorOf(error: unknown): ErrorSummary {
  const causes = causesOf(error)
  const codes = causes.map(systemCodeOf).filter((code) => code !== null)
  const slugs = causes.map(slugOf).filter((code) => code !== null)
  const hosts = causes.map(hostOf).filter((host) => host !== null)
  return {
    class: error instanceof Error ? classOf(error) : 'NoError',
    code: codes.at(-1) ?? slugs[0] ?? null,
    host: hosts[0] ?? null,
  }
}

function causesOf(error: unknown): Error[] {
  const causes: Error[] = []
  let next = error
  while (next instanceof Error && causes.length < mostCauses) {
    causes.push(next)
    // Node.js collects the failures of all addresses of a name.
    next = next instanceof AggregateError ? (next.errors as unknown[])[0] : next.cause
  }
  return causes
}

function classOf(error: Error): string {
  const { name } = error.constructor
  return className.test(name) ? name : 'Error'
}

function systemCodeOf(error: Error): string | null {
  const code = member(error, 'code')
  // The codes of a DOMException are numbers that mean nothing here.
  if (typeof code === 'number' && Number.isInteger(code) && code >= 0 && code <= 16 && 'metadata' in error)
    return String(code)
  const status = statusOf(error)
  if (status !== null) return status
  return typeof code === 'string' && systemCode.test(code) ? code : null
}

/** A status of SMTP or HTTP. A problem of ours has a slug, which says more than its status. */
function statusOf(error: Error): string | null {
  const metadata = member(error, '$metadata')
  const given: unknown[] = [
    member(error, 'responseCode'),
    typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, 'httpStatusCode') : undefined,
    member(error, 'statusCode'),
    slugOf(error) === null ? member(error, 'status') : undefined,
  ]
  const status = given.find(
    (one): one is number => typeof one === 'number' && Number.isInteger(one) && one >= 100 && one <= 599,
  )
  return status === undefined ? null : String(status)
}

function slugOf(error: Error): string | null {
  if (error.name === 'TimeoutError') return 'timeout'
  if (error.name === 'AbortError') return 'aborted'
  const code = member(error, 'code')
  return typeof code === 'string' && code.length <= 64 && slug.test(code) ? code : null
}

function hostOf(error: Error): string | null {
  const host = member(error, 'host') ?? member(error, 'hostname')
  if (typeof host === 'string') return hostName.test(host) ? host.toLowerCase() : null
  const address = member(error, 'address')
  const port = member(error, 'port')
  if (typeof address !== 'string' || typeof port !== 'number') return null
  const name = address.includes(':') ? `[${address}]` : address
  const named = port === 80 || port === 443 ? name : `${name}:${port}`
  return hostName.test(named) ? named : null
}

function member(error: Error, name: string): unknown {
  return Reflect.get(error, name)
}
