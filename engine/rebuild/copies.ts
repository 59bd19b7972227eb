import type { PoolClient } from 'pg'
import { inTransaction } from '../../platform/database/transaction.ts'
import { type ProjectionFailure, type StoredStatus, readCheckpoints } from '../projections/checkpoints.ts'
import type { Member } from '../projections/feed.ts'
import type { Projector } from '../projections/projector.ts'
import { quoted } from '../projections/row-statements.ts'
import { comparePositions, parsePosition, startOfLog } from '../../platform/kit/positions.ts'
import { createProjector, prepareProjector } from '../projections/schema.ts'
import type { RebuildContext } from './context.ts'

/** The possible copies of a read model besides the serving one: schemas and rows of `runtime.projectors`. */
export function copyNames(name: string) {
  const copy = (kind: string) => `${name}__${kind}`
  return { next: copy('next'), previous: copy('previous'), check: copy('check'), dropped: copy('dropped') }
}

/** A copy during its fill. */
export interface Copy extends Member {
  /** The projector under its serving name. `projector` has the copy's name, and `position` is its checkpoint. */
  readonly serving: Projector
  readonly skipped: ReadonlySet<string>
  /** The event that it cannot process. */
  failure: ProjectionFailure | undefined
}

/**
 * Creates an empty copy with status `stopped`. Otherwise runners could continue a copy of a killed command, which an
 * earlier program may have filled.
 */
export async function emptyCopy(
  { pool, skips }: RebuildContext,
  serving: Projector,
  name: string,
  mark: StoredStatus = 'stopped',
): Promise<Copy> {
  const skipped = (await skips?.(serving.name)) ?? new Set<string>()
  const projector = { ...serving, name }
  const copyId = await inTransaction(pool, (client) => createProjector(client, projector, mark))
  return { serving, projector, copyId, skipped, position: startOfLog, isActive: true, failure: undefined }
}

/** The copy that a runner of this program left half filled, or an empty one. */
export async function continuedCopy(context: RebuildContext, serving: Projector): Promise<Copy> {
  const projector = { ...serving, name: copyNames(serving.name).next }
  const stored = (await readCheckpoints(context.pool, [projector.name])).get(projector.name)
  if (stored?.status !== 'rebuilding') return emptyCopy(context, serving, projector.name, 'rebuilding')
  const skipped = (await context.skips?.(serving.name)) ?? new Set<string>()
  const { position, copyId, fit } = await inTransaction(context.pool, (client) => prepareProjector(client, projector))
  // It may contain events that were skipped later.
  const isPastSkipped = [...skipped].some((skip) => comparePositions(parsePosition(skip) ?? startOfLog, position) <= 0)
  if (fit !== 'current' || isPastSkipped) return emptyCopy(context, serving, projector.name, 'rebuilding')
  return { serving, projector, copyId, skipped, position, isActive: true, failure: undefined }
}

/** Drops the copies that still belong to the caller, inside its transaction. */
export async function dropOwnCopies(client: PoolClient, copies: readonly Copy[]): Promise<void> {
  const names = copies.map(({ projector }) => projector.name)
  const stored = await readCheckpoints(client, names, 'for update')
  const own = copies.filter(({ projector, copyId }) => (stored.get(projector.name)?.copyId ?? copyId) === copyId)
  await dropCopies(
    client,
    own.map(({ projector }) => projector.name),
  )
}

/**
 * Drops copies inside the caller's transaction. Returns the names of those that existed. Locks rows before tables, as
 * switches do.
 */
export async function dropCopies(client: PoolClient, names: readonly string[]): Promise<string[]> {
  const { rows: marks } = await client.query<{ name: string }>(
    'delete from runtime.projectors where name = any($1) returning name',
    [names],
  )
  const { rows: schemas } = await client.query<{ name: string }>(
    'select nspname as name from pg_namespace where nspname = any($1)',
    [names],
  )
  for (const { name } of schemas) await client.query(`drop schema ${quoted(name)} cascade`)
  const found = new Set([...marks, ...schemas].map(({ name }) => name))
  return names.filter((name) => found.has(name))
}
