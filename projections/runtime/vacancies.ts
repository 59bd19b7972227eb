import type { Logger } from '../../platform/observability/logging.ts'
import type { AdvisoryLocks } from './advisory-locks.ts'
import { nextCopyOf, readCheckpoints, type StoredCheckpoint } from './checkpoints.ts'
import { fitOf } from './schema.ts'
import type { Slot } from './slot.ts'

export interface VacancyListener {
  /** To be fed no more, and looked at again. */
  standBy(slot: Slot): void
  /** An older version serves: a copy of this one is to be filled beside it. */
  beginUpgrade(slot: Slot): void
}

/** Finds the projectors that nobody runs and that are of this program's version, and takes their locks. */
export class Vacancies {
  readonly #logger: Logger
  readonly #listener: VacancyListener

  constructor(logger: Logger, listener: VacancyListener) {
    this.#logger = logger
    this.#listener = listener
  }

  /** Those whose lock this instance has now, to be prepared. */
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

  /** Somebody else put a copy in the older one's place, an operator stopped what is being upgraded, or let go on what could not be. */
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
      // Whoever runs that version goes on with it, so that somebody does.
      await locks.release(name)
      this.#sayForeign(slot, stored.version)
      if (fit === 'older' && stored.status !== 'stopped') this.#listener.beginUpgrade(slot)
      return false
    }
    if (!(await locks.tryAcquire(name))) {
      if (fit === 'older') this.#sayForeign(slot, version)
      return false
    }
    // Other tables under the same version: only where nobody runs them.
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

/** At work on it, or stopped at an event. */
function isOccupied({ upgrading, state }: Slot): boolean {
  return upgrading !== undefined || state === 'failed'
}
