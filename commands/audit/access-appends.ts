import { setImmediate as nextTurn } from 'node:timers/promises'
import { RevisionConflictError } from '../../engine/store/errors.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { accessLogs } from '../../streams/access-log/aggregate.ts'
import type { AccessLogEvent } from '../../streams/access-log/events.ts'

interface AppendsOptions {
  readonly store: Pick<EventStore, 'append' | 'presume' | 'load' | 'writeMetadata'>
  readonly retentionDays: number
  readonly now: () => Date
  /** A new UUID. */
  readonly newId: () => string
}

/** The appends of one process to the access log. */
export interface AccessAppends {
  /** Resolves when the event is stored. Rejects with the errors of the event store, or if too many events wait. */
  append(orgId: TenantId, event: AccessLogEvent): Promise<void>
  /** Resolves when no event waits. */
  ended(): Promise<void>
}

interface Waiting {
  readonly event: AccessLogEvent
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Each event of an answer holds its answer back. So this also limits the answers in memory. */
const mostWaiting = 2_000
/** Events of one append, and persons in them: a list may show a hundred. */
const mostEvents = 250
const mostPersons = 5_000
const attempts = 5

/**
 * Groups what waits: one append for each organisation at a time. Events that come meanwhile share the next one. A failed
 * append fails everything that waits behind it, so an answer waits for one time limit of the event store at most.
 */
export function createAccessAppends({ store, retentionDays, now, newId }: AppendsOptions): AccessAppends {
  const processId = newId()
  const lanes = new Map<TenantId, { readonly waiting: Waiting[]; readonly running: Promise<void> }>()
  let waitingCount = 0

  async function run(orgId: TenantId, waiting: Waiting[]): Promise<void> {
    // Answers of the same turn of the event loop share an append.
    await nextTurn()
    while (waiting.length > 0) {
      const batch = waiting.splice(0, fitting(waiting))
      try {
        await write(
          orgId,
          batch.map(({ event }) => event),
        )
        for (const { resolve } of batch) resolve()
        waitingCount -= batch.length
      } catch (error) {
        const failed = [...batch, ...waiting.splice(0)]
        for (const { reject } of failed) reject(error)
        waitingCount -= failed.length
      }
    }
    lanes.delete(orgId)
  }

  async function write(orgId: TenantId, events: readonly AccessLogEvent[]): Promise<void> {
    const target = accessLogs.of(orgId, now().toISOString().slice(0, 10), processId)
    const commandId = newId()
    const context = { commandId, correlationId: commandId, orgId, process: 'access-log' }
    let { revision } = store.presume(target)
    for (let attempt = 1; ; attempt += 1) {
      // Before the first event, so that none is kept for ever.
      if (revision === 'no_stream') await store.writeMetadata(target.stream, { $maxAge: retentionDays * 86_400 })
      try {
        await store.append(target, revision, events, context)
        return
      } catch (error) {
        // Only this process writes here: an earlier append without an answer was stored.
        if (!(error instanceof RevisionConflictError) || attempt === attempts) throw error
        ;({ revision } = await store.load(target))
      }
    }
  }

  return {
    append(orgId, event) {
      if (waitingCount >= mostWaiting) return Promise.reject(new Error('too many accesses wait for the event store'))
      waitingCount += 1
      return new Promise((resolve, reject) => {
        const entry = { event, resolve, reject }
        const lane = lanes.get(orgId)
        if (lane !== undefined) lane.waiting.push(entry)
        else {
          const waiting = [entry]
          lanes.set(orgId, { waiting, running: run(orgId, waiting) })
        }
      })
    },
    async ended() {
      while (lanes.size > 0) await Promise.all([...lanes.values()].map(({ running }) => running))
    },
  }
}

/** How many of the events fit into one append, at least one. */
function fitting(waiting: readonly Waiting[]): number {
  let persons = 0
  let count = 0
  for (const { event } of waiting.slice(0, mostEvents)) {
    persons += 'patientIds' in event.data ? event.data.patientIds.length : 0
    if (count > 0 && persons > mostPersons) break
    count += 1
  }
  return count
}
