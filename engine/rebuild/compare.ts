import type { PoolClient } from 'pg'
import { comparePositions } from '../../platform/kit/positions.ts'
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
    const stored = (await readCheckpoints(served, [serving.name])).get(serving.name)
    if (stored === undefined)
      throw new RebuildRefusedError('never-filled', `${serving.name} has gone while its copy was filled`)
    const { position } = stored
    // `shapeOf` of this program or an earlier one wrote this.
    const tables = JSON.parse(stored.shape) as readonly Table[]
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
