import type { Logger } from '../../platform/observability/logging.ts'
import type { AdvisoryLocks } from './advisory-locks.ts'
import { nextCopyOf, readCheckpoints, type StoredCheckpoint } from './checkpoints.ts'
import { fitOf } from './schema.ts'
import type { Slot } from './slot.ts'

export interface VacancyListener {
  /** Stops feeding it. A later round checks it again. */
  standBy(slot: Slot): void
  /** An older version serves. A copy of this version must be filled next to it. */
  beginUpgrade(slot: Slot): void
}

/** Finds projectors of this program's version that nobody runs, and takes their locks. */
export class Vacancies {
  readonly #logger: Logger
  readonly #listener: VacancyListener

  constructor(logger: Logger, listener: VacancyListener) {
    this.#logger = logger
    this.#listener = listener
  }

  /** The slots whose lock this instance has taken. They must be prepared next. */
  async take(slots: readonly Slot[], locks: AdvisoryLocks): Promise<Slot[]> {
    const idle = slots.filter(({ state, member }) => member === undefined && state !== 'stopped' && state !== 'live')
    if (idle.length === 0) return []
    const names = idle.flatMap(({ projector: { name } }) => [name, nextCopyOf(name)])
    const stored = await readCheckpoints(locks.client, names)
    const taken: Slot[] = []
    for (const slot of idle) {
      const { name } = slot.projector
      this.#reconsider(slot, stored.get(name), stored.get(nextCopyOf(name)))
      if (isOccupied(slot)) continue
      if (await this.#mayRun(slot, locks, stored.get(name))) taken.push(slot)
      else if (!isOccupied(slot)) slot.state = 'standby'
    }
    return taken
  }

  /** Reacts to others: a copy replaced the older one, or an operator stopped an upgrade or resumed a failed one. */
  #reconsider(slot: Slot, stored: StoredCheckpoint | undefined, next: StoredCheckpoint | undefined): void {
    const isOlder = stored !== undefined && fitOf(stored, slot.projector) === 'older'
    const isUpgradeOver = slot.upgrading !== undefined && (!isOlder || stored.status === 'stopped')
    const isLetGoOn = slot.hasFailedUpgrade && !(isOlder && next?.status === 'failed')
    if (isUpgradeOver || isLetGoOn) this.#listener.standBy(slot)
  }

  async #mayRun(slot: Slot, locks: AdvisoryLocks, stored: StoredCheckpoint | undefined): Promise<boolean> {
    const { name, version } = slot.projector
    const fit = stored === undefined ? 'current' : fitOf(stored, slot.projector)
    if (stored !== undefined && stored.version !== version) {
      // Releases the lock for an instance that runs that version, so the projector keeps running.
      await locks.release(name)
      this.#sayForeign(slot, stored.version)
      if (fit === 'older' && stored.status !== 'stopped') this.#listener.beginUpgrade(slot)
      return false
    }
    if (!(await locks.tryAcquire(name))) {
      if (fit === 'older') this.#sayForeign(slot, version)
      return false
    }
    // Same version, other tables: only if no instance runs it.
    if (fit === 'older' && stored?.status !== 'stopped') this.#listener.beginUpgrade(slot)
    return fit === 'current'
  }

  #sayForeign(slot: Slot, served: number): void {
    if (slot.foreign === served) return
    slot.foreign = served
    const { name, version } = slot.projector
    const what = served === version ? 'with other tables, serves' : `serves, and this program has ${version}`
    this.#logger.warn({ component: 'projections', projector: name }, `version ${served}, ${what}`)
  }
}

/** Being upgraded, or stopped at an event. */
function isOccupied({ upgrading, state }: Slot): boolean {
  return upgrading !== undefined || state === 'failed'
}
