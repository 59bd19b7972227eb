import { Type, type TObject } from 'typebox'
import type { SealedLog } from '../../contracts/audit/sealed-log.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, orgQueryOf } from '../../platform/http/parameters.ts'
import { invalidMember, problem, type ProblemCode } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { tenantFor } from '../../platform/http/tenancy.ts'
import { parseTilePath } from '../../platform/transparency-log/tiles.ts'

export interface LogRouteDependencies {
  readonly sealedLog: SealedLog
}

const access = { scopes: ['audit:read'] as const, alsoOfActor: true as const }
const text = 'text/plain; charset=utf-8'

interface Described<Query extends TObject> {
  readonly description: string
  readonly type?: string
  readonly params?: TObject
  readonly query: Query
  readonly problems?: readonly ProblemCode[]
}

const noQuery = Type.Object({}, { additionalProperties: false })

function schemaOf<Query extends TObject>(
  operationId: string,
  summary: string,
  { description, type = 'text/plain', params, query, problems = [] }: Described<Query>,
) {
  const content = { description, content: { [type]: { schema: Type.String() } } }
  return {
    operationId,
    summary,
    ...(params === undefined ? {} : { params }),
    querystring: query,
    response: answers({ 200: content }, ['not-found', ...problems]),
  }
}

/** The sealed log as C2SP tlog-tiles lays it out, its keys, and proofs of single events. */
export function logRoutes(app: ServiceApp, { sealedLog }: LogRouteDependencies): void {
  const config = { access }

  app.get(
    '/log/checkpoint',
    {
      config,
      schema: schemaOf('readLogCheckpoint', 'The newest seal of the log', {
        description: 'A signed note of C2SP tlog-checkpoint',
        query: noQuery,
      }),
    },
    async (_, reply) =>
      reply
        .type(text)
        .header('cache-control', 'no-store')
        .send(existing(await sealedLog.checkpoint())),
  )

  app.get(
    '/log/key',
    {
      config,
      schema: schemaOf('readLogKeys', 'The keys that sign seals', {
        description: 'Keys of C2SP signed-note, one a line, the newest first',
        query: noQuery,
      }),
    },
    async (_, reply) => reply.type(text).send(existing(await sealedLog.keys())),
  )

  const tile = schemaOf('readLogTile', 'A tile of the log', {
    description:
      'Hashes, or entries with their lengths, as C2SP tlog-tiles has them. A number above 999 and a partial tile have further parts of the path, such as `x001/234.p/56`. Bundles of entries are for platform clients',
    type: 'application/octet-stream',
    query: noQuery,
    params: Type.Object({
      level: Type.String({ description: '0 to 63, or `entries`' }),
      index: Type.String({ description: 'Three digits' }),
    }),
    problems: ['platform-client-required'],
  })
  for (const [path, schema] of [
    ['/log/tile/:level/:index', tile],
    // The longer paths of the same tiles, which the document cannot express.
    ['/log/tile/*', { hide: true }],
  ] as const)
    app.get(path, { config, schema }, async (request, reply) => {
      const named = /\/log\/(tile\/[^?]*)/.exec(request.url)?.[1] ?? ''
      const asked = parseTilePath(named)
      if (asked === undefined) throw problem('not-found')
      if (asked.level === 'entries' && request.caller.orgId !== null) throw problem('platform-client-required')
      const bytes = existing(await sealedLog.tile(asked))
      return reply
        .type('application/octet-stream')
        .header('cache-control', 'private, immutable, max-age=31536000')
        .send(bytes)
    })

  app.get(
    '/log/proof',
    {
      config,
      schema: schemaOf('proveEvent', 'A proof that the log contains an event', {
        description:
          'A proof of C2SP tlog-proof. Its line `extra` is the entry of the event. `audit check` verifies it offline',
        query: Type.Object({ event_id: Uuid, ...orgQueryOf('optional') }, { additionalProperties: false }),
        problems: ['event-not-sealed'],
      }),
    },
    async (request, reply) => {
      const tenant = tenantFor('optional', request.caller, access, namedOrg(request.query))
      const proof = existing(await sealedLog.proof(request.query.event_id.toLowerCase(), tenant))
      if (proof === 'not-sealed') throw problem('event-not-sealed')
      return reply.type(text).send(proof.text)
    },
  )

  const size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
  app.get(
    '/log/consistency',
    {
      config,
      schema: schemaOf('proveConsistency', 'A proof that the log only grew', {
        description: 'The hashes of RFC 6962 between two sizes of the log, in base64, one a line',
        query: Type.Object({ from: size, to: size }, { additionalProperties: false }),
      }),
    },
    async (request, reply) => {
      const { from, to } = request.query
      if (from > to) throw invalidMember('/from', 'must not be above `to`', 'not-in-order')
      const hashes = existing(await sealedLog.consistency(from, to))
      return reply.type(text).send(hashes.map((hash) => `${hash.toString('base64')}\n`).join(''))
    },
  )
}

/** @throws Problem `not-found` */
function existing<Answer>(answer: Answer | null): Answer {
  if (answer === null) throw problem('not-found')
  return answer
}
