import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { openAccessLog } from '../commands/audit/access-log.ts'
import { createClientKeys } from '../commands/auth/client-keys.ts'
import { openProvenance } from '../contracts/audit/provenance.ts'
import { openSealedLog } from '../contracts/audit/sealed-log.ts'
import { auditRecords } from '../contracts/audit/records-in-order.ts'
import { openChannels } from '../contracts/events/channels.ts'
import { countStreams } from '../engine/reads/open-streams.ts'
import { followTokenEndings } from '../contracts/auth/token-endings.ts'
import type { IdentityProvider } from '../contracts/users/identity-provider.ts'
import { hasReviewLimits } from '../processes/ai-review/held-back.ts'
import { processes } from '../processes/registry.ts'
import { Listeners, notifyWorkers } from '../engine/processes/wake-ups.ts'
import { readModels } from '../projections/registry.ts'
import { createWritePool } from '../engine/projections/batch-writer.ts'
import { ReadPositions } from '../engine/projections/read-positions.ts'
import { ProjectionRunner } from '../engine/projections/runner.ts'
import type { EventStore } from '../engine/store/event-store.ts'
import type { Configuration } from '../platform/configuration/configuration.ts'
import { createFailpoint, createGracefulStop, type GracefulStop } from '../platform/lifecycle/graceful-stop.ts'
import { createEgress } from '../platform/outbound/egress.ts'
import { OutsideCalls } from '../platform/outbound/outside-calls.ts'
import { createHealth } from '../platform/observability/health.ts'
import { listenForMetrics } from '../platform/observability/metrics-listener.ts'
import { createMetrics } from '../platform/observability/metrics.ts'
import { createApplication } from '../platform/http/application.ts'
import { createCursors } from '../platform/http/cursors.ts'
import { createTokenIssuer } from '../platform/http/tokens.ts'
import type { Logger } from '../platform/observability/logging.ts'
import type { Vault } from '../platform/vault/vault.ts'
import type { MasterKeyRing } from '../platform/vault/master-keys.ts'
import { errorCode } from '../platform/kit/error-codes.ts'
import { newId } from '../platform/kit/new-id.ts'
import { requireSealedLog } from './audit/log-went-back.ts'
import { createOperations, readSeen } from './operations/operations.ts'
import { showFigures } from './operations/figures.ts'
import { storeOutsideCalls } from './operations/outside-systems.ts'
import { workOnProjections } from './operations/projection-worker.ts'
import { Rates } from './operations/minute-rates.ts'
import { storeRates } from './operations/rates.ts'
import { recordSecretUses } from './operations/secret-uses.ts'
import { workOffRetries } from './operations/retry-worker.ts'
import { showSignsOfLife } from './operations/signs-of-life.ts'
import { createSubjects } from './operations/subjects.ts'
import { probeSystems, systemProbes } from './operations/system-probes.ts'
import { openActorReader } from './actor-contexts.ts'
import { backupAgeCheck } from './backup/schedule.ts'
import { openCallHold } from './call-hold.ts'
import { createConsole } from './console/console.ts'
import { addHealthChecks, objectStoreCheck } from './health-checks.ts'
import { requireForeignChannels } from './foreign-events.ts'
import { createIdentityProvider } from './identity-provider.ts'
import { startProcessor } from './processor.ts'
import { providerChecks, startProviderReports } from './provider-reports.ts'
import { readAttendance } from './projections/attendance.ts'
import { listedStreams, projectedStreams } from './projections/projected-streams.ts'
import { skippedIn } from './projections/skip.ts'
import { applyLedger, erasuresCheck } from './erasure-ledger.ts'
import { patientFinders } from './patient-streams.ts'
import { openObjectStore, openResources } from './resources.ts'
import type { Role } from './roles.ts'
import { addAccessLogMetrics, addRuntimeMetrics } from './runtime-metrics.ts'
import { pastOfServices } from './as-of/past-of-services.ts'
import { createExports } from './export/exports.ts'
import type { PatientExports } from '../contracts/audit/export.ts'
import { consoleServicesOf, servicesOf, type ServiceDependencies } from './services.ts'
import { clearly } from './start-errors.ts'
import { translateStageError } from './stage-errors.ts'
import { openTraces } from './traces.ts'
import { createWriteProbe } from './write-probe.ts'

export interface PlatformOptions {
  readonly configuration: Configuration
  readonly masterKeys: MasterKeyRing
  readonly logger: Logger
  readonly roles: readonly Role[]
  readonly stop?: GracefulStop
  readonly now?: () => Date
  /** The read models' database disappeared while the platform is running. */
  readonly onDatabaseGone?: () => void
  /** Prepares what the event store must contain before the first request. */
  readonly beforeListening?: (opened: { readonly store: EventStore; readonly vault: Vault }) => Promise<void>
}

export interface Platform {
  readonly app: FastifyInstance
  readonly store: EventStore
  readonly vault: Vault
  readonly roles: readonly Role[]
  /** Undefined if neither API nor processor runs. */
  readonly identityProvider: IdentityProvider | undefined
  /** Undefined if neither projector nor processor runs. */
  readonly runner: ProjectionRunner | undefined
  readonly port: number
  /** Resolves when every read model and to-do list of this instance has caught up. */
  readonly caughtUp: () => Promise<void>
  readonly stop: GracefulStop
}

/**
 * How long an answer that decides something waits for its read model, in milliseconds. A caller that retries instead
 * would wait for a newer head each time. Under a steady load it would never find the read model current.
 */
const decisiveWaitMs = 4_000

/**
 * Time limits of an answer for the event store, in milliseconds. A caller learns within five seconds that it is away,
 * and repeats the request. Steps of processes wait longer.
 */
const answerLimits = { appendTimeoutMs: 4_000, appendBudgetMs: 4_000, readBudgetMs: 4_000 }

/** Milliseconds for which events wait for others, if nobody waits for them. */
const gatherMs = 25

/** Builds the roles from the registries and starts them. It is ready when `/health/ready` answers 200. */
export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const { configuration, logger, roles, now = () => new Date() } = options
  const stop = options.stop ?? createGracefulStop({ logger })
  const filter = { streamPrefixes: projectedStreams }
  const runsApi = roles.includes('api')
  const runsProjector = roles.includes('projector')
  const runsProcessor = roles.includes('processor')
  requireForeignChannels(configuration)
  const health = createHealth({ profile: configuration.profile, roles })
  const metrics = createMetrics({ health })
  const rates = new Rates(now)
  const processId = randomUUID()
  const { tracer, begin: beginTraces } = await openTraces(configuration, metrics, processId)
  const { databaseUrl, vault, store, pool, erasures } = await openResources({
    ...options,
    stop,
    now,
    filter,
    tracer,
    onAppend(append) {
      metrics.countAppend(append)
      if (append.outcome === 'done') rates.appended(append.events)
    },
  })

  const hold = await clearly('ESDB_URL', () => openCallHold(store, logger))
  stop.onStop('work', 'held calls', () => hold.close())
  store.watchLeader(createWriteProbe(store, now))

  const projectors = [
    ...(runsProjector ? readModels : []),
    ...(runsProcessor ? processes.map((process) => process.list) : []),
  ]
  const read = runsProjector ? filter : { streamPrefixes: listedStreams }
  const { onDatabaseGone } = options
  const writePool = projectors.length === 0 ? undefined : createWritePool({ url: databaseUrl, logger })
  if (writePool !== undefined) stop.onStop('resources', 'batches', () => writePool.end())
  const runner =
    writePool === undefined
      ? undefined
      : new ProjectionRunner({
          eventStore: store,
          pool,
          writePool,
          projectors,
          filter: read,
          skips: skippedIn(store),
          logger,
          gatherMs,
          tracer,
          ...(onDatabaseGone === undefined ? {} : { onDatabaseGone }),
        })
  runner?.start()
  if (runner !== undefined) stop.onStop('work', 'projections', () => runner.close())
  // Wakes the workers of other instances when this one's runner adds to a to-do list.
  const listeners = new Listeners()
  if (runner !== undefined && runsProcessor)
    stop.onStop('work', 'word of new work', notifyWorkers(runner, pool, logger, listeners))
  const reads = new ReadPositions({ pool, projectors: readModels, ...(runner === undefined ? {} : { runner }) })
  stop.onStop('work', 'read positions', () => reads.close())

  const answering = store.within(answerLimits)
  const isCurrentWithin = (waitMs: number) => (projector: string) =>
    reads.requireHead((asked) => answering.head(filter, asked), projector, waitMs)
  const isCurrent = isCurrentWithin(decisiveWaitMs)
  const failpoint = createFailpoint(configuration)
  const calls = new OutsideCalls({ onCall: (call) => metrics.countCall(call), clock: now, tracer })
  const objects = runsApi || runsProcessor ? await openObjectStore({ configuration, stop, now, calls }) : undefined
  const egress = createEgress({ configuration, logger, calls, isHeld: () => hold.isHeld() })
  stop.onStop('resources', 'egress', () => egress.close())
  beginTraces(egress, stop)
  // Before anything is appended to an event store that may be a wrong copy.
  if (objects !== undefined)
    await clearly('VAULT_DATABASE_URL', () => requireSealedLog({ configuration, store, vault, objects, egress }))
  const identityProvider = objects === undefined ? undefined : createIdentityProvider(configuration, egress, now)
  const late = Promise.withResolvers<PatientExports>()
  const patientExports: PatientExports = {
    async *files(order) {
      yield* (await late.promise).files(order)
    },
  }
  const processor =
    runsProcessor && objects !== undefined && identityProvider !== undefined
      ? startProcessor({
          given: {
            store,
            vault,
            objects,
            configuration,
            now,
            failpoint,
            identityProvider,
            patientExports,
            ...patientFinders({ pool, isCurrent }),
          },
          erasures,
          egress,
          pool,
          databaseUrl,
          filter: read,
          runner,
          listeners,
          logger,
          stop,
          tracer,
        })
      : undefined
  const served = runsApi && !runsProjector ? readModels : []
  const areStepsWaiting = () => !hold.isHeld() && processor?.areStepsWaiting() === true
  const endings = runsApi ? followTokenEndings({ store, vault, now, logger }) : undefined
  if (endings !== undefined) stop.onStop('work', 'ended tokens', () => endings.close())
  const attendance = () => readAttendance(pool)
  addHealthChecks(health, {
    host: configuration.host,
    endings,
    pool,
    store,
    runner,
    attendance,
    served,
    relays: processor?.relays ?? [],
    foreignChannels: processor?.foreignChannels ?? [],
    provider: processor?.provider,
    sealing: processor?.sealing,
    now,
    runsProcessor,
    areStepsWaiting,
    aiReviewGuards: runsProcessor && hasReviewLimits(configuration) ? { logger, now } : undefined,
  })
  addRuntimeMetrics(metrics, { attendance, runner, relays: processor?.relays ?? [] })

  for (const check of [hold.check, backupAgeCheck(configuration, store, now)])
    if (check !== undefined) health.register(check)
  if (objects !== undefined) health.register(objectStoreCheck(objects))
  await clearly('ESDB_URL', () => erasures.caughtUp)
  if (objects !== undefined) {
    const applied = await applyLedger({ store, vault, objects, logger, now })
    if (runsProcessor) health.register(erasuresCheck(applied, pool, configuration))
  }
  const callOthers = async () => {
    if (objects !== undefined) for (const check of providerChecks(pool)) health.register(check)
    if (processor !== undefined) {
      const reports = startProviderReports({ senders: processor.senders, pool, logger })
      stop.onStop('work', 'provider reports', () => reports.close())
      await reports.first
    }
    await processor?.identifyProvider()
  }
  // A release during the start counts after it. Otherwise steps would begin without these calls.
  const startsHeld = hold.isHeld()
  if (!startsHeld) await callOthers()

  const stored = { pool, logger }
  const work = { pool, failedRetentionSeconds: configuration.failedRetentionSeconds }
  const operations = { ...work, store: async () => answering, now }
  const reported = [
    { what: 'rates', work: storeRates({ ...stored, id: processId, rates }) },
    { what: 'outcomes of calls', work: storeOutsideCalls({ ...stored, calls }) },
    {
      what: 'probes of systems',
      work: probeSystems({ calls, probes: systemProbes({ objects, processor, identityProvider }), logger }),
    },
    {
      what: 'signs of life',
      work: showSignsOfLife({ ...stored, id: processId, roles, health, now, relays: processor?.relays ?? [] }),
    },
    {
      what: 'figures',
      work: showFigures({ read: () => readSeen(operations), metrics, showsSteps: runsProcessor, logger }),
    },
  ]
  if (processor !== undefined)
    reported.push({
      what: 'retries',
      work: workOffRetries({ ...work, logger, store, now, wake: () => processor.wake() }),
    })
  if (runsProjector)
    reported.push({ what: 'operations on read models', work: workOnProjections({ ...stored, databaseUrl, store }) })
  for (const { what, work } of reported) stop.onStop('work', what, () => work.close())

  let isRefusing = false
  const tokens = createTokenIssuer({
    keys: vault,
    issuer: `${configuration.baseUrl}/v1/auth`,
    audience: configuration.baseUrl,
    ttlSeconds: configuration.tokenTtlSeconds,
    endings,
    now,
  })
  const channels = openChannels(answering)
  stop.onStop('work', 'event feed', () => channels.close())
  const streams = countStreams()
  const accessLog = runsApi ? openAccessLog({ store: answering, configuration, logger, now, newId }) : undefined
  if (accessLog !== undefined) {
    addAccessLogMetrics(metrics, accessLog)
    stop.onStop('work', 'access log', () => accessLog.close())
  }
  const given =
    objects !== undefined && identityProvider !== undefined
      ? {
          store: answering,
          vault,
          objects,
          identityProvider,
          failpoint,
          configuration,
          now,
          tokens,
          clientKeys: createClientKeys({ egress, configuration, now }),
          pool,
          cursors: createCursors({ key: await vault.secret('cursor', 'current'), now }),
          isCurrent,
          positionOf: (projector: string) => reads.storedPosition(projector),
          channels,
          records: auditRecords(answering),
          sealedLog: openSealedLog({ store: answering, vault, objects }),
          provenance: openProvenance({ store: answering, vault, objects, configuration }),
          operations: createOperations(operations),
          subjects: createSubjects({
            ...work,
            records: auditRecords(answering),
            isErased: (orgId, patientId) => vault.isClosed(orgId, patientId),
          }),
          streams,
        }
      : undefined
  const past = given === undefined ? undefined : withPast(given, logger, stop)
  if (past !== undefined) late.resolve(createExports(past))
  const services = past === undefined || !runsApi ? [] : servicesOf(past)
  const operatorsConsole =
    past === undefined || !runsApi || configuration.console === 'off'
      ? undefined
      : createConsole({
          ...past,
          egress,
          services: (requireSession) => consoleServicesOf({ ...past, requireSession }),
        })
  const app = await createApplication({
    configuration,
    logger,
    services,
    health,
    metrics: {
      ...metrics,
      count(request) {
        rates.request(request)
        metrics.count(request)
      },
    },
    verifyToken: (token) => tokens.verify(token),
    actors: await openActorReader({
      configuration,
      store,
      vault,
      now,
      pool,
      isCurrent,
      egress: runsApi ? egress : undefined,
      stop,
    }),
    translateError: translateStageError,
    pseudonymOf: (text) => vault.fingerprint(text),
    readYourWrites: (position, names, timeoutMs) => reads.waitFor(position, names, timeoutMs),
    isCurrent: isCurrentWithin(configuration.readYourWritesMs),
    ...(accessLog === undefined ? {} : { accessLog }),
    console: operatorsConsole,
    tracer,
    onAdministratorSecret: recordSecretUses(answering, now),
    isErased: (orgId, patientId) => vault.isClosed(orgId, patientId),
    isStopping: () => isRefusing,
  })
  stop.onStop('intake', 'http', () => app.close())
  stop.onStop('intake', 'event streams', () => streams.close())
  // The last registered step ends first. Requests are refused before the server closes, and only after no step needs
  // them.
  stop.onStop('intake', 'refusal', () => {
    isRefusing = true
  })
  await clearly('VAULT_DATABASE_URL', async () => options.beforeListening?.({ store, vault }))
  await listen(app, configuration)
  if (configuration.metricsPort !== undefined) {
    const listener = await listenForMetrics(metrics, { host: configuration.host, port: configuration.metricsPort })
    stop.onStop('intake', 'metrics', () => listener.close())
  }
  await endings?.caughtUp
  // Steps call our own services, so they start when those answer. A call during the start would waste an attempt.
  const beginSteps = async () => processor?.beginSteps(runsApi ? 'here' : 'await')
  if (!startsHeld) await beginSteps()
  else
    void hold.released
      .then(callOthers)
      .then(beginSteps)
      .catch((error: unknown) => {
        logger.error({ component: 'calls', err: error }, 'calls were released, and cannot be made')
      })
  const { port } = app.server.address() as AddressInfo
  return { app, store, vault, roles, identityProvider, runner, port, stop, caughtUp: async () => runner?.caughtUp() }
}

/** With the answers of the same services over read models of the past. */
function withPast(given: Omit<ServiceDependencies, 'asOf'>, logger: Logger, stop: GracefulStop): ServiceDependencies {
  const asOf = pastOfServices(given, logger)
  stop.onStop('intake', 'answers of the past', () => asOf.close())
  return { ...given, asOf }
}

async function listen(app: FastifyInstance, { host, port }: Configuration): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    const code = errorCode(error)
    if (code === 'EADDRINUSE')
      throw new Error(`port ${port} of ${host} is taken: set PORT to another one`, { cause: error })
    if (code === 'EACCES')
      throw new Error(`port ${port} of ${host} needs more rights: set PORT to 1024 or above`, { cause: error })
    throw error
  }
}
