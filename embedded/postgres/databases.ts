import { Client, escapeIdentifier, escapeLiteral } from 'pg'
import { ADMINISTRATOR } from './cluster.ts'

/** Passwords by database name. Each belongs to the role of the same name. */
export type RolePasswords = Readonly<Record<string, string>>

/** The connection string of one database of the embedded server. The role is the administrator by default. */
export function databaseUrl(port: number, password: string, database: string, role = ADMINISTRATOR): string {
  return `postgres://${encodeURIComponent(role)}:${encodeURIComponent(password)}@127.0.0.1:${port}/${encodeURIComponent(database)}`
}

/**
 * Creates the named databases that are missing, and their roles with all their rights. A role connects only to its own database and to
 * `postgres`, through which it can drop its own. A database without a password belongs to the administrator.
 */
export async function createMissingDatabases(
  adminUrl: string,
  databases: readonly string[],
  passwords: RolePasswords = {},
): Promise<void> {
  const client = new Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const present = await namesIn(client, 'SELECT datname AS name FROM pg_database')
    const roles = await namesIn(client, 'SELECT rolname AS name FROM pg_roles')
    for (const database of databases) {
      const name = escapeIdentifier(database)
      const password = passwords[database]
      if (password !== undefined) {
        const change = roles.has(database) ? 'ALTER' : 'CREATE'
        await client.query(
          `${change} ROLE ${name} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD ${escapeLiteral(password)}`,
        )
      }
      if (!present.has(database))
        await client.query(
          `CREATE DATABASE ${name} TEMPLATE template0${password === undefined ? '' : ` OWNER ${name}`}`,
        )
      await client.query(`REVOKE CONNECT, TEMPORARY ON DATABASE ${name} FROM PUBLIC`)
      // At each start: the one that made the database may have been killed before this.
      if (password !== undefined) await allowLogSwitch(client, adminUrl, database)
    }
  } finally {
    await client.end()
  }
}

/** A destroyed key of the vault must not stay in the write-ahead log until it happens to be switched. */
async function allowLogSwitch(client: Client, adminUrl: string, database: string): Promise<void> {
  const role = escapeIdentifier(database)
  await client.query(`GRANT pg_checkpoint TO ${role}`)
  const url = new URL(adminUrl)
  url.pathname = `/${encodeURIComponent(database)}`
  const within = new Client({ connectionString: url.href })
  await within.connect()
  try {
    await within.query(`GRANT EXECUTE ON FUNCTION pg_catalog.pg_switch_wal() TO ${role}`)
  } finally {
    await within.end()
  }
}

async function namesIn(client: Client, query: string): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(query)
  return new Set(rows.map(({ name }) => name))
}
