import type { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { builtInScopes } from '../../commands/auth/scopes.ts'
import type { Moment } from '../../contracts/audit/as-of.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Pool, PoolClient } from '../../platform/database/database.ts'
import { createApplication } from '../../platform/http/application.ts'
import { problem } from '../../platform/http/problems.ts'
import type { Access } from '../../platform/http/shown-content.ts'
import type { Service, ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { createHealth } from '../../platform/observability/health.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { createMetrics } from '../../platform/observability/metrics.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { readModels } from '../../projections/registry.ts'
import { translateStageError } from '../stage-errors.ts'
import { erasureIn, eventsUpTo, pastLoad, type PastLoad } from './past-events.ts'
import { pastListsOfPatient, pastSources } from './past-sources.ts'
import { pastTables, withQuery } from './past-tables.ts'

export interface PastDependencies {
  readonly pool: Pool
  readonly store: Pick<EventStore, 'head' | 'readStream' | 'readTimes'>
  readonly isCurrent: (projector: string) => Promise<boolean>
  readonly now: () => Date
  readonly logger: Logger
  readonly configuration: Configuration
  readonly objects: ObjectStore
  /** The services over other read models and another clock. `load` knows the streams of the answer, up to the moment. */
  readonly services: (past: { pool: Pool; now: () => Date; objects: ObjectStore; load: PastLoad }) => readonly Service[]
}

/** The answer that runs. */
export interface Past {
  readonly tenant: TenantId
  readonly moment: Moment
  readonly client: PoolClient
  /** The path is that of a record with answers of the past. */
  isRecord?: boolean
  /** The connection with the read models of the moment. Undefined before they exist. */
  tables?: PoolClient
  /** See `PastLoad`. */
  load?: PastLoad
  /** Why there is no answer: the person of it was erased, or its events cannot be read. */
  refusal?: unknown
  /** The access record of the answer, if it shows something personal. */
  access?: Access
}

/** Stands for a signed address in an answer. */
export const noAddress = 'urn:no-address'

/** Today's routes over the read models of the running answer. It listens nowhere. `secret` opens the routes of administrators. */
export async function pastApplication(
  { pool, store, isCurrent, configuration, objects, logger, services }: PastDependencies,
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
    const read = async () => {
      const streams = await sources({ pool, store, tenant, param, isCurrent })
      return { streams, events: await eventsUpTo(store, streams, moment.position) }
    }
    const { streams, events } = await read().catch((error: unknown) => {
      past().refusal = error
      throw error
    })
    past().refusal = erasureIn(events, streams)
    past().load = pastLoad(streams, events)
    const names = request.routeOptions.config.servedBy ?? []
    past().tables = pastTables(
      client,
      readModels.filter(({ name }) => names.includes(name)),
      events,
    )
  }
  const refuseOthers = async ({ routeOptions }: FastifyRequest): Promise<void> => {
    const path = routeOptions.config.documentedPath ?? ''
    past().isRecord = path in pastSources
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
      load: (target) => past().load?.(target),
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

/** Signed addresses end soon, so an answer of the past has none. */
function withoutAddresses(objects: ObjectStore): ObjectStore {
  const noSigned = async () => ({ url: noAddress, expiresAt: new Date(0) })
  return { ...objects, presignRead: noSigned, presignDownload: noSigned, presignWrite: noSigned }
}
