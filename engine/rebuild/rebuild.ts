import { DatabaseError } from 'pg'
import { isDatabaseUnavailable } from '../../platform/database/database.ts'
import type { Position } from '../../platform/kit/positions.ts'
import {
  readCheckpoints,
  type ProjectionFailure,
  type StoredCheckpoint,
  type StoredStatus,
} from '../projections/checkpoints.ts'
import { reasonOf } from '../projections/database-errors.ts'
import type { Projector } from '../projections/projector.ts'
import { fitOf } from '../projections/schema.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { compareWithServing } from './compare.ts'
import type { Comparison } from './content.ts'
import { RebuildRefusedError, type RebuildContext, type RefusalReason } from './context.ts'
import { copyNames, dropOwnCopies, emptyCopy, type Copy } from './copies.ts'
import { CopyLostError, fill, analyze } from './fill.ts'
import { OperatorLocks } from './operator-locks.ts'
import { switchOver } from './switch.ts'

export type RebuildOutcome =
  | {
      readonly name: string
      readonly kind: 'switched'
      readonly comparison: Comparison
      readonly versions: { readonly from: number; readonly to: number }
      readonly position: Position
      readonly status: StoredStatus
    }
  /** Not switched. The copy is dropped. */
  | { readonly name: string; readonly kind: 'differs'; readonly comparison: Comparison }
  | Unable

/** `failed`: an event that cannot be decoded or processed. `refused`: the reason, in words for an operator. */
export type Unable =
  | { readonly name: string; readonly kind: 'failed'; readonly failure: ProjectionFailure }
  | { readonly name: string; readonly kind: 'refused'; readonly reason: RefusalReason; readonly message: string }

export interface RebuildOptions {
  /** Switches even if the contents differ: the serving copy is the damaged one. */
  readonly acceptDifference?: boolean
}

/**
 * Fills a copy of each read model in one read of the log. Compares it with the serving one at the same position, and
 * replaces the serving one. The serving one continues to serve and to be written meanwhile. Returns one outcome per
 * projector, in order. All other copies are dropped, also if the signal ends the work.
 */
export async function rebuild(
  context: RebuildContext,
  projectors: readonly Projector[],
  { acceptDifference = false }: RebuildOptions = {},
): Promise<RebuildOutcome[]> {
  return withCopies(context, projectors, 'next', async (copy, stored) => {
    const { serving } = copy
    const comparison = await compareWithServing(context, copy)
    if (copy.failure !== undefined) return { name: serving.name, kind: 'failed', failure: copy.failure }
    const isExpected = fitOf(stored, serving) === 'older'
    if (!comparison.isEqual && !isExpected && !acceptDifference)
      return { name: serving.name, kind: 'differs', comparison }
    // The serving one failed, so a copy at its position would fail too. The copy must first get past that event.
    if (stored.status === 'failed') await fill(context, [{ copy, upTo: await context.eventStore.head(context.filter) }])
    await analyze(context.pool, copy.projector)
    const switched = await switchOver(context, copy)
    if (switched === undefined) return failedAt(copy)
    const { position, status, from } = switched
    return {
      name: serving.name,
      kind: 'switched',
      comparison,
      versions: { from, to: serving.version },
      position,
      status,
    }
  })
}

function failedAt({ serving, failure }: Copy): Unable {
  if (failure === undefined) throw new TypeError(`${serving.name} has not failed`)
  return { name: serving.name, kind: 'failed', failure }
}

/**
 * Takes the operators' locks, fills an empty copy of each allowed projector, and passes the copies on, one after
 * another. Drops every copy that still exists afterwards. A failure of one projector is only its own outcome. Rejects
 * only while there is no outcome yet.
 */
async function withCopies<Outcome>(
  given: RebuildContext,
  projectors: readonly Projector[],
  kind: 'next' | 'check',
  work: (copy: Copy, stored: StoredCheckpoint) => Promise<Outcome>,
): Promise<(Outcome | Unable)[]> {
  const locks = await OperatorLocks.open(given)
  const context = { ...given, signal: locks.signal }
  const copies = new Map<Projector, Copy>()
  const refused = new Map<Projector, Unable>()
  try {
    for (const projector of projectors) {
      try {
        await locks.take(projector.name)
        await requireServed(context, projector, kind, locks)
        copies.set(projector, await emptyCopy(context, projector, copyNames(projector.name)[kind]))
      } catch (error) {
        if (!(error instanceof RebuildRefusedError)) throw error
        refused.set(projector, refusalBy(error, projector))
      }
    }
    const served = await readCheckpoints(
      context.pool,
      projectors.map(({ name }) => name),
    )
    // A lost copy is found again at its turn.
    await fill(
      context,
      [...copies.values()].map((copy) => ({ copy, upTo: servedAs(served, copy).position })),
    ).catch((error: unknown) => {
      if (!(error instanceof CopyLostError)) throw error
    })
    const outcomes: (Outcome | Unable)[] = []
    for (const projector of projectors) {
      const copy = copies.get(projector)
      const refusal = refused.get(projector)
      if (refusal !== undefined) outcomes.push(refusal)
      else if (copy !== undefined) {
        try {
          outcomes.push(copy.failure === undefined ? await work(copy, servedAs(served, copy)) : failedAt(copy))
        } catch (error) {
          const endsAll = context.signal.aborted || isDatabaseUnavailable(error)
          if (endsAll && outcomes.length === 0) throw error
          context.logger.warn(
            { component: 'projections', projector: projector.name, err: error },
            'a copy was neither compared nor switched',
          )
          outcomes.push(refusalBy(error, projector))
        }
      }
    }
    return outcomes
  } finally {
    const left = [...copies.values()]
    // The next command drops copies that cannot be dropped now.
    await inTransaction(context.pool, (client) => dropOwnCopies(client, left)).catch((err: unknown) =>
      context.logger.warn(
        { component: 'projections', projector: left.map(({ serving }) => serving.name).join(' '), err },
        'copies that are not needed any more stay until the next rebuild or drop',
      ),
    )
    await locks.close()
  }
}

function refusalBy(error: unknown, { name }: Projector): Unable {
  if (error instanceof RebuildRefusedError)
    return { name, kind: 'refused', reason: error.reason, message: error.message }
  // Postgres' own message may contain a value.
  const message = error instanceof DatabaseError || !(error instanceof Error) ? reasonOf(error) : error.message
  return { name, kind: 'refused', reason: 'interrupted', message: `not done: ${message}` }
}

function servedAs(served: ReadonlyMap<string, StoredCheckpoint>, { serving: { name } }: Copy): StoredCheckpoint {
  const stored = served.get(name)
  if (stored === undefined) throw new RebuildRefusedError('never-filled', `${name} has gone while its copy was filled`)
  return stored
}

async function requireServed(
  { pool }: RebuildContext,
  projector: Projector,
  kind: 'next' | 'check',
  locks: OperatorLocks,
): Promise<void> {
  const { name, version } = projector
  const stored = (await readCheckpoints(pool, [name])).get(name)
  if (stored === undefined)
    throw new RebuildRefusedError('never-filled', `${name} has never been filled: a projector that runs fills it`)
  const fit = fitOf(stored, projector)
  if (fit === 'newer') {
    throw new RebuildRefusedError(
      'newer-version',
      `${name} is served in version ${stored.version}, and this program has ${version}: use the newer program`,
    )
  }
  if (fit === 'older' && kind === 'check') {
    throw new RebuildRefusedError(
      'other-version',
      `${name} is served in version ${stored.version} with its tables, and this program has ${version}: use the program that filled it`,
    )
  }
  if (fit === 'older' && (await locks.isRun(name))) {
    throw new RebuildRefusedError(
      'other-version',
      `${name} is served in version ${stored.version} with its tables, and is run by that program now: start this one, which fills its own copy and puts it in place`,
    )
  }
}

export type VerifyOutcome =
  | { readonly name: string; readonly kind: 'equal' | 'differs'; readonly comparison: Comparison }
  | Unable

/** Fills a copy of each read model, compares it with the serving one at the same position, and drops it again. */
export async function verify(context: RebuildContext, projectors: readonly Projector[]): Promise<VerifyOutcome[]> {
  return withCopies<VerifyOutcome>(context, projectors, 'check', async (copy) => {
    const comparison = await compareWithServing(context, copy)
    if (copy.failure !== undefined) return failedAt(copy)
    return { name: copy.serving.name, kind: comparison.isEqual ? 'equal' : 'differs', comparison }
  })
}
