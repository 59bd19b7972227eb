import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { v7 } from 'uuid'
import type { Static, TArray, TObject, TSchema, TString } from 'typebox'
import type { Access, Caller } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { readsBothCasings, type Casing } from '../../platform/http/both-casings.ts'
import { lowerCaseIds, readsAddresses } from '../../platform/http/rewritten-members.ts'
import { requireNoBody } from '../../platform/http/no-body.ts'
import { idParams, namedOrg, OrgQuery, type IdParams } from '../../platform/http/parameters.ts'
import type { ProblemCode } from '../../platform/http/problems.ts'
import { answerWrite, requireMatch, type ReplyHead, type ServingProjector } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import { personalReaderOf } from '../../platform/http/personal-members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { nameShown, requireLiving, type Persons } from '../../platform/http/shown-content.ts'
import { isPlatformWide, tenantFor, type Tenancy, type TenantFor } from '../../platform/http/tenancy.ts'
import { noOrganisation, type CommandContext } from '../../platform/kit/tenants.ts'
import type { Position, StreamRevision } from '../../platform/kit/positions.ts'
import type { DomainEvent } from '../store/events.ts'
import type { CommandReply } from './command-replies.ts'
import type { Decision } from './decision.ts'
import type { CommandDependencies } from './dependencies.ts'
import { execute, existing, type CommandTarget, type Executed, type Existing } from './execute.ts'
import { keyedRequest, keyProblems, unkeyedRequest, type KeyedRequest } from './keyed-request.ts'
import { mintId } from './mint-id.ts'
import { answeringRefusals, type AnsweredDecision, type RefusalAnswer } from './refusals.ts'

/** Every command route documents these problems. */
type UsualRefusal = 'not-found' | 'conflict' | 'validation-failed' | 'precondition-failed' | 'idempotency-key-reused'

export interface CommandRoute<
  Path extends string,
  Body extends TObject | TArray,
  Reply,
  Name extends string,
  Code extends ProblemCode,
  Kind extends Tenancy = 'required',
> extends Pick<FastifyContextConfig, 'hasEtag' | 'takesWait' | 'mayLackBody'> {
  /** A POST is keyed: it honours an Idempotency-Key. */
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the service's mount. Its parameters are UUIDs, but for `textParams`. */
  readonly path: Path
  readonly textParams?: { readonly [Name in keyof NoInfer<IdParams<Path>>]?: TString }
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly access: Access
  /** `optional`: a platform caller need not name an organisation, and `tenant` is null then. `or-none`: it is `noOrganisation`. */
  readonly tenancy?: Kind
  /** If omitted, the route refuses a body with members. */
  readonly body?: Body
  /** The casing of the schema's members, if the route accepts both casings. */
  readonly casing?: Casing
  /** The part of the body that the fingerprint of a keyed request covers. Default: all of it. */
  readonly fingerprinted?: (body: Static<NoInfer<Body>>) => unknown
  readonly reply: CommandReply<Reply, NoInfer<IdParams<Path>>>
  /** The projectors of the tables that serve the record. The answer waits until they contain the write. */
  readonly readBy: readonly ServingProjector[]
  /** The problem for each refusal whose name is not a problem code. */
  readonly refusals?: { readonly [Refused in Name]: RefusalAnswer<MemberOf<NoInfer<Body>>> }
  /** Further problems of the route, and refusals with the name of a problem. OpenAPI lists them. */
  readonly problems?: readonly Code[]
  /** `stream`: If-Match is compared with the stream that `run` decides on. `record`: `handle` compares it. */
  readonly ifMatch?: 'stream' | 'record'
  /**
   * The persons whose content the record shows. Required if an answer with 200 has a schema that marks personal content.
   * `patientId` is that of `handle`.
   */
  readonly shows?: (
    record: NoInfer<Reply>,
    command: { readonly params: NoInfer<IdParams<Path>>; readonly patientId?: string | null | undefined },
  ) => Persons
  /** The route answers about a patient whose erasure has begun. */
  readonly showsErased?: true
  readonly handle: (
    command: Command<IdParams<Path>, Static<Body>, NoInfer<Name | Code> | UsualRefusal, NoInfer<Kind>>,
  ) => Promise<Handled<NoInfer<Reply>>>
}

type MemberOf<Body extends TObject | TArray> = Extract<keyof Static<Body>, string>

/** One request of a command route. */
interface Command<Params, Body, Name extends string, Kind extends Tenancy = 'required'> {
  readonly tenant: TenantFor<Kind>
  /** The caller acts for every organisation, whichever one the request names. */
  readonly isPlatformWide: boolean
  readonly caller: Caller
  /** In lower case. */
  readonly params: Params
  /** Its ids are in lower case. */
  readonly body: Body
  /** Its fingerprint covers the body as it was sent, or the part that the route selects. */
  readonly keyed: KeyedRequest
  /** A UUID v7 for a record that the request creates. `keyed.id` is a UUID v5 and needs no append. A repeat gets the same. */
  readonly newId: (part?: string) => Promise<string>
  readonly now: Date
  readonly context: CommandContext
  /**
   * Executes a decision for the request, and maps its refusals as the route declares. The decision creates the record, or
   * refuses without one.
   */
  readonly run: <State extends object, Event extends DomainEvent>(
    target: CommandTarget<State, Event>,
    decide: (state: State) => Decision<Event, Name>,
    beforeAppend?: (revision: StreamRevision) => Promise<void>,
  ) => Promise<Executed<Existing<State>, Event>>
  /** For functions that call `execute` themselves. */
  readonly answering: <Event extends DomainEvent>(decision: Decision<Event, Name>) => AnsweredDecision<Event>
  readonly request: FastifyRequest
  readonly reply: ReplyHead
}

/** The parts of the answer: `{ ...await run(…), record }`. */
interface Handled<Reply> extends Pick<Executed<unknown, DomainEvent>, 'events'> {
  readonly record: Reply
  /** Position of the write, or of the events that a repeat found. */
  readonly reached: Position | undefined
  /** Revision of the record, for the ETag. */
  readonly revision: StreamRevision
  /** Whether the keyed request is a repeat. Default: a POST without events is one. */
  readonly isReplayed?: boolean
  /** A create found an equal record instead. */
  readonly isFound?: boolean
  readonly retryAfterSeconds?: number | undefined
  /** For `shows`, if the record does not name its patient. */
  readonly patientId?: string | null
}

/**
 * Registers the route of a command. It does the work that all routes share. `handle` builds the command and runs it.
 */
export function commandRoute<
  const Path extends string,
  Body extends TObject | TArray,
  Reply,
  Name extends string = never,
  Code extends ProblemCode = never,
  Kind extends Tenancy = 'required',
>(app: ServiceApp, deps: CommandDependencies, route: CommandRoute<Path, Body, Reply, Name, Code, Kind>): void {
  const { method, body: bodySchema, reply: replies, ifMatch, readBy, hasEtag = false } = route
  const { takesWait = false, mayLackBody = false, shows } = route
  const contentOf = personalReaderOf(replies.schema)
  // The repeat of a create may show what others have changed or added since.
  const isMarkedCreate = contentOf !== undefined && replies.status !== 200 && replies.mayFind !== true
  const { store, vault } = deps
  const isKeyed = method === 'POST'
  const texts: Readonly<Record<string, TString>> = { ...route.textParams }
  const answering = answeringRefusals<string>(route.refusals ?? {})
  const withLowerCaseIds = lowerCaseIds(bodySchema)
  const members = bodySchema !== undefined && 'properties' in bodySchema ? bodySchema.properties : {}
  const isAboutPatient = route.showsErased !== true && (shows !== undefined || namesPatient(replies.schema))
  const erased = isAboutPatient ? (['subject-erased'] as const) : []
  const problems: readonly ProblemCode[] = [...new Set([...(route.problems ?? []), ...erased])]
  const namesOrg = orgMembers.some((name) => name in members)
  const needsOrg = (route.tenancy ?? 'required') === 'required' || problems.includes('org-required')
  const codes = Object.values<RefusalAnswer>(route.refusals ?? {}).map(({ code }) => code)

  app.route({
    method,
    url: route.path,
    preValidation: [
      ...(route.casing === undefined || bodySchema === undefined ? [] : [readsBothCasings(route.casing)]),
      ...(mayLackBody ? [takesNoBodyAsEmpty] : []),
      ...readsAddresses(bodySchema),
    ],
    schema: {
      operationId: route.operationId,
      summary: route.summary,
      ...(route.description === undefined ? {} : { description: route.description }),
      ...(route.path.includes(':') ? { params: idParams(route.path, texts) } : {}),
      querystring: OrgQuery(namesOrg && needsOrg ? 'inBody' : route.tenancy),
      ...(bodySchema === undefined ? {} : { body: bodySchema }),
      response: answers(
        { ...(replies.mayFind === true ? { 200: replies.schema } : {}), [replies.status]: replies.schema },
        [...problems, ...codes, ...(isKeyed ? keyProblems : [])],
      ),
    },
    config: {
      access: route.access,
      hasEtag,
      takesWait,
      mayLackBody,
      takesIfMatch: ifMatch !== undefined,
      ...(shows === undefined && !isMarkedCreate ? {} : { showsPersonal: true }),
    },
    handler: async (request, reply) => {
      // The schemas above have validated these. Their types are lost in fastify.
      const given = request.body as Static<Body>
      const params = lowerCased(request.params as IdParams<Path>, texts)
      const named = namedOrg(request.query, namesOrg ? organisationOf(given) : undefined)
      const tenant = tenantFor(route.tenancy, request.caller, route.access, named)
      if (bodySchema === undefined) requireNoBody(given)
      const fingerprinted = bodySchema === undefined ? null : (route.fingerprinted?.(given) ?? given)
      const keyed = isKeyed ? keyedRequest(request, tenant, vault, fingerprinted) : unkeyedRequest()
      const context = commandContext(request, tenant === null || tenant === noOrganisation ? {} : { orgId: tenant })

      const handled = await route.handle({
        tenant,
        isPlatformWide: isPlatformWide(request.caller, route.access),
        caller: request.caller,
        params,
        body: withLowerCaseIds(given),
        keyed,
        newId: async (part = '') =>
          keyed.reservedKey === null
            ? v7()
            : mintId(deps, tenant ?? noOrganisation, `id\0${part}\0${keyed.reservedKey}`, context),
        now: deps.now(),
        context,
        answering,
        request,
        reply,
        run: async (target, decide, beforeAppend) => {
          const done = await execute(
            store,
            target,
            (state) => answering(decide(state)),
            context,
            async (revision) => {
              if (ifMatch === 'stream') requireMatch(request, revision)
              await beforeAppend?.(revision)
            },
          )
          // Also compare the revision if nothing changes: the caller may have another version. The repeat of a POST may
          // expect the revision before its first request.
          if (ifMatch === 'stream' && !isKeyed && done.events.length === 0) requireMatch(request, done.revision)
          return { ...done, state: existing(done.state) }
        },
      })
      const {
        record,
        reached,
        revision,
        events,
        isReplayed = isKeyed && events.length === 0,
        isFound = false,
      } = handled
      const persons = shows?.(record, { params, patientId: handled.patientId }) ?? {
        patientId: handled.patientId ?? patientIn(record),
      }
      // A repeat of an earlier request appends nothing, so nothing else refuses it.
      if (route.showsErased !== true) requireLiving(request, tenant ?? noOrganisation, persons)
      if (contentOf !== undefined && (shows !== undefined || isReplayed))
        nameShown(request, tenant ?? noOrganisation, [{ content: contentOf(record), persons }])
      return answerWrite(reply, {
        status: isFound ? 200 : replies.status,
        body: record,
        location: isFound ? undefined : replies.location?.(record, params),
        position: reached,
        readBy,
        ...(hasEtag ? { revision } : {}),
        isReplayed,
        retryAfterSeconds: handled.retryAfterSeconds,
      })
    },
  })
}

async function takesNoBodyAsEmpty(request: FastifyRequest): Promise<void> {
  if (request.body === undefined) request.body = {}
}

function lowerCased<Ids extends Readonly<Record<string, string>>>(ids: Ids, texts: object): Ids {
  // The names stay, so the type does.
  return Object.fromEntries(
    Object.entries(ids).map(([name, id]) => [name, name in texts ? id : id.toLowerCase()]),
  ) as Ids
}

/** Whether the records of a schema name their patient. */
function namesPatient(schema: TSchema): boolean {
  const { properties = {} }: { readonly properties?: object } = schema
  return 'patient_id' in properties || 'patientId' in properties
}

/** The patient that a record names. */
function patientIn(record: unknown): string | null {
  const { patient_id: snake, patientId = snake }: Readonly<Record<string, unknown>> = Object(record)
  return typeof patientId === 'string' ? patientId : null
}

/** Members of bodies that name the organisation. */
const orgMembers = ['organisationId', 'org_id', 'orgId']

function organisationOf(body: object): string | undefined {
  const members = new Map<string, unknown>(Object.entries(body))
  return orgMembers.map((name) => members.get(name)).find((named) => typeof named === 'string')
}
