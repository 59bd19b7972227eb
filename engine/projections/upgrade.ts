import { isDatabaseFull } from '../../platform/database/database.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { nextCopyOf, readCheckpoints, type ProjectionFailure } from './checkpoints.ts'
import { createProjector, fitOf } from './schema.ts'
import type { Projector } from './projector.ts'
import { analyze, fill } from '../rebuild/fill.ts'
import type { RebuildContext } from '../rebuild/context.ts'
import { continuedCopy } from '../rebuild/copies.ts'
import { switchOver } from '../rebuild/switch.ts'

/**
 * This program's copy cannot be filled: it cannot process an event or, without a `failure`, the disk has no room. The
 * older copy continues to serve.
 */
export class UpgradeFailedError extends Error {
  override readonly name = 'UpgradeFailedError'
  readonly failure: ProjectionFailure | undefined

  constructor(name: string, failure: ProjectionFailure | undefined) {
    super(
      failure === undefined
        ? `no room for the copy of ${name}`
        : `the copy of ${name} cannot take ${failure.eventType} ${failure.eventId}`,
    )
    this.failure = failure
  }
}

/**
 * Fills a copy of this program's version while the older one serves, and then replaces the older one. Continues
 * half-filled copies from a program of the same version. The caller holds the operators' lock.
 * @throws UpgradeFailedError, the signal's reason
 */
export async function upgrade(context: RebuildContext, projector: Projector): Promise<void> {
  const stored = (await readCheckpoints(context.pool, [projector.name])).get(projector.name)
  if (stored === undefined || stored.status === 'stopped' || fitOf(stored, projector) !== 'older') return
  let failure: ProjectionFailure | undefined
  try {
    failure = await filledAndSwitched(context, projector)
  } catch (error) {
    if (!isDatabaseFull(error)) throw error
    // The serving copy needs the room. The row stays, without tables, until an operator resumes it.
    await inTransaction(context.pool, (client) =>
      createProjector(client, { ...projector, name: nextCopyOf(projector.name), tables: [] }, 'failed'),
    )
    context.logger.error(
      { component: 'projections', projector: projector.name, err: error },
      'no room on the disk for the newer copy, which was dropped: make room, then projections retry',
    )
    throw new UpgradeFailedError(projector.name, undefined)
  }
  if (failure !== undefined) throw new UpgradeFailedError(projector.name, failure)
}

async function filledAndSwitched(
  context: RebuildContext,
  projector: Projector,
): Promise<ProjectionFailure | undefined> {
  const copy = await continuedCopy(context, projector)
  await fill(context, [{ copy, upTo: await context.eventStore.head(context.filter) }])
  if (copy.failure !== undefined) return copy.failure
  await analyze(context.pool, copy.projector)
  await switchOver(context, copy)
  return copy.failure
}
