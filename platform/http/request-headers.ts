import type { FastifyContextConfig } from 'fastify'
import { Type, type TSchema } from 'typebox'
import { purposesOfUse } from '../kit/personal-content.ts'

interface HeaderFacts {
  readonly isKeyed: boolean
  readonly isRead: boolean
  readonly config: FastifyContextConfig
}

interface RequestHeader {
  readonly name: string
  readonly description: string
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly isHonoured: (facts: HeaderFacts) => boolean
}

const headers: readonly RequestHeader[] = [
  {
    name: 'idempotency-key',
    description:
      'The same key with the same body returns the same record; 1 to 255 visible ASCII characters. Quotes around it do not count',
    pattern: '^[!#-~]{1,255}$',
    isHonoured: ({ isKeyed }) => isKeyed,
  },
  {
    name: 'if-match',
    description: 'ETag of the version that the caller has; 412 if there is another version',
    isHonoured: ({ config }) => config.takesIfMatch === true,
  },
  {
    name: 'if-none-match',
    description: 'ETag of the version that the caller has; 304 if it is still the newest',
    isHonoured: ({ isRead, config }) => isRead && config.hasEtag === true,
  },
  {
    name: 'x-min-commit-position',
    description:
      'X-Commit-Position of a write that the answer should contain; X-Projection-Lag-Ms is present if it does not yet',
    pattern: '^[0-9]{1,20}/[0-9]{1,20}$',
    isHonoured: ({ config }) => config.servedBy !== undefined,
  },
  {
    name: 'prefer',
    description:
      'wait=N holds the answer until the record is final, at most N seconds (25); Preference-Applied confirms it',
    isHonoured: ({ config }) => config.takesWait === true,
  },
  {
    name: 'x-purpose-of-use',
    description:
      'Why the caller looks at personal content, for the access log: a code of HL7 PurposeOfUse. ETREAT is published as an emergency access',
    enum: purposesOfUse,
    isHonoured: ({ config }) => config.showsPersonal === true,
  },
]

/**
 * The request headers that a route supports, for its OpenAPI description. The readers of the headers check their form.
 */
export function requestHeaders(facts: HeaderFacts): { readonly headers?: TSchema } {
  const honoured = headers.filter(({ isHonoured }) => isHonoured(facts))
  if (honoured.length === 0) return {}
  return {
    headers: Type.Object(
      Object.fromEntries(
        honoured.map(({ name, description, pattern, enum: values }) => [
          name,
          Type.Optional(
            values === undefined
              ? Type.String({ description, ...(pattern === undefined ? {} : { pattern }) })
              : Type.Enum([...values], { description }),
          ),
        ]),
      ),
    ),
  }
}
