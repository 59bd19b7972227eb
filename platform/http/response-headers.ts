import type { FastifyContextConfig, FastifySchema } from 'fastify'

interface HeaderFacts {
  readonly status: number
  readonly isSuccess: boolean
  readonly isWrite: boolean
  /** Honours an Idempotency-Key. */
  readonly isKeyed: boolean
  /** A list that is answered page by page. */
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
    description: 'Where the record is, or will be',
    isSent: ({ status }) => status === 201 || status === 202,
  },
  {
    name: 'Link',
    description: 'rel="next": the next page, where there is one',
    isSent: ({ isSuccess, isPaged }) => isSuccess && isPaged,
  },
  {
    name: 'X-Commit-Position',
    description: 'Place of the write, for X-Min-Commit-Position',
    isSent: ({ isSuccess, isWrite }) => isSuccess && isWrite,
  },
  {
    name: 'X-Projection-Lag-Ms',
    description: 'Milliseconds by which the answer may be behind X-Min-Commit-Position, where it is',
    isSent: ({ status, config }) => config.servedBy !== undefined && tellsOfRecords(status),
  },
  {
    name: 'Idempotency-Replayed',
    description: 'true where the Idempotency-Key was seen before, and this is the record of then',
    isSent: ({ isSuccess, isWrite, isKeyed }) => isSuccess && isWrite && isKeyed,
  },
  {
    name: 'Preference-Applied',
    description: 'The preferences of Prefer that were honoured: wait=N, respond-async',
    isSent: ({ status, isSuccess, isWrite, config }) =>
      (isSuccess || status === 304) && (isWrite || config.takesWait === true),
  },
  {
    name: 'Retry-After',
    description: 'Seconds after which to ask again; of a success while there is no end yet',
    isSent: ({ status, isSuccess, config }) =>
      [202, 429, 503].includes(status) || (config.takesWait === true && (isSuccess || status === 304)),
  },
  {
    name: 'WWW-Authenticate',
    description: 'What the caller has to prove',
    isSent: ({ status }) => status === 401 || status === 403,
  },
]

/** Whether such an answer of a GET says what the read models hold, so that it can be behind: any other refusal says nothing of them. */
export function tellsOfRecords(status: number): boolean {
  return status < 400 || status === 404
}

export type AnsweringRoute = Pick<HeaderFacts, 'isWrite' | 'isKeyed' | 'config'>

/** Each answer of a route's (hoisted) schema with the headers that it may have, beside those of every answer, for OpenAPI. */
export function withResponseHeaders(schema: FastifySchema, route: AnsweringRoute): FastifySchema {
  const isPaged = holdsCursor(schema.querystring)
  const answers: readonly [string, unknown][] = Object.entries(schema.response ?? {})
  const response = answers.map(([code, answer]) => {
    const status = Number(code)
    const isSuccess = status >= 200 && status < 300
    const sent = headers.filter(({ isSent }) => isSent({ ...route, status, isSuccess, isPaged }))
    const described = sent.map(({ name, description }) => [name, { type: 'string', description }] as const)
    return [
      code,
      sent.length === 0 ? answer : { ...(Object(answer) as object), headers: Object.fromEntries(described) },
    ] as const
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
