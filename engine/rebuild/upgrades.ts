import type { AdvisoryLocks } from '../../platform/database/advisory-locks.ts'
import { isDatabaseFull } from '../../platform/database/database.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import { readCheckpoints, type ProjectionFailure } from '../projections/checkpoints.ts'
import type { Projector } from '../projections/projector.ts'
import { createProjector, fitOf } from '../projections/schema.ts'
import type { RebuildContext } from './context.ts'
import { continuedCopy, copyNames } from './copies.ts'
import { analyze, fill } from './fill.ts'
import { operatorLock } from './operator-locks.ts'
import { switchOver } from './switch.ts'

/** `done`: this program's version serves, or there was nothing to do. Otherwise the older one continues to serve. */
export type UpgradeOutcome = 'done' | 'no-room' | ProjectionFailure

const backoff = { firstMs: 200, mostMs: 5_000 }

/** The copies of newer versions that this instance fills, in parallel with its reads. */
export class Upgrades {
  readonly #context: RebuildContext
  readonly #locks: () => AdvisoryLocks | undefined
  readonly #closing: AbortSignal
  /** The last run of each projector. The locks cannot distinguish two runs of one process. */
  readonly #running = new Map<string, Promise<unknown>>()

  constructor(context: RebuildContext, locks: () => AdvisoryLocks | undefined, closing: AbortSignal) {
    this.#context = context
    this.#locks = locks
    this.#closing = closing
  }

  /** Tries until there is an outcome. Undefined if the signal aborts before. */
  run(projector: Projector, signal: AbortSignal): Promise<UpgradeOutcome | undefined> {
    const earlier = this.#running.get(projector.name) ?? Promise.resolve()
    const work = earlier.then(() => this.#run(projector, AbortSignal.any([signal, this.#closing])))
    this.#running.set(projector.name, work)
    return work
  }

  async ended(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  async #run(projector: Projector, signal: AbortSignal): Promise<UpgradeOutcome | undefined> {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        const outcome = await this.#tryOnce(projector, signal)
        if (outcome !== undefined) return outcome
      } catch (error) {
        if (signal.aborted) return undefined
        this.#context.logger.warn(
          { component: 'projections', projector: projector.name, attempt, err: error },
          'the newer copy cannot be filled now, trying again',
        )
      }
      await pause(backoffMs(backoff, attempt), signal)
    }
    return undefined
  }

  /** Undefined while another instance or operator works on the copies. */
  async #tryOnce(projector: Projector, signal: AbortSignal): Promise<UpgradeOutcome | undefined> {
    const locks = this.#locks()
    const lock = operatorLock(projector.name)
    if (locks === undefined || !(await locks.tryAcquire(lock))) return undefined
    try {
      return await upgrade({ ...this.#context, signal }, projector)
    } finally {
      if (!locks.isLost) await locks.release(lock).catch(() => undefined)
    }
  }
}

/**
 * Fills a copy of this program's version while the older one serves, and then replaces the older one. Continues
 * half-filled copies from a program of the same version. The caller holds the operators' lock.
 * @throws the signal's reason
 */
async function upgrade(context: RebuildContext, projector: Projector): Promise<UpgradeOutcome> {
  const { pool, logger } = context
  const stored = (await readCheckpoints(pool, [projector.name])).get(projector.name)
  if (stored === undefined || stored.status === 'stopped' || fitOf(stored, projector) !== 'older') return 'done'
  try {
    const copy = await continuedCopy(context, projector)
    await fill(context, [{ copy, upTo: await context.eventStore.head(context.filter) }])
    if (copy.failure === undefined) {
      await analyze(pool, copy.projector)
      await switchOver(context, copy)
    }
    return copy.failure ?? 'done'
  } catch (error) {
    if (!isDatabaseFull(error)) throw error
    // The serving copy needs the room. The row stays, without tables, until an operator resumes it.
    const empty = { ...projector, name: copyNames(projector.name).next, tables: [] }
    await inTransaction(pool, (client) => createProjector(client, empty, 'failed'))
    logger.error(
      { component: 'projections', projector: projector.name, err: error },
      'no room on the disk for the newer copy, which was dropped: make room, then projections retry',
    )
    return 'no-room'
  }
}
