import { createHash } from 'node:crypto'
import { EventStoreDBClient } from '@eventstore/db-client'
import { Client } from 'pg'
import { readModels } from '../../../projections/registry.ts'

/** Every event up to a position, with what a restore must keep. */
export async function eventsUpTo(url: string, position: bigint): Promise<readonly string[]> {
  const client = EventStoreDBClient.connectionString(url)
  const found: string[] = []
  try {
    for await (const { event } of client.readAll()) {
      if (event === undefined || event.position.commit > position) break
      const { id, type, streamId, revision, created, data, metadata } = event
      const place = [event.position.commit, event.position.prepare, streamId, revision].join(' ')
      found.push(`${place} ${id} ${type} ${created.toISOString()} ${hashOf([data, metadata])}`)
    }
  } finally {
    await client.dispose()
  }
  return found
}

function hashOf(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex')
}

/** The rows of each read model, but of those that each read changes. */
export async function rowsOfReadModels(url: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`set timezone = 'UTC'`)
    const rows: Record<string, readonly string[]> = {}
    for (const { name: schema, tables, isPatient } of readModels) {
      if (isPatient === true) continue
      for (const { name } of tables) {
        const found = await client.query<{ row: string }>(
          `select to_jsonb(t)::text as row from "${schema}"."${name}" t order by 1`,
        )
        rows[`${schema}.${name}`] = found.rows.map(({ row }) => row)
      }
    }
    return rows
  } finally {
    await client.end()
  }
}
