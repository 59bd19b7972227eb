import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { builtInScopes } from '../../commands/auth/scopes.ts'
import type { AsOf, Moment, PastAnswer } from '../../contracts/audit/as-of.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Pool, PoolClient } from '../../platform/database/database.ts'
import { translateStageError } from '../stage-errors.ts'
import { createApplication } from '../../platform/http/application.ts'
import { problem, type Problem } from '../../platform/http/problems.ts'
import type { Access } from '../../platform/http/shown-content.ts'
import type { Service, ServiceApp } from '../../platform/http/service.ts'
import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { createHealth } from '../../platform/observability/health.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { createMetrics } from '../../platform/observability/metrics.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { readModels } from '../../projections/registry.ts'
import { pastListsOfPatient, pastSources, type PastStream } from './past-sources.ts'
import { momentOf } from './moments.ts'
import { fillPastTables, withQuery } from './past-tables.ts'

export interface PastDependencies {
  readonly pool: Pool
  readonly store: Pick<EventStore, 'readStream' | 'readTimes'>
  readonly now: () => Date
  readonly logger: Logger
  readonly configuration: Configuration
  readonly objects: ObjectStore
  /** The services over other read models and another clock. */
  readonly services: (past: { pool: Pool; now: () => Date; objects: ObjectStore }) => readonly Service[]
}

/** The answer that runs. */
interface Past {
  readonly tenant: TenantId
  readonly moment: Moment
  readonly client: PoolClient
  /** The connection with the read models of the moment. Undefined before they exist. */
  tables?: PoolClient
  /** The person of the answer was erased. */
  refusal?: Problem | undefined
  /** The access record of the answer, if it shows something personal. */
  access?: Access
}

/** Answers at a time in a process. */
const mostAnswers = 4
/** Stands for a signed address in an answer. */
const noAddress = 'urn:no-address'

/**
 * Answers of the past: today's routes in an application of its own, which listens nowhere. Its read models exist for one
 * answer, and contain the events up to the moment. The application is made for the first answer.
 */
export function createPastAnswers(deps: PastDependencies): AsOf & { close(): Promise<void> } {
  const running = new AsyncLocalStorage<Past>()
  const secret = randomBytes(32).toString('base64url')
  let application: Promise<FastifyInstance> | undefined
  let free = mostAnswers
  const waiting: (() => void)[] = []

  async function answerOn(client: PoolClient, tenant: TenantId, moment: Moment, url: string): Promise<PastAnswer> {
    application ??= pastApplication(deps, running, secret)
    const app = await application
    const past: Past = { tenant, moment, client }
    const headers = { authorization: 'Bearer past', 'x-admin-api-secret': secret }
    const { statusCode: status, body } = await running.run(past, async () => app.inject({ url, headers }))
    if (past.refusal !== undefined) throw past.refusal
    // Without its read models the answer is one of the present, unless the path or the query is wrong.
    if (past.tables === undefined && status !== 400) throw problem('path-not-supported')
    if (status >= 500) throw problem('internal-error')
    const { patientIds: [patientId] = [], subjectUserId } = past.access ?? {}
    return { status, body: bodyOf(status, body), persons: { patientId, userId: subjectUserId ?? undefined } }
  }

  return {
    async answer(tenant, moment, path) {
      if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
      else free -= 1
      try {
        const client = await deps.pool.connect()
        try {
          await client.query('begin')
          return await answerOn(client, tenant, moment, path)
        } finally {
          await client.query('rollback').then(
            () => client.release(),
            () => client.release(true),
          )
        }
      } finally {
        const next = waiting.shift()
        if (next === undefined) free += 1
        else next()
      }
    },
    momentOf: (at) => momentOf(deps, at),
    paths: [
      ...Object.keys(pastSources),
      ...Object.keys(pastListsOfPatient).map((path) => `${path}?patient_id=:id`),
    ].map((path) => path.replaceAll(/:(\w+)/g, '{$1}')),
    async close() {
      await (await application)?.close()
    },
  }
}

async function pastApplication(
  { pool, store, configuration, objects, logger, services }: PastDependencies,
  running: AsyncLocalStorage<Past>,
  secret: string,
): Promise<FastifyInstance> {
  const past = (): Past => {
    const found = running.getStore()
    if (found === undefined) throw new TypeError('an answer of the past without its moment')
    return found
  }
  const scopes = new Set(builtInScopes.keys())
  const health = createHealth({ profile: configuration.profile })
  const fill = async (request: FastifyRequest): Promise<void> => {
    const { tenant, moment, client } = past()
    const param = parametersOf(request)
    const sources = sourcesOf(request.routeOptions.config.documentedPath ?? '', param)
    if (sources === undefined) throw problem('not-found')
    const streams = await sources({ pool, store, tenant, param })
    const events = await eventsUpTo(store, streams, moment.position)
    past().refusal = erasureIn(events)
    const names = request.routeOptions.config.servedBy ?? []
    past().tables = await fillPastTables(
      client,
      readModels.filter(({ name }) => names.includes(name)),
      events,
    )
  }
  const refuseOthers = async ({ routeOptions }: FastifyRequest): Promise<void> => {
    const path = routeOptions.config.documentedPath ?? ''
    if (!(path in pastSources || path in pastListsOfPatient)) throw problem('not-found')
  }
  return createApplication({
    configuration: { ...configuration, rateLimits: 'off', adminApiSecret: secret },
    // The log has the request of the caller. The secret of administrators is an internal one here.
    logger: { debug: nothing, info: nothing, warn: nothing, error: (...line) => logger.error(...line) },
    services: services({
      pool: withQuery(
        pool,
        (today) => (text, values) => past().tables?.query(text, [...values]) ?? today(text, values),
      ),
      now: () => past().moment.at,
      objects: withoutAddresses(objects),
    }).map((service) => ({
      ...service,
      routes: (app: ServiceApp) => {
        app.addHook('preValidation', refuseOthers)
        app.addHook('preHandler', fill)
        service.routes(app)
      },
    })),
    health,
    metrics: createMetrics({ health }),
    verifyToken: async () => ({ ...auditor, orgId: past().tenant, scopes: [...scopes], grantedScopes: scopes }),
    actors: { selected: refuseActor, read: async () => refuseActor() },
    translateError: translateStageError,
    pseudonymOf: (text) => text,
    readYourWrites: async () => ({ caughtUp: true, lagMs: 0 }),
    // The route of audit records it as its own.
    accessLog: { record: async (access) => void (past().access = access) },
  })
}

const nothing = () => undefined

/** The caller of every answer. It sees the whole organisation. */
const auditor = {
  clientId: 'audit',
  productId: null,
  trustedActorContext: false,
  secretId: null,
  clientRevision: 0,
  tokenId: 'audit',
  issuedAt: 0,
  expiresAt: 0,
}

function refuseActor(): never {
  throw new TypeError('an answer of the past has no actor')
}

function parametersOf({ params, query }: FastifyRequest): (name: string) => string {
  const given = new Map<string, unknown>([...Object.entries(query ?? {}), ...Object.entries(params ?? {})])
  return (name) => {
    const value = given.get(name)
    return typeof value === 'string' ? value.toLowerCase() : ''
  }
}

function sourcesOf(path: string, param: (name: string) => string) {
  return pastSources[path] ?? (param('patient_id') === '' ? undefined : pastListsOfPatient[path])
}

/** The events of the streams up to a position, in the order of the log. */
async function eventsUpTo(
  store: PastDependencies['store'],
  streams: readonly PastStream[],
  upTo: Position,
): Promise<RecordedEvent[]> {
  const each = await Promise.all(
    streams.map(async ({ stream, firstRevision = 0n, lastRevision }) => {
      const events: RecordedEvent[] = []
      const limit = lastRevision === undefined ? {} : { limit: Number(lastRevision - firstRevision) + 1 }
      for await (const event of store.readStream(stream, { from: firstRevision, ...limit })) {
        if (comparePositions(event.position, upTo) > 0) break
        events.push(event)
      }
      return events
    }),
  )
  return each.flat().toSorted((a, b) => comparePositions(a.position, b.position) || Number(a.revision - b.revision))
}

/** The personal members of a person whose key was destroyed are null. */
function erasureIn(events: readonly RecordedEvent[]): Problem | undefined {
  for (const { type, data } of events) {
    const personal = personalMembers[type]
    if (personal?.every((member) => Reflect.get(Object(data), member) === null) === true)
      return problem(type === 'UserCreated' ? 'user-erased' : 'subject-erased')
  }
  return undefined
}

const personalMembers: Readonly<Record<string, readonly string[]>> = {
  UserCreated: ['email', 'displayName'],
  PatientRegistered: ['givenName', 'familyName', 'dob', 'identifiers'],
}

/** Signed addresses end soon, so an answer of the past has none. */
function withoutAddresses(objects: ObjectStore): ObjectStore {
  const noSigned = async () => ({ url: noAddress, expiresAt: new Date(0) })
  return { ...objects, presignRead: noSigned, presignDownload: noSigned, presignWrite: noSigned }
}

/** Hints for polling are about the present, and so are the ids of the request in a problem. */
function bodyOf(status: number, text: string): unknown {
  if (text === '') return null
  const leftOut = status < 400 ? ['next_poll_after_ms'] : ['instance', 'request_id']
  return JSON.parse(text, (name, value: unknown) =>
    leftOut.includes(name) ? undefined : value === noAddress ? null : value,
  )
}
