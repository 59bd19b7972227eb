import type { Pool, PoolClient } from 'pg'
import { withoutFailure } from '../projections/checkpoints.ts'
import { copyNames } from './copies.ts'

/** A resumed projector. */
export interface Resumed {
  readonly isServing: boolean
  /** Version of the copy that a newer program could not fill. The program now fills it again. */
  readonly nextVersion: number | undefined
}

/**
 * Lets a stopped or failed projector continue after its checkpoint. If the fill of a copy for another version or other
 * tables has failed, deletes its row, so the next fill starts empty. Undefined if nothing was stopped or failed.
 */
export async function requestResume(database: Pool | PoolClient, name: string): Promise<Resumed | undefined> {
  const { rows } = await database.query<{ is_serving: boolean; next_version: number | null }>(
    `with next as (
       delete from runtime.projectors n using runtime.projectors x
       where n.name = $2 and n.status = 'failed' and x.name = $1 and (n.version <> x.version or n.shape <> x.shape) returning n.version
     ), serving as (
       update runtime.projectors set status = 'rebuilding', updated_at = clock_timestamp(), ${withoutFailure}
       where name = $1 and status in ('stopped', 'failed') returning name
     )
     select exists (select from serving) as is_serving, (select version from next) as next_version`,
    [name, copyNames(name).next],
  )
  const [row] = rows
  if (row === undefined || (!row.is_serving && row.next_version === null)) return undefined
  return { isServing: row.is_serving, nextVersion: row.next_version ?? undefined }
}
