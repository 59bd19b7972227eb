import { AdvisoryLocks } from '../../platform/database/advisory-locks.ts'
import { RebuildRefusedError, type RebuildContext } from './context.ts'

/**
 * Lock for changes of a read model's copies, one at a time: a rebuild, a check, a rollback, a removal, or a newer
 * program's own fill.
 */
export function operatorLock(name: string): string {
  return `${name}:operator`
}

export class OperatorLocks {
  /** Aborted by the caller's signal, or when the locks are lost. */
  readonly signal: AbortSignal
  readonly #locks: AdvisoryLocks

  private constructor(locks: AdvisoryLocks, signal: AbortSignal) {
    this.#locks = locks
    this.signal = signal
  }

  static async open({ pool, signal }: Pick<RebuildContext, 'pool' | 'signal'>): Promise<OperatorLocks> {
    const lost = new AbortController()
    const locks = await AdvisoryLocks.open(pool, () =>
      lost.abort(new Error('the connection to the read-model database was lost')),
    )
    return new OperatorLocks(locks, signal === undefined ? lost.signal : AbortSignal.any([signal, lost.signal]))
  }

  /** @throws RebuildRefusedError if another process holds it */
  async take(name: string): Promise<void> {
    if (await this.#locks.tryAcquire(operatorLock(name))) return
    throw new RebuildRefusedError('under-way', `a rebuild of ${name} is under way`)
  }

  /** Whether any process runs the projector. That process holds the lock with the projector's name. */
  async isRun(name: string): Promise<boolean> {
    if (!(await this.#locks.tryAcquire(name))) return true
    await this.#locks.release(name)
    return false
  }

  close(): Promise<void> {
    return this.#locks.close()
  }
}
