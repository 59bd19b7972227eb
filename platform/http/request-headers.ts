import type { FastifyContextConfig } from 'fastify'
import { Type, type TSchema } from 'typebox'

interface HeaderFacts {
  readonly isKeyed: boolean
  readonly isRead: boolean
  readonly config: FastifyContextConfig
}

const documented = {
  'idempotency-key': 'The same key with the same body is answered with the same record; 1 to 255 visible ASCII characters',
  'if-match': 'ETag of the record as the caller knows it; 412 when there is another version',
  'if-none-match': 'ETag of the version that the caller has; 304 when it is still the newest',
  'x-min-commit-position': 'X-Commit-Position of a write that the answer should show; X-Projection-Lag-Ms says that it does not yet',
  prefer: 'wait=N holds the answer until the record is over, N seconds (25) at most; Preference-Applied says that it was honoured',
} as const

/** The headers of requests that a route honours, for its OpenAPI description. Their forms are checked where they are read. */
export function requestHeaders({ isKeyed, isRead, config }: HeaderFacts): { readonly headers?: TSchema } {
  const honoured = {
    'idempotency-key': isKeyed,
    'if-match': config.takesIfMatch === true,
    'if-none-match': isRead && config.hasEtag === true,
    'x-min-commit-position': config.servedBy !== undefined,
    prefer: config.takesWait === true,
  }
  const names = Object.keys(documented).filter((name): name is keyof typeof documented => honoured[name as keyof typeof documented])
  if (names.length === 0) return {}
  return { headers: Type.Object(Object.fromEntries(names.map((name) => [name, Type.Optional(Type.String({ description: documented[name] }))]))) }
}
