import type { EventStore } from '../../engine/store/event-store.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { problem } from '../../platform/http/problems.ts'
import type { Access, AccessLog } from '../../platform/http/shown-content.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { addressKeyOf } from '../../streams/access-log/aggregate.ts'
import type { AccessLogEvent } from '../../streams/access-log/events.ts'
import { createAccessAppends } from './access-appends.ts'
import { createAccessWindow, type WindowEntry } from './access-window.ts'

export interface AccessLogOptions {
  readonly store: Pick<EventStore, 'append' | 'presume' | 'load' | 'writeMetadata'>
  readonly configuration: Pick<Configuration, 'accessLogRetentionDays' | 'accessLogWindowSeconds' | 'serviceClientId'>
  readonly logger: Logger
  readonly now: () => Date
  /** A new UUID. */
  readonly newId: () => string
}

/** The access log of one process. */
export interface OpenAccessLog extends AccessLog {
  /** How long the oldest access or count has waited for the event store. */
  lagSeconds(): number
  /** Appends the counts of windows that have not ended. */
  close(): Promise<void>
}

/** Steps of the platform read these with its own client. The look-up of a step is nobody's look at a record. */
const readBySteps: ReadonlySet<string> = new Set([
  'getCase',
  'getConsentRecords',
  'getUserContact',
  'getPatientContact',
])

/** Time between two looks for ended windows, in milliseconds. */
const sweepMs = 1_000
/** Counts that wait while the event store is away. Beyond this, the oldest ones are lost. */
const mostCounts = 20_000

/** Writes who saw what before the answer leaves. */
export function openAccessLog({ store, configuration, logger, now, newId }: AccessLogOptions): OpenAccessLog {
  const { accessLogRetentionDays: retentionDays, accessLogWindowSeconds, serviceClientId } = configuration
  const ownClient = serviceClientId?.toLowerCase()
  const appends = createAccessAppends({ store, retentionDays, now, newId })
  let counts: WindowEntry[] = []
  /** Since when counts could not be appended, in milliseconds. */
  let failingSinceMs: number | undefined
  const window = createAccessWindow(accessLogWindowSeconds * 1000, newId, (entry) => void counts.push(entry))
  const timer = setInterval(() => void sweep(now().getTime()), sweepMs).unref()

  async function sweep(endedMs: number): Promise<void> {
    window.endUntil(endedMs)
    // The windows hand over their counts when their accesses are stored.
    await Promise.resolve()
    const due = counts
    counts = []
    const done = await Promise.allSettled(due.map((entry) => appends.append(entry.orgId, repeated(entry))))
    const failed = due.filter((_, index) => done[index]?.status === 'rejected')
    failingSinceMs = failed.length === 0 ? undefined : (failingSinceMs ?? now().getTime())
    if (failed.length === 0) return
    logger.warn({ component: 'access-log', count: failed.length }, 'counts of accesses cannot be appended yet')
    counts = [...failed, ...counts].slice(-mostCounts)
  }

  return {
    async record(access) {
      if (access.clientId?.toLowerCase() === ownClient && readBySteps.has(access.operation)) return
      const at = now()
      try {
        await window.recorded(access, at.getTime(), (accessId) =>
          appends.append(access.orgId, recorded(access, accessId, at)),
        )
      } catch (error) {
        throw problem('access-log-unavailable', { cause: error, retryAfterSeconds: 2 })
      }
    },
    lagSeconds() {
      const nowMs = now().getTime()
      return Math.max(0, nowMs - Math.min(appends.oldestMs() ?? nowMs, failingSinceMs ?? nowMs)) / 1_000
    },
    async close() {
      clearInterval(timer)
      window.endUntil(Infinity)
      await appends.ended()
      await sweep(Infinity)
    },
  }
}

function recorded({ orgId, ...access }: Access, accessId: string, at: Date): AccessLogEvent {
  const { patientIds, categories } = access
  const instant = at.toISOString()
  return {
    type: 'AccessRecorded',
    data: {
      ...access,
      patientIds: [...patientIds],
      categories: [...categories],
      accessId,
      organisationId: orgId,
      at: instant,
      addressKey: addressKeyOf(instant),
    },
  }
}

function repeated({ accessId, count, lastAt }: WindowEntry): AccessLogEvent {
  return { type: 'AccessRepeated', data: { accessId, count, lastAt: new Date(lastAt).toISOString() } }
}
