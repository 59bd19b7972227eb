import type { FastifyError, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import { v4 as uuidv4 } from 'uuid'
import type { LogFields, Logger } from '../observability/logging.ts'
import { asSent } from './both-casings.ts'
import {
  isFailure,
  Problem,
  problem,
  problemType,
  problems,
  type MemberError,
  type ProblemCode,
  type ProblemDefinition,
} from './problems.ts'
import { ruleInWords } from './members.ts'
import { tellsOfRecords } from './response-headers.ts'
import { TokenEndpointError, tokenEndpointError, tokenMediaTypeError } from './token-endpoint-errors.ts'

/** Members that one answer points at. */
export const mostReported = 20

/** Members that hold what the caller likes. */
const freeForm: ReadonlySet<string> = new Set([
  'clinical_context',
  'custom_fields',
  'variables',
  'output',
  'contactPreferences',
])

/** The problem that stands for an error of a stage; undefined for an error that is none of theirs. */
export type TranslateError = (error: unknown) => Problem | undefined

/** Answers every error of every route: problems as they are, anything unknown as 500 with nothing of it in the body. */
export function createErrorHandler(logger: Logger, translate: TranslateError) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const answer = asSent(toProblem(error, translate), request)
    const known = toTokenEndpointError(error, answer, request)
    if (known !== undefined) {
      if (known.status === 401) logRefusal(request, 'client-invalid')
      return reply
        .code(known.status)
        .headers({ ...known.headers, 'content-type': 'application/json; charset=utf-8' })
        .send(JSON.stringify(known.body))
    }
    if (!tellsOfRecords(answer.status)) reply.removeHeader('x-projection-lag-ms')
    const problemId = uuidv4()
    if (answer.status === 401 || answer.status === 403 || answer.status === 429) logRefusal(request, answer.code)
    if (isFailure(answer.status))
      logger.error({ err: error, code: answer.code, ...describeRequest(request), problemId }, 'request failed')
    return sendProblem(reply, answer, request.id, problemId)
  }

  /** Failed tokens, secrets and actor contexts, missing rights, and callers that have to wait. */
  function logRefusal(request: FastifyRequest, code: ProblemCode): void {
    logger.warn({ code, sourceAddress: request.ip, ...describeRequest(request) }, 'access refused')
  }
}

function describeRequest({
  method,
  id: requestId,
  correlationId,
  routeOptions: { url: route = '' },
}: FastifyRequest): LogFields {
  return { method, route, requestId, correlationId: correlationId ?? '' }
}

export function sendProblem(
  reply: FastifyReply,
  answer: Problem,
  requestId: string,
  problemId: string = uuidv4(),
): FastifyReply {
  return reply
    .code(answer.status)
    .headers({
      'cache-control': 'no-store',
      ...answer.headers,
      'content-type': 'application/problem+json; charset=utf-8',
    })
    .send(JSON.stringify(problemBody(answer, requestId, problemId)))
}

/** The wire form (RFC 9457). Two refusals with the same code differ in `instance` and `request_id` only. */
export function problemBody(answer: Problem, requestId: string, problemId: string): Record<string, unknown> {
  const { title, retriable }: ProblemDefinition = problems[answer.code]
  return {
    type: problemType(answer.code),
    title,
    status: answer.status,
    detail: answer.detail,
    instance: `urn:uuid:${problemId}`,
    code: answer.code,
    request_id: requestId,
    retriable,
    ...(answer.errors === undefined ? {} : { errors: answer.errors.slice(0, mostReported) }),
    ...answer.extensions,
  }
}

/** The token endpoint speaks RFC 6749 for every refusal of its own input. */
function toTokenEndpointError(
  error: unknown,
  { code, status }: Problem,
  request: FastifyRequest,
): TokenEndpointError | undefined {
  if (error instanceof TokenEndpointError) return error
  if (request.routeOptions.config?.errors !== 'oauth') return undefined
  if (code === 'unsupported-media-type') return tokenMediaTypeError()
  return status === 400 ? tokenEndpointError('invalid_request') : undefined
}

function toProblem(error: unknown, translate: TranslateError): Problem {
  if (error instanceof Problem) return error
  return (
    translate(error) ??
    (isFastifyError(error) ? ofFastify(error) : undefined) ??
    (isOfAFile(error) ? ofFile(error.statusCode) : undefined) ??
    problem('internal-error', { cause: error })
  )
}

function isFastifyError(error: unknown): error is FastifyError {
  return (
    error instanceof Error &&
    ('validation' in error || ('code' in error && typeof error.code === 'string' && error.code.startsWith('FST_')))
  )
}

/** An error of the server of the documentation page's files. */
function isOfAFile(error: unknown): error is { readonly statusCode: number } {
  return error instanceof Error && 'expose' in error && 'statusCode' in error && typeof error.statusCode === 'number'
}

function ofFile(status: number): Problem | undefined {
  if (status === 412) return problem('precondition-failed')
  return status >= 400 && status < 500 ? problem('not-found') : undefined
}

function ofFastify(error: FastifyError): Problem | undefined {
  if (error.validation !== undefined) {
    if (error.validationContext !== 'params')
      return problem('validation-failed', { errors: memberErrors(error.validation) })
    // An id that is no UUID names nothing, and a name may be misspelt.
    const misspelt = error.validation.filter(({ keyword }) => keyword === 'enum')
    return problem('not-found', misspelt.length === 0 ? {} : { errors: memberErrors(misspelt) })
  }
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problem('unsupported-media-type')
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return problem('not-found')
    // A file of the documentation page that is none, or lies outside of its folder.
    default:
      return error.statusCode === 403 || error.statusCode === 404 ? problem('not-found') : undefined
  }
}

/** The parameter of a rule with the name of the faulty member. */
const memberOfRule: Readonly<Record<string, string>> = {
  required: 'missingProperty',
  additionalProperties: 'additionalProperty',
  discriminator: 'tag',
}

/** Rules and places, never values. */
function memberErrors(errors: readonly FastifySchemaValidationError[]): MemberError[] {
  // Beside it, the member with the tag has an error of its own, unless validation stopped at the first error.
  const specific = errors.filter(({ keyword }) => keyword !== 'discriminator')
  const all = (specific.length > 0 ? specific : errors).map(({ instancePath, keyword, params, message }) => {
    const member = params[memberOfRule[keyword] ?? '']
    const pointer = withoutForeignNames(
      typeof member === 'string' ? `${instancePath}/${escapePointer(member)}` : instancePath,
    )
    if (keyword === 'required') return { pointer, detail: 'is required', code: 'required' }
    if (keyword === 'additionalProperties')
      return { pointer, detail: 'is not a member of this request', code: 'unknown-member' }
    if (keyword === 'discriminator') return { pointer, detail: 'must be one of the allowed values', code: 'enum' }
    const allowed: unknown = params['allowedValues']
    if (keyword === 'enum' && Array.isArray(allowed))
      return { pointer, detail: `must be one of ${allowed.join(', ')}`, code: keyword }
    const rule = keyword === 'pattern' || keyword === 'format' ? ruleInWords(params[keyword]) : undefined
    return { pointer, detail: rule ?? message ?? 'is not valid', code: kebab(keyword) }
  })
  const different = new Map(all.map((one) => [`${one.pointer} ${one.code} ${one.detail}`, one]))
  return [...different.values()].slice(0, mostReported)
}

/** JSON Schema writes its keywords in camel case; codes of ours are written in one way. */
function kebab(keyword: string): string {
  return keyword.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/** Names inside a free-form member are the caller's own words, which may say something of a patient: the member alone is pointed at. */
export function withoutForeignNames(pointer: string): string {
  const [, first = ''] = pointer.split('/')
  return freeForm.has(first) ? `/${first}` : pointer
}

/** A member's name as part of a JSON pointer (RFC 6901). */
export function escapePointer(member: string): string {
  return member.slice(0, 255).replaceAll('~', '~0').replaceAll('/', '~1')
}
