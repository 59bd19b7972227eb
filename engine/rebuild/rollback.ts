import type { Pool } from 'pg'
import { inTransaction } from '../../platform/database/transaction.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { readCheckpoints, type ProjectionFailure, type StoredStatus } from '../projections/checkpoints.ts'
import type { Projector } from '../projections/projector.ts'
import { fitOf } from '../projections/schema.ts'
import { RebuildRefusedError, type RebuildContext } from './context.ts'
import { copyNames, dropCopies, type Copy } from './copies.ts'
import { OperatorLocks } from './operator-locks.ts'
import { switchOver } from './switch.ts'

export type RollbackOutcome =
  | { readonly name: string; readonly kind: 'switched'; readonly position: Position; readonly status: StoredStatus }
  | { readonly name: string; readonly kind: 'failed'; readonly failure: ProjectionFailure }

/**
 * Puts the copy that served before back in place. The serving one becomes the previous copy, so a second rollback
 * reverses the first. The copy is first filled to the position of the serving one, because readers must never see less
 * than before. Both must have the program's version: a version cannot be rolled back.
 * @param copyId the copy to put back. If it serves already, nothing changes: otherwise a repeat would reverse the rollback
 * @throws RebuildRefusedError
 */
export async function rollback(given: RebuildContext, serving: Projector, copyId?: string): Promise<RollbackOutcome> {
  const locks = await OperatorLocks.open(given)
  const context = { ...given, signal: locks.signal }
  const { name } = serving
  try {
    await locks.take(name)
    const served = (await readCheckpoints(context.pool, [name])).get(name)
    if (served !== undefined && served.copyId === copyId)
      return { name, kind: 'switched', position: served.position, status: served.status }
    const copy = await previousCopy(context, serving)
    if (copyId !== undefined && copy.copyId !== copyId)
      throw new RebuildRefusedError('nothing-to-roll-back-to', `the previous copy of ${name} was replaced meanwhile`)
    const switched = await switchOver(context, copy)
    if (switched !== undefined) return { name, kind: 'switched', position: switched.position, status: switched.status }
    if (copy.failure === undefined) throw new TypeError(`${name} was neither switched nor has it failed`)
    return { name, kind: 'failed', failure: copy.failure }
  } finally {
    await locks.close()
  }
}

async function previousCopy({ pool, skips }: RebuildContext, serving: Projector): Promise<Copy> {
  const { previous } = copyNames(serving.name)
  const checkpoints = await readCheckpoints(pool, [previous, serving.name])
  const [stored, served] = [checkpoints.get(previous), checkpoints.get(serving.name)]
  if (stored === undefined)
    throw new RebuildRefusedError('nothing-to-roll-back-to', `${serving.name} has no previous copy`)
  if ([stored, served].some((each) => each !== undefined && fitOf(each, serving) !== 'current')) {
    throw new RebuildRefusedError(
      'other-version',
      `the serving and the previous copy of ${serving.name} have different versions, or another one than this program. A version cannot be rolled back: deploy a program with a higher version`,
    )
  }
  const skipped = (await skips?.(serving.name)) ?? new Set<string>()
  const projector = { ...serving, name: previous }
  const { copyId, position } = stored
  return { serving, projector, copyId, skipped, position, isActive: true, failure: undefined }
}

/**
 * Removes the copy that served before, and copies of a killed command. Returns the names of removed copies.
 * @throws RebuildRefusedError while another process works on the copies
 */
export async function drop(pool: Pool, name: string): Promise<string[]> {
  const locks = await OperatorLocks.open({ pool })
  try {
    await locks.take(name)
    const { next, previous, check, dropped } = copyNames(name)
    return await inTransaction(pool, async (client) => {
      const found = await dropCopies(client, [previous, next, check, dropped])
      locks.signal.throwIfAborted()
      return found
    })
  } finally {
    await locks.close()
  }
}
