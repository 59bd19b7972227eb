import type { EventStore } from '../engine/store/event-store.ts'
import { pause } from '../platform/kit/backoff.ts'
import type { HealthCheck } from '../platform/observability/health.ts'
import type { Logger } from '../platform/observability/logging.ts'
import { backupStream } from '../streams/backups/aggregate.ts'

/** Whether calls to systems outside are held, as after a restore. */
export interface CallHold {
  isHeld(): boolean
  /** Resolves when they are let go, at once if they are not held. Does not resolve after `close`. */
  readonly released: Promise<void>
  readonly check: HealthCheck
  close(): Promise<void>
}

/** How often a process that holds its calls looks for the release, in milliseconds. */
const lookMs = 1_000

/** Reads the state at the start. A running platform is not restored over, so calls that are made stay allowed. */
export async function openCallHold(store: Pick<EventStore, 'load'>, logger: Logger): Promise<CallHold> {
  const closing = new AbortController()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let held = (await store.load(backupStream)).state.held

  async function untilReleased(): Promise<void> {
    while (held !== null) {
      await pause(lookMs, closing.signal)
      if (closing.signal.aborted) return
      try {
        held = (await store.load(backupStream)).state.held
      } catch (error) {
        logger.warn({ component: 'calls', err: error }, 'whether held calls are released could not be read')
      }
    }
    release()
  }

  if (held !== null) logger.warn({ component: 'calls' }, 'restored from a backup: calls to systems outside are held')
  const looking = untilReleased()
  return {
    isHeld: () => held !== null,
    released,
    check: {
      name: 'calls-held',
      gatesReadiness: false,
      run: () =>
        held === null
          ? { status: 'ok' }
          : {
              status: 'warning',
              detail: `restored from a backup: no other system is called since ${held.since}. "platform backup release" lets the calls go`,
            },
    },
    async close() {
      closing.abort()
      await looking
    },
  }
}
