import { v7 } from 'uuid'
import type { FollowedPatientErasures } from '../contracts/clinical/followed-erasures.ts'
import type { PatientExports } from '../contracts/audit/export.ts'
import { createCaseLookup, createCaseRead } from '../processes/adapters/case-lookup.ts'
import { createConsentCheck, createConsentRead } from '../processes/adapters/consent-check.ts'
import { createImageFetch } from '../processes/adapters/image-fetch.ts'
import { createPlatformToken } from '../processes/adapters/platform-token.ts'
import { createProvider, type Provider } from '../processes/adapters/provider.ts'
import { createRecipientLookup } from '../processes/adapters/recipient-lookup.ts'
import { createReviewSupersession } from '../processes/adapters/review-supersession.ts'
import { createWebhookSender } from '../processes/adapters/webhook-sender.ts'
import { createWebhookSignatures } from '../processes/adapters/webhook-signatures.ts'
import { createExportRuns } from '../processes/audit/export-runs.ts'
import type { ProcessDependencies } from '../processes/dependencies.ts'
import { ChannelReader, type ChannelReaderStatus } from '../processes/foreign-events/channel-reader.ts'
import { createAccessMonthSweep } from '../processes/housekeeping/sweep-access-months.ts'
import { createErasedSweep } from '../processes/clinical/sweep-erased.ts'
import { createRestoredBucketSweep } from '../processes/clinical/sweep-restored-bucket.ts'
import { createSweep } from '../processes/housekeeping/sweep-objects.ts'
import { startSweeps, sweepSchedule } from '../processes/housekeeping/sweeps.ts'
import { channels, processes } from '../processes/registry.ts'
import { startSealing, type Sealing } from '../processes/sealing/sealing.ts'
import { firstOrigin } from '../contracts/audit/log-record.ts'
import { createRelay, type RelayStatus } from '../engine/relay/relay.ts'
import { bindProcess } from '../engine/processes/process.ts'
import { createClaimsPool } from '../engine/processes/claims-pool.ts'
import type { Listeners } from '../engine/processes/wake-ups.ts'
import { Workers } from '../engine/processes/workers.ts'
import { createDeliveryBodies } from '../processes/webhooks/delivery-body.ts'
import type { ProjectionRunner } from '../engine/projections/runner.ts'
import type { EventFilter } from '../engine/store/subscription-options.ts'
import type { Pool } from '../platform/database/database.ts'
import type { Egress } from '../platform/outbound/egress.ts'
import type { Tracer } from '../platform/kit/tracing.ts'
import type { GracefulStop } from '../platform/lifecycle/graceful-stop.ts'
import type { Logger } from '../platform/observability/logging.ts'
import { ConfigurationError } from '../platform/configuration/profile-rules.ts'
import { createNotificationSenders, type NotificationSenders } from './notification-senders.ts'
import { untilServicesAnswer } from './service-gate.ts'

export interface ProcessorOptions {
  /** Input of the steps, in addition to the adapters of outside systems. */
  readonly given: Pick<
    ProcessDependencies,
    | 'store'
    | 'vault'
    | 'objects'
    | 'configuration'
    | 'now'
    | 'failpoint'
    | 'identityProvider'
    | 'patientStreams'
    | 'usersOfPatient'
  > & { readonly patientExports: PatientExports }
  readonly erasures: Pick<FollowedPatientErasures, 'destroyedKeys'>
  readonly egress: Egress
  readonly pool: Pool
  /** Address of the same database. */
  readonly databaseUrl: string
  readonly filter: EventFilter
  readonly runner: ProjectionRunner | undefined
  readonly listeners: Listeners
  readonly logger: Logger
  readonly stop: GracefulStop
  readonly tracer: Tracer
}

/** The processor role. Relays run from its start; steps run after `beginSteps`. */
export interface Processor {
  readonly relays: readonly { status(): RelayStatus }[]
  readonly foreignChannels: readonly { status(): ChannelReaderStatus }[]
  readonly sealing: Pick<Sealing, 'status'>
  readonly provider: Pick<Provider, 'server' | 'identify'>
  readonly senders: NotificationSenders
  /**
   * Checks whether the provider is the simulator. A provider that is away may come later: its first answer decides.
   * @throws ConfigurationError in production, if it is the simulator
   */
  identifyProvider(): Promise<void>
  /** Looks for work that became claimable without an event. */
  wake(): void
  /** True until steps begin. */
  areStepsWaiting(): boolean
  /**
   * Steps call our own services. With `await`, steps begin after services elsewhere answer and accept our credentials.
   */
  beginSteps(services: 'here' | 'await'): Promise<void>
}

const identifyTimeoutMs = 2_000

export function startProcessor({
  given,
  erasures,
  egress,
  pool,
  databaseUrl,
  filter,
  runner,
  listeners,
  logger,
  stop,
  tracer,
}: ProcessorOptions): Processor {
  const { store, objects, configuration, now } = given
  const { baseUrl, consentBaseUrl, clinicalBaseUrl, aiReviewBaseUrl, usersBaseUrl = baseUrl } = configuration
  const calls = { egress, token: createPlatformToken(egress, configuration, now) }
  const provider = createProvider(egress, configuration, now)
  // After the workers, because their steps use the session, and before the connections close.
  stop.onStop('work', 'provider session', () => provider.close())
  const senders = createNotificationSenders(configuration, egress, now)
  for (const sender of Object.values(senders))
    stop.onStop('work', `sender ${sender.providerName}`, () => sender.close())
  const exports = createExportRuns({ objects, exports: given.patientExports, newId: v7, now })
  stop.onStop('work', 'exports', () => exports.close())
  const deps: ProcessDependencies = {
    ...given,
    exports,
    ...senders,
    provider,
    images: createImageFetch(egress),
    consent: consentBaseUrl === undefined ? createConsentRead(store) : createConsentCheck(calls, consentBaseUrl),
    cases: clinicalBaseUrl === undefined ? createCaseRead(store) : createCaseLookup(calls, clinicalBaseUrl),
    reviews: createReviewSupersession(calls, aiReviewBaseUrl),
    webhooks: createWebhookSender(egress, configuration),
    signatures: createWebhookSignatures(given.vault),
    bodies: createDeliveryBodies(given),
    recipients: createRecipientLookup(calls, usersBaseUrl),
    random: Math.random,
  }
  const claims = createClaimsPool({ url: databaseUrl, logger })
  stop.onStop('resources', 'claims', () => claims.end())
  const workers = new Workers({
    eventStore: store,
    pool: claims,
    processes: processes.map((process) => bindProcess(process, deps)),
    filter,
    logger,
    now,
    workers: configuration.processWorkers,
    stepTimeoutMs: configuration.stepTimeoutMs,
    stepLeaseMs: configuration.stepLeaseMs,
    parking: { after: configuration.stepParkAfter, retrySeconds: configuration.stepParkedRetrySeconds },
    instance: configuration.instanceId,
    listeners,
    tracer,
    ...(runner === undefined ? {} : { runner }),
  })
  const relays = channels.map((channel) => {
    const relay = createRelay({ eventStore: store, channel, pool, logger, deps: { store, objects, configuration } })
    relay.start()
    stop.onStop('work', `relay ${channel.stream}`, () => relay.close())
    return relay
  })
  const foreignChannels = configuration.foreignChannels.map((channel) => {
    const reader = new ChannelReader({ store, channel, pool, logger, now, failpoint: given.failpoint })
    reader.start()
    stop.onStop('work', `foreign channel ${channel.name}`, () => reader.close())
    return reader
  })
  const sweepObjects = createSweep({ store, objects, configuration, now })
  const sweeps = startSweeps({
    sweeps: [
      {
        what: 'objects that no event names',
        run: async (signal) => {
          const { staging, images, uploads } = await sweepObjects(signal)
          return staging + images + uploads
        },
      },
      { what: 'keys of access logs past their retention', run: createAccessMonthSweep(given) },
      { what: 'late objects of erased patients', run: createErasedSweep({ deps, erasures }) },
      { what: 'objects of erased patients in a restored bucket', run: createRestoredBucketSweep(deps) },
    ],
    schedule: sweepSchedule(configuration),
    pool,
    logger,
  })
  stop.onStop('reactions', 'sweeps', () => sweeps.close())
  const sealing = startSealing({
    ...given,
    origin: firstOrigin(configuration, given.vault),
    egress,
    pool,
    logger,
  })
  stop.onStop('work', 'sealing', () => sealing.close())
  let areStepsWaiting = true
  return {
    relays,
    foreignChannels,
    sealing,
    provider,
    senders,
    async identifyProvider() {
      await provider.identify(AbortSignal.any([stop.signal, AbortSignal.timeout(identifyTimeoutMs)]))
      if (provider.server() === 'simulator' && configuration.profile === 'production') {
        throw new ConfigurationError(
          'PROVIDER_BASE_URL must not be the provider simulator when APP_ENV is production: it invents its results',
        )
      }
    },
    wake: () => workers.wake(),
    areStepsWaiting: () => areStepsWaiting,
    async beginSteps(services) {
      const elsewhere = [consentBaseUrl, clinicalBaseUrl].filter((address) => address !== undefined)
      const called = [...elsewhere, aiReviewBaseUrl, usersBaseUrl]
      if (services === 'await') await untilServicesAnswer(calls, called, logger, stop.signal)
      if (stop.isStopping) return
      areStepsWaiting = false
      workers.start()
      stop.onStop('reactions', 'workers', () => workers.close(2_000))
    },
  }
}
