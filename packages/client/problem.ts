import type { Schemas } from './shapes.ts'

type ProblemBody = Schemas['Problem']

/** The codes of the platform, and those of the client: no answer, an answer that is none of the platform, a forged webhook. */
export type ProblemCode = ProblemBody['code'] | 'connection-lost' | 'answer-unreadable' | 'webhook-invalid'

interface ProblemDetails extends Partial<Pick<Problem, 'retriable' | 'retryAfterSeconds' | 'body' | 'cause'>> {}

/** Every failure that is not an abort. `/problems/<code>` of the platform explains its codes. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly status: number
  readonly detail: string
  /** The same request may succeed later. */
  readonly retriable: boolean
  readonly retryAfterSeconds: number | undefined
  readonly requestId: string | undefined
  /** The members at fault. */
  readonly errors: NonNullable<ProblemBody['errors']>
  /** The answer to this try or an earlier one was lost, unreadable or a 5xx, so the request may have taken effect. */
  mayHaveHappened = false
  /** Every member of the answer. */
  readonly body: Partial<ProblemBody>

  constructor(
    code: ProblemCode,
    status: number,
    detail: string,
    { retriable = false, retryAfterSeconds, body = {}, cause }: ProblemDetails = {},
  ) {
    super(`${status} ${code}: ${detail}`, { cause })
    this.code = code
    this.status = status
    this.detail = detail
    this.retriable = retriable
    this.retryAfterSeconds = retryAfterSeconds
    this.requestId = body.request_id
    this.errors = body.errors ?? []
    this.body = body
  }
}

export function loseConnection(cause: unknown): never {
  const detail = 'There was no whole answer. A repeat with the same Idempotency-Key takes effect once.'
  throw new Problem('connection-lost', 0, detail, { retriable: true, cause })
}

/** @param data the parsed body, undefined if it is no JSON */
export function problemOf({ status, headers }: Response, data: unknown): Problem {
  const body = Object(data) as Partial<ProblemBody>
  // The token endpoint answers with the members of RFC 6749, and has the code in its type only. Gateways have codes too.
  const ofType = /\/problems\/([\w-]+)$/.exec(String(body.type))?.[1] as ProblemCode | undefined
  const code = typeof body.retriable === 'boolean' ? body.code : ofType
  const retryAfterSeconds = secondsIn(headers.get('retry-after') ?? '')
  if (status >= 400 && code !== undefined)
    return new Problem(code, status, body.detail ?? code, { retriable: !!body.retriable, retryAfterSeconds, body })
  const detail = `The answer is none of the platform (${headers.get('content-type') ?? 'no content type'}).`
  const retriable = [408, 429, 500, 502, 503, 504].includes(status)
  return new Problem('answer-unreadable', status, detail, { retriable, retryAfterSeconds })
}

/** Seconds or a date (RFC 9110, 10.2.3). Undefined for any other text. */
function secondsIn(text: string): number | undefined {
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1_000)
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}
