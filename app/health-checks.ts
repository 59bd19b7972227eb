import type { FollowedTokenEndings } from '../contracts/auth/token-endings.ts'
import type { Provider } from '../processes/adapters/provider.ts'
import { heldBackReviews } from '../processes/ai-review/held-back.ts'
import { discardedOfLastDay } from '../processes/notifications/discarded-events.ts'
import type { Attendance } from './projections/attendance.ts'
import { recentRejections, retainedDays } from './rejected-events.ts'
import { overdueAccountSteps } from '../processes/users/overdue-steps.ts'
import { readCheckpoints } from '../engine/projections/checkpoints.ts'
import type { Projector } from '../engine/projections/projector.ts'
import type { ProjectionRunner } from '../engine/projections/runner.ts'
import { fitOf } from '../engine/projections/schema.ts'
import type { EventStore } from '../engine/store/event-store.ts'
import type { SealingStatus } from '../processes/sealing/sealing.ts'
import type { Pool } from '../platform/database/database.ts'
import { isLoopbackHost } from '../platform/configuration/profile-rules.ts'
import type { Profile } from '../platform/kit/profiles.ts'
import type { Health, HealthCheck } from '../platform/observability/health.ts'
import type { Logger } from '../platform/observability/logging.ts'
import type { ObjectStore } from '../platform/storage/object-store.ts'

interface Watched {
  /** Address that the HTTP server binds to. */
  readonly host: string
  /** Undefined if no API runs. */
  readonly endings: Pick<FollowedTokenEndings, 'isCurrent'> | undefined
  readonly pool: Pool
  readonly store: EventStore
  readonly runner: ProjectionRunner | undefined
  readonly attendance: () => Promise<readonly Attendance[]>
  /** Read models that this process serves and another process fills. */
  readonly served: readonly Projector[]
  /** True until our own services have answered once. */
  readonly areStepsWaiting: () => boolean
  readonly relays: readonly { status(): { readonly state: string } }[]
  readonly foreignChannels: readonly { status(): { readonly state: string } }[]
  /** Undefined if no processor runs. */
  readonly provider: Pick<Provider, 'server'> | undefined
  /** Undefined if no processor runs. */
  readonly sealing: { status(): SealingStatus } | undefined
  readonly now: () => Date
  /** True if the processor runs, which brings accounts in line with the users, and makes notifications. */
  readonly runsProcessor: boolean
  /** What the check of the limits of AI reviews needs. Undefined if no processor runs, or no limit is set. */
  readonly aiReviewGuards: { readonly logger: Logger; readonly now: () => Date } | undefined
}

/**
 * Readiness requires that the servers of every request are reachable and that the read models have caught up once. A
 * read model that stops later turns `/health` red, but not `/health/ready`: one broken read model must
 * not take every API down.
 */
export function addHealthChecks(
  health: Health,
  {
    host,
    endings,
    pool,
    store,
    runner,
    attendance,
    served,
    areStepsWaiting,
    relays,
    foreignChannels,
    provider,
    sealing,
    now,
    runsProcessor,
    aiReviewGuards,
  }: Watched,
): void {
  let hasCaughtUp = runner === undefined && served.length === 0
  health.register({
    name: 'database',
    gatesReadiness: true,
    run: async () => {
      await pool.query('select 1')
      return { status: 'ok' }
    },
  })
  health.register({
    name: 'event_store',
    gatesReadiness: true,
    run: async () => {
      const since = store.refusesWritesSince()
      if (since !== undefined)
        return { status: 'failing', detail: `the event store accepts no writes since ${since.toISOString()}` }
      await store.readMetadata('health')
      return { status: 'ok' }
    },
  })
  health.register({
    name: 'event_store_subscriptions',
    gatesReadiness: false,
    run: () => {
      const behind = store.subscriptionsBehind()
      const [longest] = behind
      if (longest === undefined) return { status: 'ok' }
      const detail = `${behind.length} get no events although there are some, the first since ${longest.since.toISOString()}`
      return { status: 'failing', detail }
    },
  })
  if (endings !== undefined)
    health.register({
      name: 'ended_tokens',
      gatesReadiness: true,
      run: () =>
        endings.isCurrent()
          ? { status: 'ok' }
          : { status: 'failing', detail: 'tokens are refused: revocations cannot be read' },
    })
  health.register({
    name: 'event_store_room',
    gatesReadiness: false,
    run: async () =>
      (await store.isFull())
        ? { status: 'failing', detail: 'the event store has no room on its disk' }
        : { status: 'ok' },
  })
  health.register({
    name: 'first_catch_up',
    gatesReadiness: true,
    run: async () => {
      hasCaughtUp ||= (runner === undefined || runner.isCaughtUp()) && (await areFilled(pool, served))
      return hasCaughtUp ? { status: 'ok' } : { status: 'failing', detail: 'the read models are catching up' }
    },
  })
  health.register({
    name: 'steps',
    gatesReadiness: true,
    run: () =>
      areStepsWaiting()
        ? { status: 'failing', detail: 'the services that steps call do not answer yet' }
        : { status: 'ok' },
  })
  health.register(projectionsCheck(runner, attendance))
  if (health.profile === 'development' && !isLoopbackHost(host))
    health.register({
      name: 'profile',
      gatesReadiness: false,
      run: () => ({ status: 'warning', detail: 'the rules of development, on an address that others reach' }),
    })
  if (foreignChannels.length > 0) health.register(foreignChannelsCheck(foreignChannels, pool))
  if (provider !== undefined) health.register(providerCheck(provider, health.profile))
  if (sealing !== undefined) health.register(sealingCheck(sealing, now))
  if (aiReviewGuards !== undefined) health.register(aiReviewGuardsCheck(pool, aiReviewGuards))
  if (runsProcessor) {
    health.register({
      name: 'identity_provider',
      gatesReadiness: false,
      run: async () => {
        const overdue = await overdueAccountSteps(pool)
        return overdue === null ? { status: 'ok' } : { status: 'warning', detail: overdue }
      },
    })
    health.register({
      name: 'notification_events',
      gatesReadiness: false,
      run: async () => {
        const discarded = await discardedOfLastDay(pool)
        return discarded === null ? { status: 'ok' } : { status: 'warning', detail: discarded }
      },
    })
  }
  health.register({
    name: 'channels',
    gatesReadiness: false,
    run: () => {
      const blocked = relays.filter((relay) => relay.status().state === 'blocked')
      if (blocked.length === 0) return { status: 'ok' }
      return { status: 'failing', detail: `blocked: ${blocked.length}. The log and relay_state of /metrics name them` }
    },
  })
}

/**
 * Every role shows the read models and to-do lists that no process runs: the process that should is not there to do so.
 * Strangers read this. So it names no event; the log and `projections list` do.
 */
function projectionsCheck(runner: Watched['runner'], attendance: Watched['attendance']): HealthCheck {
  return {
    name: 'projections',
    gatesReadiness: false,
    run: async () => {
      if (runner?.isHeldUp() === true) return { status: 'failing', detail: 'the database refuses writes' }
      const halted = (runner?.status() ?? []).filter(({ state }) => state === 'failed')
      const withoutRoom = halted.filter(({ failure }) => failure === undefined).map(({ name }) => name)
      const attended = await attendance()
      const failed = new Set([
        ...halted.filter(({ failure }) => failure !== undefined).map(({ name }) => name),
        ...attended.filter(({ hasFailed }) => hasFailed).map(({ name }) => name),
      ])
      const unattended = attended.filter(({ hasProcess }) => !hasProcess).map(({ name }) => name)
      const details = [
        ...withoutRoom.map((name) => `${name} finds no room for its newer copy`),
        ...[...failed].map((name) => `${name} stopped at an event`),
        ...(unattended.length === 0 ? [] : [`no process runs ${unattended.join(', ')}`]),
      ]
      return details.length === 0 ? { status: 'ok' } : { status: 'failing', detail: details.join('; ') }
    },
  }
}

/** A limit that holds reviews back is no failure. Each change is logged. */
function aiReviewGuardsCheck(pool: Pool, { logger, now }: NonNullable<Watched['aiReviewGuards']>): HealthCheck {
  let logged: string | null = null
  return {
    name: 'ai_review_guards',
    gatesReadiness: false,
    run: async () => {
      const heldBack = await heldBackReviews(pool, now())
      if (heldBack !== logged)
        logger.warn({ reason: heldBack ?? 'nothing' }, 'the limits of AI reviews hold back other reviews than before')
      logged = heldBack
      return heldBack === null ? { status: 'ok' } : { status: 'warning', detail: heldBack }
    },
  }
}

/**
 * A rejected event is a fault of its sender, so it warns for some days. Channels are settings, so strangers do not read
 * their names here.
 */
function foreignChannelsCheck(foreignChannels: Watched['foreignChannels'], pool: Pool): HealthCheck {
  return {
    name: 'foreign_channels',
    gatesReadiness: false,
    run: async () => {
      const blocked = foreignChannels.filter((reader) => reader.status().state === 'blocked')
      if (blocked.length > 0) return { status: 'failing', detail: `blocked: ${blocked.length}. The log names them` }
      const rejected = await recentRejections(pool)
      if (rejected === 0) return { status: 'ok' }
      const detail = `rejected events of ${retainedDays} days: ${rejected}. foreign-events rejected lists them`
      return { status: 'warning', detail }
    },
  }
}

/** Invented results must be visible: development reports the simulator, production fails. */
function providerCheck(provider: Pick<Provider, 'server'>, profile: Profile): HealthCheck {
  return {
    name: 'provider',
    gatesReadiness: false,
    run: () => {
      if (provider.server() !== 'simulator') return { status: 'ok' }
      return profile === 'development'
        ? { status: 'ok', detail: 'simulator: results are invented' }
        : { status: 'failing', detail: 'PROVIDER_BASE_URL is the simulator: its answers are refused' }
    },
  }
}

/** Milliseconds that a seal or its signatures may be late. */
const sealLateMs = 600_000

/** A seal that is late changes no record, so it warns. Strangers read this, so it names no witness. */
export function sealingCheck(sealing: { status(): SealingStatus }, now: () => Date): HealthCheck {
  return {
    name: 'sealed_log',
    gatesReadiness: false,
    run: () => {
      const { failingSince, quorumMissingSince, ahead } = sealing.status()
      const isLate = (since: Date | undefined) => since !== undefined && now().getTime() - since.getTime() >= sealLateMs
      const details = [
        ...(isLate(failingSince) ? [`the log is not sealed since ${failingSince?.toISOString()}`] : []),
        ...(isLate(quorumMissingSince)
          ? [`too few witnesses have signed since ${quorumMissingSince?.toISOString()}`]
          : []),
        ...(ahead.length === 0
          ? []
          : [`witness-ahead: ${ahead.length} witnesses signed a larger log. The event store or the vault may be old`]),
      ]
      return details.length === 0 ? { status: 'ok' } : { status: 'warning', detail: details.join('; ') }
    },
  }
}

/** Milliseconds for which the answer of the object store counts: anybody may ask for health. */
const objectStoreKeptMs = 10_000
const objectThatIsMissing = 'health'

/**
 * Without the object store images are neither taken nor reviewed, but every other request is served.
 * @param clockMs milliseconds of a monotonic clock
 */
export function objectStoreCheck(objects: Pick<ObjectStore, 'head'>, clockMs = () => performance.now()): HealthCheck {
  let kept: { readonly untilMs: number; readonly isReachable: Promise<boolean> } | undefined
  return {
    name: 'object_store',
    gatesReadiness: false,
    async run() {
      if (kept === undefined || kept.untilMs <= clockMs()) {
        const isReachable = objects.head(objectThatIsMissing).then(
          () => true,
          () => false,
        )
        kept = { untilMs: clockMs() + objectStoreKeptMs, isReachable }
      }
      if (await kept.isReachable) return { status: 'ok' }
      return { status: 'failing', detail: 'the object store does not answer, or refuses our credentials' }
    },
  }
}

/**
 * A stopped read model counts as filled: it still answers, and waiting for it would take every API down. A read model
 * of another version or with other tables does not: our queries may use columns that it lacks.
 */
async function areFilled(pool: Pool, readModels: readonly Projector[]): Promise<boolean> {
  if (readModels.length === 0) return true
  const checkpoints = await readCheckpoints(
    pool,
    readModels.map(({ name }) => name),
  )
  return readModels.every((projector) => {
    const stored = checkpoints.get(projector.name)
    return stored !== undefined && fitOf(stored, projector) === 'current' && stored.status !== 'rebuilding'
  })
}
