import { Client, escapeIdentifier } from 'pg'
import { POSTGRES_ROLE } from './cluster.ts'

/** The connection string of one database of the embedded server. */
export function databaseUrl(port: number, password: string, database: string): string {
  return `postgres://${POSTGRES_ROLE}:${encodeURIComponent(password)}@127.0.0.1:${port}/${encodeURIComponent(database)}`
}

/** Creates those of the named databases that are missing; existing ones are left as they are. */
export async function createMissingDatabases(adminUrl: string, databases: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ datname: string }>('SELECT datname FROM pg_database')
    const present = new Set(rows.map((row) => row.datname))
    for (const database of databases) {
      if (!present.has(database)) await client.query(`CREATE DATABASE ${escapeIdentifier(database)} TEMPLATE template0`)
    }
  } finally {
    await client.end()
  }
}
