import { createHash } from 'node:crypto'
import type { Position } from '../../platform/kit/positions.ts'
import { heldByName } from './checkpoints.ts'
import type { Projector, Table } from './projector.ts'
import type { Statement } from './row-statements.ts'

/** One projector's part of a batch: its writes, and its checkpoint's move (exclusive start, inclusive end). */
export interface BatchPart {
  readonly projector: Projector
  readonly writes: readonly Write[]
  readonly from: Position
  readonly to: Position
}

export interface Write {
  readonly table: string
  readonly statement: Statement
  /** The statement's parameters, in order. */
  readonly parameters: readonly string[]
}

/** Old and new checkpoints of a batch, for `checkpointsMove`. */
export function checkpointRows(parts: readonly BatchPart[], copies?: ReadonlyMap<string, string>) {
  return parts.map(({ projector, from, to }) => ({
    name: projector.name,
    version: projector.version,
    shape_id: shapeIdOf(projector),
    copy_id: copies?.get(projector.name) ?? null,
    from_commit: from.commit.toString(),
    from_prepare: from.prepare.toString(),
    to_commit: to.commit.toString(),
    to_prepare: to.prepare.toString(),
  }))
}

/**
 * Moves checkpoints if they are exactly at the given positions: the parts `held` and `moved` of a statement.
 * Parameters: $1 `checkpointRows` as JSON, $2 their names.
 *
 * A copy that replaces the serving one has the same position. The writer continues in it unnoticed if version and
 * tables are its own. With `ofCopies`, it must be the same copy.
 */
export function checkpointsMove({ ofCopies = false }: { readonly ofCopies?: boolean } = {}): string {
  return `${heldByName('$2')}, moved as (
     update runtime.projectors p set commit_position = x.to_commit, prepare_position = x.to_prepare, updated_at = now()
     from json_to_recordset($1::json) as x(name text, version integer, shape_id uuid, copy_id uuid, from_commit numeric, from_prepare numeric, to_commit numeric, to_prepare numeric)
     where p.name in (select name from held) and p.name = x.name and p.version = x.version and p.shape_id = x.shape_id
       and p.commit_position = x.from_commit and p.prepare_position = x.from_prepare${ofCopies ? ' and p.copy_id = x.copy_id' : ''}
     returning p.name, p.copy_id
   )`
}

const shapeIds = new WeakMap<readonly Table[], string>()

/** The `shape_id` that the projector's row must have. */
function shapeIdOf({ tables }: Projector): string {
  const known = shapeIds.get(tables)
  if (known !== undefined) return known
  const id = createHash('md5').update(JSON.stringify(tables)).digest('hex')
  shapeIds.set(tables, id)
  return id
}
