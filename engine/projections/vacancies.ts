import type { Logger } from '../../platform/observability/logging.ts'
import type { AdvisoryLocks } from './advisory-locks.ts'
import { operatorLock } from '../rebuild/operator-locks.ts'
import { nextCopyOf, readCheckpoints, type StoredCheckpoint } from './checkpoints.ts'
import { fitOf } from './schema.ts'
import type { ProjectorRun } from './projector-run.ts'

export interface VacancyListener {
  /** Stops feeding it. A later round checks it again. */
  standBy(run: ProjectorRun): void
  /** An older version serves. A copy of this version must be filled next to it. */
  beginUpgrade(run: ProjectorRun): void
}

/** Finds projectors of this program's version that nobody runs, and takes their locks. */
export class Vacancies {
  readonly #logger: Logger
  readonly #listener: VacancyListener

  constructor(logger: Logger, listener: VacancyListener) {
    this.#logger = logger
    this.#listener = listener
  }

  /** The runs whose lock this instance has taken. They must be prepared next. */
  async take(runs: readonly ProjectorRun[], locks: AdvisoryLocks): Promise<ProjectorRun[]> {
    const idle = runs.filter(({ state, member }) => member === undefined && state !== 'stopped' && state !== 'live')
    if (idle.length === 0) return []
    const names = idle.flatMap(({ projector: { name } }) => [name, nextCopyOf(name)])
    const stored = await readCheckpoints(locks, names)
    const taken: ProjectorRun[] = []
    for (const run of idle) {
      const { name } = run.projector
      await this.#reconsider(run, locks, stored.get(name), stored.get(nextCopyOf(name)))
      if (isOccupied(run)) continue
      if (await this.#mayRun(run, locks, stored.get(name))) taken.push(run)
      else if (!isOccupied(run)) run.state = 'standby'
    }
    return taken
  }

  /**
   * Reacts to others: a copy replaced the older one, or an operator stopped an upgrade or resumed a failed one. An
   * attempt of another instance resumes nothing, or two instances would fill copies in turn for ever.
   */
  async #reconsider(
    run: ProjectorRun,
    locks: AdvisoryLocks,
    stored: StoredCheckpoint | undefined,
    next: StoredCheckpoint | undefined,
  ): Promise<void> {
    const isOlder = stored !== undefined && fitOf(stored, run.projector) === 'older'
    const isUpgradeOver = run.upgrading !== undefined && (!isOlder || stored.status === 'stopped')
    const isLetGoOn =
      run.hasFailedUpgrade && !(isOlder && (next?.status === 'failed' || (await isWorkedOn(locks, run.projector.name))))
    if (isUpgradeOver || isLetGoOn) this.#listener.standBy(run)
  }

  async #mayRun(run: ProjectorRun, locks: AdvisoryLocks, stored: StoredCheckpoint | undefined): Promise<boolean> {
    const { name, version } = run.projector
    const fit = stored === undefined ? 'current' : fitOf(stored, run.projector)
    if (stored !== undefined && stored.version !== version) {
      // Releases the lock for an instance that runs that version, so the projector keeps running.
      await locks.release(name)
      this.#sayForeign(run, stored.version)
      if (fit === 'older' && stored.status !== 'stopped') this.#listener.beginUpgrade(run)
      return false
    }
    if (!(await locks.tryAcquire(name))) {
      if (fit === 'older') this.#sayForeign(run, version)
      return false
    }
    // Same version, other tables: only if no instance runs it.
    if (fit === 'older' && stored?.status !== 'stopped') this.#listener.beginUpgrade(run)
    return fit === 'current'
  }

  #sayForeign(run: ProjectorRun, served: number): void {
    if (run.foreign === served) return
    run.foreign = served
    const { name, version } = run.projector
    const what = served === version ? 'with other tables, serves' : `serves, and this program has ${version}`
    this.#logger.warn({ component: 'projections', projector: name }, `version ${served}, ${what}`)
  }
}

/** Whether another instance or an operator works on the copies. */
async function isWorkedOn(locks: AdvisoryLocks, name: string): Promise<boolean> {
  if (!(await locks.tryAcquire(operatorLock(name)))) return true
  await locks.release(operatorLock(name))
  return false
}

/** Being upgraded, or stopped at an event. */
function isOccupied({ upgrading, state }: ProjectorRun): boolean {
  return upgrading !== undefined || state === 'failed'
}
