import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { Type, type Static, type TObject, type TSchema } from 'typebox'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { Access, Caller } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import type { Cursors, listQuery } from '../../platform/http/cursors.ts'
import { namedOrg, orgQueryOf } from '../../platform/http/parameters.ts'
import { problem, type ProblemCode } from '../../platform/http/problems.ts'
import { found, type FoundRecord } from '../../platform/http/replies.ts'
import { personalReaderOf } from '../../platform/http/personal-members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { nameShown, requireLiving, type Persons } from '../../platform/http/shown-content.ts'
import { tenantFor, type Tenancy, type TenantFor } from '../../platform/http/tenancy.ts'
import { heldRecord } from '../../platform/http/waiting.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { Projector } from '../projections/projector.ts'

/** Dependencies of the GET routes. They read tables, never streams. */
export interface ReadDependencies {
  readonly pool: Pool
  readonly cursors: Cursors
  readonly objects: ObjectStore
  readonly configuration: Configuration
  readonly now: () => Date
  /**
   * Signs consent receipts and actor contexts, opens personal members, finds the HMACs that tables have in their place, and knows
   * whose erasure has begun.
   */
  readonly vault: Pick<Vault, 'signingKey' | 'subjectKeyForReading' | 'cachedSubjectKey' | 'fingerprint' | 'closedOf'>
  /** Waits some seconds until a read model contains everything recorded before the call. False if it does not. */
  readonly isCurrent: (projector: string) => Promise<boolean>
  /** The place up to which a read model contains the log. Undefined for one that this program cannot judge. */
  readonly positionOf: (projector: string) => Promise<Position | undefined>
}

export type Members = Readonly<Record<string, TSchema>>
export type NoMembers = Readonly<Record<string, never>>

/** The request. UUIDs of the path and the query are in lower case. */
export interface ReadRequest<Params extends Members, Query extends Members, Kind extends Tenancy = 'required'> {
  readonly tenant: TenantFor<Kind>
  readonly params: Static<TObject<Params>>
  readonly query: Static<TObject<Query>>
  readonly headers: FastifyRequest['headers']
  readonly caller: Caller
}

export interface RouteDeclaration<Params extends Members, Query extends Members, Kind extends Tenancy = 'required'> {
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly params?: Params
  /** Query parameters, beside those that name the organisation. */
  readonly query?: Query
  readonly access: Access
  /** `optional`: a platform caller need not name an organisation, and `tenant` is null then. `or-none`: it is `noOrganisation`. */
  readonly tenancy?: Kind
  /** The projectors whose tables the route reads. A request may wait for them, and a 404 is certain. */
  readonly servedBy: readonly Projector[]
  /** Problems beside those that follow from the other members. */
  readonly problems?: readonly ProblemCode[]
  /** The caller must name the organisation, even if its token does. */
  readonly orgMustBeNamed?: boolean
}

/** A record with its version, and headers of its answer. */
interface VersionedRecord<Body> extends FoundRecord<Body> {
  readonly headers?: Readonly<Record<string, string>>
  /** For `shows`, if the record does not name its patient. */
  readonly patientId?: string | null | undefined
}

/** The record of a row, at the revision of its stream. */
export function atRevision<View extends { readonly streamRevision: string }, Body>(
  view: View,
  toBody: (view: View) => Body,
): FoundRecord<Body> {
  return { body: toBody(view), revision: BigInt(view.streamRevision) }
}

type Answer<Request, Body> =
  | { readonly handle: (request: Request) => Promise<Body> }
  | {
      /** Instead of `handle`. The answer has an ETag, and is a 304 if the caller has this version. */
      readonly find: (request: Request) => Promise<VersionedRecord<Body>>
      /** With `Prefer: wait`, the answer comes once this is true. */
      readonly holdUntil?: (body: Body) => boolean
    }

export type ReadRoute<
  Params extends Members,
  Query extends Members,
  Reply extends TSchema,
  Kind extends Tenancy = 'required',
> = RouteDeclaration<Params, Query, Kind> & {
  readonly reply: Reply
  /** The route answers about an erased patient too: its answer has ids, hashes and nulls then. */
  readonly showsErased?: true
  /** The persons whose content the answer shows. Required if the schema of the reply marks personal content. */
  readonly shows?: (
    answer: Static<NoInfer<Reply>>,
    request: ReadRequest<Params, Query, NoInfer<Kind>> & Pick<VersionedRecord<unknown>, 'patientId'>,
  ) => Persons
} & Answer<ReadRequest<Params, Query, NoInfer<Kind>>, Static<Reply>>

/** A GET of one answer. */
export function readRoute<
  Reply extends TSchema,
  Params extends Members = NoMembers,
  Query extends Members = NoMembers,
  Kind extends Tenancy = 'required',
>(app: ServiceApp, route: ReadRoute<Params, Query, Reply, Kind>): void {
  const requestOf = requestReader(route)
  const hasEtag = 'find' in route
  const takesWait = hasEtag && route.holdUntil !== undefined
  const contentOf = personalReaderOf(route.reply)
  const { shows } = route
  const show = (
    request: FastifyRequest,
    asked: ReadRequest<Params, Query, Kind>,
    answer: Static<Reply>,
    patientId?: string | null,
  ) => {
    if (contentOf === undefined || shows === undefined) return
    const tenant = asked.tenant ?? noOrganisation
    const persons = shows(answer, { ...asked, patientId })
    if (route.showsErased !== true) requireLiving(request, tenant, persons)
    nameShown(request, tenant, [{ content: contentOf(answer), persons }])
  }
  app.get(
    route.path,
    {
      schema: schemaOf({ ...route, problems: problemsOf(route) }, route.reply),
      config: {
        ...configOf(route),
        ...(hasEtag ? { hasEtag } : {}),
        ...(takesWait ? { takesWait } : {}),
        ...(shows === undefined ? {} : { showsPersonal: true }),
      },
    },
    async (request, reply) => {
      const asked = requestOf(request)
      if (!('find' in route)) {
        const answer = await route.handle(asked)
        show(request, asked, answer)
        return answer
      }
      const { find, holdUntil } = route
      const record =
        holdUntil === undefined
          ? await find(asked)
          : await heldRecord(
              reply,
              () => find(asked),
              ({ body }) => holdUntil(body),
            )
      for (const [name, value] of Object.entries(record.headers ?? {})) reply.header(name, value)
      show(request, asked, record.body, record.patientId)
      return found(reply, record)
    },
  )
}

/** With the problem of every route that shows personal content of patients. */
export function problemsOf({
  problems = [],
  shows,
  showsErased = false,
}: {
  readonly problems?: readonly ProblemCode[]
  readonly shows?: unknown
  readonly showsErased?: boolean
}): readonly ProblemCode[] {
  return shows === undefined || showsErased ? problems : [...new Set([...problems, 'subject-erased' as const])]
}

export function schemaOf(
  {
    operationId,
    summary,
    description,
    params,
    query,
    tenancy,
    orgMustBeNamed = false,
    problems = [],
  }: RouteDeclaration<Members, Members, Tenancy>,
  reply: TSchema,
) {
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    ...(params === undefined ? {} : { params: Type.Object(params) }),
    querystring: Type.Object(
      { ...query, ...orgQueryOf(orgMustBeNamed ? 'named' : tenancy) },
      { additionalProperties: false },
    ),
    response: answers({ 200: reply }, problems),
  }
}

export function configOf({ access, servedBy }: RouteDeclaration<Members, Members, Tenancy>): FastifyContextConfig {
  return { access, ...(servedBy.length === 0 ? {} : { servedBy: servedBy.map(({ name }) => name) }) }
}

type ValidatedRequest = Pick<FastifyRequest, 'caller' | 'headers'> & {
  readonly params: unknown
  readonly query: Parameters<typeof namedOrg>[0]
}

/** Query parameters of lists, beside their filters. */
type PageQuery = Static<TObject<typeof listQuery>>

/** Reads the validated request. It does not change the request, because links repeat its values. */
export function requestReader<Params extends Members, Query extends Members, Kind extends Tenancy>({
  params,
  query,
  access,
  tenancy,
  orgMustBeNamed = false,
}: RouteDeclaration<Params, Query, Kind>) {
  const idsOfPath = idsOf(params)
  const idsOfQuery = idsOf(query)
  return (request: ValidatedRequest): ReadRequest<Params, Query, Kind> & { readonly query: PageQuery } => {
    const named = namedOrg(request.query)
    if (orgMustBeNamed && named === undefined) throw problem('org-required')
    return {
      tenant: tenantFor(tenancy, request.caller, access, named),
      // The route's schemas have validated both.
      params: inLowerCase(request.params, idsOfPath) as Static<TObject<Params>>,
      query: inLowerCase(request.query, idsOfQuery) as Static<TObject<Query>> & PageQuery,
      headers: request.headers,
      caller: request.caller,
    }
  }
}

function idsOf(members: Members = {}): readonly string[] {
  return Object.keys(members).filter(
    (name) => members[name] !== undefined && 'format' in members[name] && members[name].format === 'uuid',
  )
}

/** The same object if its ids are in lower case already. */
function inLowerCase(values: unknown, names: readonly string[]): object {
  let lowered = typeof values === 'object' && values !== null ? values : {}
  for (const name of names) {
    const id: unknown = Reflect.get(lowered, name)
    if (typeof id === 'string' && id !== id.toLowerCase()) lowered = { ...lowered, [name]: id.toLowerCase() }
  }
  return lowered
}

/**
 * For answers that decisions depend on. Throws unless the read model is current.
 * @throws Problem `read-model-behind` (503, Retry-After)
 */
export async function requireCurrent(
  { isCurrent }: Pick<ReadDependencies, 'isCurrent'>,
  ...projectors: readonly Projector[]
): Promise<void> {
  for (const { name } of projectors) {
    if (!(await isCurrent(name))) throw problem('read-model-behind', { retryAfterSeconds: 1 })
  }
}

/** True for `Cache-Control: no-cache` (RFC 9111, 5.2.1.4): the caller accepts no stale answer. */
export function wantsCurrent(cacheControl: string | undefined): boolean {
  return (cacheControl ?? '').split(',').some((directive) => directive.trim().toLowerCase() === 'no-cache')
}
