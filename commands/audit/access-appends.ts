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
  /** When the oldest of the events that wait came, in milliseconds. */
  oldestMs(): number | undefined
  /** Resolves when no event waits. */
  ended(): Promise<void>
}

interface Waiting {
  readonly sinceMs: number
  readonly event: AccessLogEvent
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** What waits for one organisation, and the lanes that append it. */
interface Queue {
  readonly waiting: Waiting[]
  /** The numbers of the lanes that are at work. */
  readonly lanes: Map<number, Promise<void>>
  timer: NodeJS.Timeout | undefined
}

/** Each event of an answer holds its answer back. So this also limits the answers in memory. */
const mostWaiting = 2_000
/** Events of one append, and persons in them: a list may show two hundred. */
const mostEvents = 250
const mostPersons = 5_000
const attempts = 5
/** Appends of one organisation under way. Each lane has streams of its own, so their revisions do not collide. */
const mostLanes = 4
/** An event that has waited so long for the append before it gets one of its own, in milliseconds. */
const patienceMs = 20

/**
 * Groups what waits. Events that come while an append is under way share the next one. If the event store is slow, a few
 * appends of an organisation are under way at once. A failed append fails everything that waits behind it, so an answer
 * waits for one time limit of the event store at most.
 */
export function createAccessAppends({ store, retentionDays, now, newId }: AppendsOptions): AccessAppends {
  const processIds = Array.from({ length: mostLanes }, () => newId())
  const queues = new Map<TenantId, Queue>()
  /** In the order in which they came. */
  const unstored = new Set<Waiting>()

  /** Starts a lane, if one is free and something waits. */
  function begin(orgId: TenantId, queue: Queue): void {
    const lane = processIds.findIndex((_, number) => !queue.lanes.has(number))
    if (lane === -1 || queue.waiting.length === 0) return
    queue.lanes.set(lane, run(orgId, queue, lane))
  }

  async function run(orgId: TenantId, queue: Queue, lane: number): Promise<void> {
    // Answers of the same turn of the event loop share an append.
    await nextTurn()
    while (queue.waiting.length > 0) {
      const batch = queue.waiting.splice(0, fitting(queue.waiting))
      startMore(orgId, queue)
      try {
        await write(
          accessLogs.of(orgId, now().toISOString().slice(0, 10), processIds[lane] ?? ''),
          orgId,
          batch.map(({ event }) => event),
        )
        for (const one of batch) {
          unstored.delete(one)
          one.resolve()
        }
      } catch (error) {
        const failed = [...batch, ...queue.waiting.splice(0)]
        for (const one of failed) {
          unstored.delete(one)
          one.reject(error)
        }
      }
    }
    queue.lanes.delete(lane)
    if (queue.lanes.size === 0) {
      clearTimeout(queue.timer)
      queues.delete(orgId)
    }
  }

  /** Another lane starts if something still waits after a while. */
  function startMore(orgId: TenantId, queue: Queue): void {
    if (queue.waiting.length === 0) return
    queue.timer ??= setTimeout(() => {
      queue.timer = undefined
      begin(orgId, queue)
      startMore(orgId, queue)
    }, patienceMs)
  }

  async function write(
    target: ReturnType<typeof accessLogs.of>,
    orgId: TenantId,
    events: readonly AccessLogEvent[],
  ): Promise<void> {
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
        // Only this lane writes here: an earlier append without an answer was stored.
        if (!(error instanceof RevisionConflictError) || attempt === attempts) throw error
        ;({ revision } = await store.load(target))
      }
    }
  }

  return {
    append(orgId, event) {
      if (unstored.size >= mostWaiting) return Promise.reject(new Error('too many accesses wait for the event store'))
      return new Promise((resolve, reject) => {
        const queue = queues.get(orgId) ?? { waiting: [], lanes: new Map<number, Promise<void>>(), timer: undefined }
        queues.set(orgId, queue)
        const one = { sinceMs: now().getTime(), event, resolve, reject }
        unstored.add(one)
        queue.waiting.push(one)
        if (queue.lanes.size === 0) begin(orgId, queue)
        else startMore(orgId, queue)
      })
    },
    oldestMs: () => unstored.values().next().value?.sinceMs,
    async ended() {
      while (queues.size > 0) await Promise.all([...queues.values()].flatMap(({ lanes }) => [...lanes.values()]))
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
