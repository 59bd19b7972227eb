import type { FastifyContextConfig, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import { isProblemCode, problems, type ProblemCode } from './problems.ts'
import type { Access } from './access.ts'

/** Every error's body, RFC 9457. */
const ProblemDocument = Type.Object(
  {
    type: Type.String({ format: 'uri' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String({ description: 'urn:uuid: and a UUID of this occurrence' }),
    code: Type.Enum(Object.keys(problems).filter(isProblemCode), { description: 'Documented at /problems/{code}' }),
    request_id: Type.String(),
    retriable: Type.Boolean(),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({ description: 'JSON pointer of the rejected member' }),
          detail: Type.String(),
          code: Type.String(),
          line: Type.Optional(Type.Integer({ description: 'In a template, from 1' })),
          column: Type.Optional(Type.Integer({ description: 'In a template, from 1' })),
        }),
      ),
    ),
    required_scopes: Type.Optional(Type.Array(Type.String(), { description: 'Of insufficient-scope' })),
    required_permission: Type.Optional(Type.String({ description: 'Of actor-context-missing and permission-missing' })),
    parked_step_id: Type.Optional(Type.String({ description: 'Of step-not-parked' })),
    missing_image_ids: Type.Optional(Type.Array(Type.String(), { description: 'Of uploads-incomplete' })),
    missingVariables: Type.Optional(Type.Array(Type.String(), { description: 'Of template-variable-missing' })),
    oldest_cursor: Type.Optional(Type.String({ description: 'Of cursor-lost' })),
  },
  { $id: 'Problem' },
)

/**
 * A route's `response` schemas: its successes, and its own problems. Problems that follow from access, body and
 * parameters are added later. The type contains the successes only, because problems are thrown.
 */
export function answers<Replies extends Readonly<Record<number, unknown>>>(
  replies: Replies,
  codes: readonly ProblemCode[] = [],
): Replies {
  return { ...problemReplies(codes), ...replies }
}

export interface RouteFacts {
  readonly access: Access
  readonly isRead: boolean
  readonly config: FastifyContextConfig
}

/** Refusals of the HTTP server itself, which any request can meet. */
export const serverProblems = [
  'malformed-request',
  'request-timeout',
  'expectation-failed',
  'headers-too-large',
  'transfer-coding-unsupported',
] as const satisfies readonly ProblemCode[]

/** The route's schema, with the answers that follow from its access, parameters, query and body. */
export function withStandardAnswers(schema: FastifySchema, facts: RouteFacts): FastifySchema {
  const codes = [
    ...ofAccess(facts),
    ...ofInput(schema, facts),
    ...serverProblems,
    'internal-error',
    'shutting-down',
  ] as const
  const notModified =
    facts.isRead && facts.config.hasEtag === true
      ? { 304: { type: 'null', description: 'Not modified since If-None-Match' } }
      : {}
  const own: unknown = schema.response
  return {
    ...schema,
    response: {
      ...notModified,
      ...mergeReplies(problemReplies(codes), typeof own === 'object' && own !== null ? own : {}),
    },
  }
}

function ofAccess({ access, isRead }: RouteFacts): ProblemCode[] {
  if (access === 'public') return []
  const any: ProblemCode[] = [
    'token-missing',
    'token-invalid',
    'token-expired',
    'actor-context-not-accepted',
    'actor-context-invalid',
    'actor-context-unavailable',
    'user-not-active',
    'org-mismatch',
    'org-required',
    'not-found',
    'quota-exceeded',
    'database-unavailable',
    'event-store-unavailable',
    ...(isRead ? [] : (['conflict', 'command-too-large', 'written-by-newer-version', 'record-unreadable'] as const)),
  ]
  if (access === 'token') return any
  if (access === 'actor') return [...any, 'actor-context-missing']
  if ('consentScope' in access) return [...any, 'insufficient-scope']
  if ('scopes' in access) {
    const ofActor = ['actor-context-missing', 'permission-missing'] as const
    return [...any, 'insufficient-scope', ...(access.permission === undefined ? [] : ofActor)]
  }
  const ofPermission = ['admin-secret-invalid', 'permission-missing'] as const
  return [...any, ...ofPermission, access.orScope === undefined ? 'actor-context-missing' : 'insufficient-scope']
}

function ofInput({ params, querystring, body }: FastifySchema, { isRead, config }: RouteFacts): ProblemCode[] {
  const invalid = config.errors === 'oauth' ? 'token-request-invalid' : 'validation-failed'
  return [
    ...(params === undefined ? [] : (['not-found'] as const)),
    ...(querystring === undefined && body === undefined ? [] : ([invalid] as const)),
    ...(isRead ? [] : (['malformed-body', 'body-too-large', 'unsupported-media-type'] as const)),
    ...(config.takesIfMatch === true ? (['precondition-failed'] as const) : []),
    ...(isRead && config.servedBy !== undefined ? (['read-model-behind'] as const) : []),
    ...(config.showsPersonal === true ? (['unknown-purpose', 'access-log-unavailable'] as const) : []),
  ]
}

interface ProblemReply {
  readonly description: string
  readonly content: { readonly 'application/problem+json': { readonly schema: typeof ProblemDocument } }
}

function problemReplies(codes: readonly ProblemCode[]): Record<number, ProblemReply> {
  const byStatus = Map.groupBy(codes, (code) => problems[code].status)
  return Object.fromEntries([...byStatus].map(([status, ofStatus]) => [status, reply(ofStatus)]))
}

function reply(codes: readonly string[]): ProblemReply {
  return {
    description: [...new Set(codes)].join(', '),
    content: { 'application/problem+json': { schema: ProblemDocument } },
  }
}

/** Where both sides name problems of one status, the descriptions join. A schema of another kind stands beside the problems. */
function mergeReplies(standard: Record<number, ProblemReply>, own: object): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...standard }
  const entries: readonly [string, unknown][] = Object.entries(own)
  for (const [status, schema] of entries) {
    const same = standard[Number(status)]
    if (same === undefined) merged[status] = schema
    else if (isProblemReply(schema))
      merged[status] = reply([...same.description.split(', '), ...schema.description.split(', ')])
    else merged[status] = { ...same, content: { 'application/json': { schema }, ...same.content } }
  }
  return merged
}

function isProblemReply(schema: unknown): schema is ProblemReply {
  return (
    typeof schema === 'object' &&
    schema !== null &&
    'content' in schema &&
    'description' in schema &&
    typeof schema.description === 'string'
  )
}
