import type { Logger } from '../../platform/observability/logging.ts'
import type { AdvisoryLocks } from '../../platform/database/advisory-locks.ts'
import { copyNames } from '../rebuild/copies.ts'
import { operatorLock } from '../rebuild/operator-locks.ts'
import { readCheckpoints, type StoredCheckpoint } from './checkpoints.ts'
import { fitOf } from './schema.ts'
import type { ProjectorRun } from './projector-run.ts'

interface Surroundings {
  readonly locks: AdvisoryLocks
  readonly logger: Logger
  /** Stops feeding it. A later round checks it again. */
  readonly standBy: (run: ProjectorRun) => void
  /** An older version serves. A copy of this version must be filled next to it. */
  readonly beginUpgrade: (run: ProjectorRun) => void
}

/** Takes the locks of projectors of this program's version that nobody runs. They must be prepared next. */
export async function takeVacant(runs: readonly ProjectorRun[], surroundings: Surroundings): Promise<ProjectorRun[]> {
  const { locks } = surroundings
  const idle = runs.filter(({ state, member }) => member === undefined && state !== 'stopped' && state !== 'live')
  if (idle.length === 0) return []
  const names = idle.flatMap(({ projector: { name } }) => [name, copyNames(name).next])
  const stored = await readCheckpoints(locks, names)
  const taken: ProjectorRun[] = []
  for (const run of idle) {
    const { name } = run.projector
    await reconsider(run, surroundings, stored.get(name), stored.get(copyNames(name).next))
    if (isOccupied(run)) continue
    if (await mayRun(run, surroundings, stored.get(name))) taken.push(run)
    else if (!isOccupied(run)) run.state = 'standby'
  }
  return taken
}

/**
 * Reacts to others: a copy replaced the older one, or an operator stopped an upgrade or resumed a failed one. An
 * attempt of another instance resumes nothing, or two instances would fill copies in turn for ever.
 */
async function reconsider(
  run: ProjectorRun,
  { locks, standBy }: Surroundings,
  stored: StoredCheckpoint | undefined,
  next: StoredCheckpoint | undefined,
): Promise<void> {
  const isOlder = stored !== undefined && fitOf(stored, run.projector) === 'older'
  const isUpgradeOver = run.upgrading !== undefined && (!isOlder || stored.status === 'stopped')
  const isLetGoOn =
    run.hasFailedUpgrade && !(isOlder && (next?.status === 'failed' || (await isWorkedOn(locks, run.projector.name))))
  if (isUpgradeOver || isLetGoOn) standBy(run)
}

async function mayRun(
  run: ProjectorRun,
  { locks, logger, beginUpgrade }: Surroundings,
  stored: StoredCheckpoint | undefined,
): Promise<boolean> {
  const { name, version } = run.projector
  const fit = stored === undefined ? 'current' : fitOf(stored, run.projector)
  if (stored !== undefined && stored.version !== version) {
    // Releases the lock for an instance that runs that version, so the projector keeps running.
    await locks.release(name)
    sayForeign(logger, run, stored.version)
    if (fit === 'older' && stored.status !== 'stopped') beginUpgrade(run)
    return false
  }
  if (!(await locks.tryAcquire(name))) {
    if (fit === 'older') sayForeign(logger, run, version)
    return false
  }
  // Same version, other tables: only if no instance runs it.
  if (fit === 'older' && stored?.status !== 'stopped') beginUpgrade(run)
  return fit === 'current'
}

function sayForeign(logger: Logger, run: ProjectorRun, served: number): void {
  if (run.foreign === served) return
  run.foreign = served
  const { name, version } = run.projector
  const what = served === version ? 'with other tables, serves' : `serves, and this program has ${version}`
  logger.warn({ component: 'projections', projector: name }, `version ${served}, ${what}`)
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
