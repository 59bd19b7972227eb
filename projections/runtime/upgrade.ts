import { readCheckpoints, type ProjectionFailure } from './checkpoints.ts'
import { fitOf } from './schema.ts'
import type { Projector } from './projector.ts'
import { analyze } from '../rebuild/analyze.ts'
import type { RebuildContext } from '../rebuild/context.ts'
import { continuedCopy } from '../rebuild/copies.ts'
import { fill } from '../rebuild/fill.ts'
import { switchOver } from '../rebuild/switch.ts'

/** An event that this program's projector cannot take, met while its copy was filled; the older one goes on serving. */
export class UpgradeFailedError extends Error {
  override readonly name = 'UpgradeFailedError'
  readonly failure: ProjectionFailure

  constructor(name: string, failure: ProjectionFailure) {
    super(`the copy of ${name} cannot take ${failure.eventType} ${failure.eventId}`)
    this.failure = failure
  }
}

/**
 * Fills a copy of this program's version beside the older one that serves, and puts it in its place. Copies that a
 * program of the same version left half filled are continued. The caller holds the operators' lock.
 * @throws UpgradeFailedError, the signal's reason
 */
export async function upgrade(context: RebuildContext, projector: Projector): Promise<void> {
  const stored = (await readCheckpoints(context.pool, [projector.name])).get(projector.name)
  if (stored === undefined || stored.status === 'stopped' || fitOf(stored, projector) !== 'older') return
  const copy = await continuedCopy(context, projector)
  await fill(context, [{ copy, upTo: await context.eventStore.head(context.filter) }])
  if (copy.failure === undefined) {
    await analyze(context.pool, copy.projector)
    if ((await switchOver(context, copy)) !== undefined) return
  }
  if (copy.failure !== undefined) throw new UpgradeFailedError(projector.name, copy.failure)
}
