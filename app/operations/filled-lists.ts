import type { Pool } from '../../platform/database/database.ts'

interface Versioned {
  readonly name: string
  readonly version: number
}

/** Which read models and to-do lists have tables of this program. Before the first start of a projector there are none. */
export async function filledLists(pool: Pool): Promise<(list: Versioned) => boolean> {
  const { rows } = await pool.query<Versioned>('select name, version from runtime.projectors')
  const stored = new Map(rows.map(({ name, version }) => [name, version]))
  return ({ name, version }) => stored.get(name) === version
}
