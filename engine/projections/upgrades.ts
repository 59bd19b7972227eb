import { operatorLock } from '../rebuild/operator-locks.ts'
import type { RebuildContext } from '../rebuild/context.ts'
import { backoffMs, pause } from '../../platform/kit/backoff.ts'
import type { AdvisoryLocks } from '../../platform/database/advisory-locks.ts'
import type { ProjectionFailure } from './checkpoints.ts'
import type { Projector } from './projector.ts'
import { upgrade, UpgradeFailedError } from './upgrade.ts'

export interface UpgradeListener {
  /** This program's version serves now, or there was nothing left to do. */
  upgraded(projector: Projector, running: AbortController): void
  /** Without a `failure`: the database's disk has no room for the copy. */
  failed(projector: Projector, running: AbortController, failure: ProjectionFailure | undefined): void
}

const backoff = { firstMs: 200, mostMs: 5_000 }

/** The copies of newer versions that this instance fills, in parallel with its reads. */
export class Upgrades {
  readonly #context: RebuildContext
  readonly #locks: () => AdvisoryLocks | undefined
  readonly #listener: UpgradeListener
  readonly #closing: AbortSignal
  /** The last run of each projector. The locks cannot distinguish two runs of one process. */
  readonly #running = new Map<string, Promise<void>>()

  constructor(
    context: RebuildContext,
    locks: () => AdvisoryLocks | undefined,
    listener: UpgradeListener,
    closing: AbortSignal,
  ) {
    this.#context = context
    this.#locks = locks
    this.#listener = listener
    this.#closing = closing
  }

  /** Continues until the version serves, the projector fails, or the returned controller is aborted. */
  begin(projector: Projector): AbortController {
    const running = new AbortController()
    const earlier = this.#running.get(projector.name) ?? Promise.resolve()
    const work = earlier.then(() => this.#run(projector, running))
    this.#running.set(projector.name, work)
    return running
  }

  async ended(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  async #run(projector: Projector, running: AbortController): Promise<void> {
    const signal = AbortSignal.any([running.signal, this.#closing])
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        if (await this.#tryOnce(projector, signal)) return this.#listener.upgraded(projector, running)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof UpgradeFailedError) return this.#listener.failed(projector, running, error.failure)
        this.#context.logger.warn(
          { component: 'projections', projector: projector.name, attempt, err: error },
          'the newer copy cannot be filled now, trying again',
        )
      }
      await pause(backoffMs(backoff, attempt), signal)
    }
  }

  /** False while another instance or operator works on the copies. */
  async #tryOnce(projector: Projector, signal: AbortSignal): Promise<boolean> {
    const locks = this.#locks()
    const lock = operatorLock(projector.name)
    if (locks === undefined || !(await locks.tryAcquire(lock))) return false
    try {
      await upgrade({ ...this.#context, signal }, projector)
      return true
    } finally {
      if (!locks.isLost) await locks.release(lock).catch(() => undefined)
    }
  }
}
