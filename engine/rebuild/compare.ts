import type { PoolClient } from 'pg'
import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import { readCheckpoints } from '../projections/checkpoints.ts'
import type { Table } from '../projections/projector.ts'
import { beginSnapshot, compareContent, type Comparison } from './content.ts'
import { RebuildRefusedError, type RebuildContext } from './context.ts'
import type { Copy } from './copies.ts'
import { CopyLostError, fill } from './fill.ts'

/**
 * Compares a copy with the serving one at exactly the same position. It takes a snapshot of the serving one and fills
 * the copy to the snapshot's checkpoint. The serving one continues meanwhile. If the copy has a `failure`, the
 * comparison is meaningless.
 */
export async function compareWithServing(context: RebuildContext, copy: Copy): Promise<Comparison> {
  const { pool, onProgress, signal } = context
  const { serving, projector } = copy
  const clients: PoolClient[] = []
  const connected = async (): Promise<PoolClient> => {
    const client = await pool.connect()
    clients.push(client)
    return client
  }
  let isClean = false
  try {
    const [served, filled] = [await connected(), await connected()]
    await beginSnapshot(served)
    const { position, tables } = await servedRow(served, serving.name)
    if (comparePositions(position, copy.position) < 0)
      throw new RebuildRefusedError('under-way', `${serving.name} was put back while its copy was filled`)
    await fill(context, [{ copy, upTo: position }])
    onProgress?.({ phase: 'comparing', projector: serving.name, events: 0, position, target: position })
    await beginSnapshot(filled)
    const own = (await readCheckpoints(filled, [projector.name])).get(projector.name)
    if (own?.copyId !== copy.copyId) throw new CopyLostError(`${projector.name} no longer belongs to this process`)
    const comparison = await compareContent(
      { client: served, schema: serving.name, tables },
      { client: filled, schema: projector.name, tables: projector.tables },
      position,
      signal,
    )
    await Promise.all([served.query('commit'), filled.query('commit')])
    isClean = true
    return comparison
  } finally {
    for (const client of clients) client.release(!isClean)
  }
}

interface ServedRow {
  readonly shape: string
  readonly commit_position: string
  readonly prepare_position: string
}

async function servedRow(client: PoolClient, name: string): Promise<{ position: Position; tables: readonly Table[] }> {
  const { rows } = await client.query<ServedRow>(
    'select shape, commit_position, prepare_position from runtime.projectors where name = $1',
    [name],
  )
  const [row] = rows
  if (row === undefined) throw new RebuildRefusedError('never-filled', `${name} has gone while its copy was filled`)
  // `shapeOf` of this program or an earlier one wrote this.
  const tables = JSON.parse(row.shape) as readonly Table[]
  return { position: { commit: BigInt(row.commit_position), prepare: BigInt(row.prepare_position) }, tables }
}
