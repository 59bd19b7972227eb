import type { FastifyContextConfig } from 'fastify'
import { Type, type TSchema } from 'typebox'

interface HeaderFacts {
  readonly isKeyed: boolean
  readonly isRead: boolean
  readonly config: FastifyContextConfig
}

interface RequestHeader {
  readonly name: string
  readonly description: string
  readonly isHonoured: (facts: HeaderFacts) => boolean
}

const headers: readonly RequestHeader[] = [
  {
    name: 'idempotency-key',
    description: 'The same key with the same body is answered with the same record; 1 to 255 visible ASCII characters',
    isHonoured: ({ isKeyed }) => isKeyed,
  },
  {
    name: 'if-match',
    description: 'ETag of the record as the caller knows it; 412 when there is another version',
    isHonoured: ({ config }) => config.takesIfMatch === true,
  },
  {
    name: 'if-none-match',
    description: 'ETag of the version that the caller has; 304 when it is still the newest',
    isHonoured: ({ isRead, config }) => isRead && config.hasEtag === true,
  },
  {
    name: 'x-min-commit-position',
    description:
      'X-Commit-Position of a write that the answer should show; X-Projection-Lag-Ms says that it does not yet',
    isHonoured: ({ config }) => config.servedBy !== undefined,
  },
  {
    name: 'prefer',
    description:
      'wait=N holds the answer until the record is over, N seconds (25) at most; Preference-Applied says that it was honoured',
    isHonoured: ({ config }) => config.takesWait === true,
  },
]

/** The headers of requests that a route honours, for its OpenAPI description. Their forms are checked where they are read. */
export function requestHeaders(facts: HeaderFacts): { readonly headers?: TSchema } {
  const honoured = headers.filter(({ isHonoured }) => isHonoured(facts))
  if (honoured.length === 0) return {}
  return {
    headers: Type.Object(
      Object.fromEntries(honoured.map(({ name, description }) => [name, Type.Optional(Type.String({ description }))])),
    ),
  }
}
