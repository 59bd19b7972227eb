import type { FastifyContextConfig, FastifySchema } from 'fastify'

interface HeaderFacts {
  readonly status: number
  readonly isSuccess: boolean
  readonly isWrite: boolean
  /** Supports an Idempotency-Key. */
  readonly isKeyed: boolean
  /** Returns a list in pages. */
  readonly isPaged: boolean
  readonly config: FastifyContextConfig
}

interface ResponseHeader {
  readonly name: string
  readonly description: string
  readonly isSent: (facts: HeaderFacts) => boolean
}

const headers: readonly ResponseHeader[] = [
  {
    name: 'ETag',
    description: 'Version of the record, for If-Match and If-None-Match',
    isSent: ({ status, isSuccess, config }) => config.hasEtag === true && (isSuccess || status === 304),
  },
  {
    name: 'Location',
    description: 'Address of the record, also before it exists',
    isSent: ({ status }) => status === 201 || status === 202,
  },
  {
    name: 'Link',
    description: 'rel="next": the next page, if there is one',
    isSent: ({ isSuccess, isPaged }) => isSuccess && isPaged,
  },
  {
    name: 'X-Commit-Position',
    description: 'Position of the write, for X-Min-Commit-Position',
    isSent: ({ isSuccess, isWrite }) => isSuccess && isWrite,
  },
  {
    name: 'X-Projection-Lag-Ms',
    description: 'Milliseconds by which the answer may be behind X-Min-Commit-Position, if it is',
    isSent: ({ status, config }) => config.servedBy !== undefined && tellsOfRecords(status),
  },
  {
    name: 'Idempotency-Replayed',
    description: 'true if the Idempotency-Key was used before, and this is the record of that request',
    isSent: ({ isSuccess, isWrite, isKeyed }) => isSuccess && isWrite && isKeyed,
  },
  {
    name: 'Preference-Applied',
    description: 'The preferences of Prefer that were applied: wait=N, respond-async',
    isSent: ({ status, isSuccess, isWrite, config }) =>
      (isSuccess || status === 304) && (isWrite || config.takesWait === true),
  },
  {
    name: 'Retry-After',
    description: 'Seconds until the next request; on success while the record is not final',
    isSent: ({ status, isSuccess, config }) =>
      [202, 429, 503].includes(status) || (config.takesWait === true && (isSuccess || status === 304)),
  },
  {
    name: 'Deprecation',
    description: 'Since when the route is deprecated (RFC 9745)',
    isSent: ({ config }) => config.deprecation !== undefined,
  },
  {
    name: 'Sunset',
    description: 'Until when the route answers at least (RFC 8594)',
    isSent: ({ config }) => config.deprecation !== undefined,
  },
  {
    name: 'WWW-Authenticate',
    description: 'Required authentication',
    isSent: ({ status }) => status === 401 || status === 403,
  },
]

/**
 * Whether an answer of a GET depends on the read models, so that it can be behind. Other refusals do not depend on
 * them.
 */
export function tellsOfRecords(status: number): boolean {
  return status < 400 || status === 404
}

export type AnsweringRoute = Pick<HeaderFacts, 'isWrite' | 'isKeyed' | 'config'>

/**
 * Adds the headers of each answer to a route's (hoisted) schema, for OpenAPI, beside those that the route declares. The
 * common headers are documented elsewhere.
 */
export function withResponseHeaders(schema: FastifySchema, route: AnsweringRoute): FastifySchema {
  const isPaged = holdsCursor(schema.querystring)
  const answers: readonly [string, unknown][] = Object.entries(schema.response ?? {})
  const response = answers.map(([code, answer]) => {
    const status = Number(code)
    const isSuccess = status >= 200 && status < 300
    const sent = headers.filter(({ isSent }) => isSent({ ...route, status, isSuccess, isPaged }))
    const described = sent.map(({ name, description }) => [name, { type: 'string', description }] as const)
    if (sent.length === 0) return [code, answer] as const
    const own: object = Object(answer)
    const declared: unknown = Reflect.get(own, 'headers')
    return [code, { ...own, headers: { ...Object(declared), ...Object.fromEntries(described) } }] as const
  })
  return { ...schema, response: Object.fromEntries(response) }
}

function holdsCursor(querystring: unknown): boolean {
  const members: unknown =
    typeof querystring === 'object' && querystring !== null && 'properties' in querystring
      ? querystring.properties
      : undefined
  return typeof members === 'object' && members !== null && 'cursor' in members
}
