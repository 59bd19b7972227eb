import { errorCode } from '../kit/error-codes.ts'

export type EgressErrorCode =
  | 'timeout'
  | 'connect'
  | 'dns'
  | 'tls'
  | 'address_forbidden'
  | 'body_too_large'
  | 'circuit_open'
  | 'aborted'

interface EgressErrorOptions {
  readonly cause?: unknown
  readonly retryAfterMs?: number
  readonly mayHaveBeenSent?: boolean
}

/** An outbound call without an answer. It contains the host at most, no path and no part of the answer. */
export class EgressError extends Error {
  override readonly name = 'EgressError'
  readonly isSafeToLog = true
  readonly code: EgressErrorCode
  /** When an open circuit allows the next call. */
  readonly retryAfterMs: number | undefined
  /** False if the request certainly was not sent; true if the other side may have acted on it. */
  readonly mayHaveBeenSent: boolean
  /** The server that was called, for operators. No log line contains it. */
  host: string | undefined

  constructor(code: EgressErrorCode, { cause, retryAfterMs, mayHaveBeenSent = false }: EgressErrorOptions = {}) {
    super(code, { cause })
    this.code = code
    this.retryAfterMs = retryAfterMs
    this.mayHaveBeenSent = mayHaveBeenSent
  }

  /** True if the failure counts for the circuit. Any HTTP answer, also a 5xx, proves that the server works. */
  get isOfTheServer(): boolean {
    return this.code === 'timeout' || this.code === 'connect' || this.code === 'dns' || this.code === 'tls'
  }
}

const timeouts = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'])
const unconnected = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'UND_ERR_CONNECT_TIMEOUT'])
const names = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'ENODATA', 'ESERVFAIL'])
const certificates = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|EPROTO)/

/** Translates errors of undici, the network and the signals. */
export function toEgressError(error: unknown): EgressError {
  const known = findCause(error, (one) => one instanceof EgressError)
  if (known instanceof EgressError) return known
  if (error instanceof Error && error.name === 'TimeoutError')
    return new EgressError('timeout', { cause: error, mayHaveBeenSent: true })
  if (error instanceof Error && error.name === 'AbortError')
    return new EgressError('aborted', { cause: error, mayHaveBeenSent: true })
  const code = codeOf(error)
  if (timeouts.has(code)) return new EgressError('timeout', { cause: error, mayHaveBeenSent: true })
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return new EgressError('timeout', { cause: error })
  if (unconnected.has(code)) return new EgressError('connect', { cause: error })
  if (names.has(code)) return new EgressError('dns', { cause: error })
  if (certificates.test(code)) return new EgressError('tls', { cause: error })
  return new EgressError('connect', { cause: error, mayHaveBeenSent: true })
}

function codeOf(error: unknown): string {
  return errorCode(findCause(error, (one) => errorCode(one) !== undefined)) ?? ''
}

/** Happy Eyeballs collects the failures of all addresses in an AggregateError. */
function findCause(error: unknown, isWanted: (one: Error) => boolean): Error | undefined {
  if (!(error instanceof Error)) return undefined
  if (isWanted(error)) return error
  if (error instanceof AggregateError) {
    const inner = (error.errors as unknown[]).map((one) => findCause(one, isWanted)).find((one) => one !== undefined)
    if (inner !== undefined) return inner
  }
  return findCause(error.cause, isWanted)
}
