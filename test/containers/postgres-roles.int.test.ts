import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, escapeLiteral } from 'pg'
import { expect, test } from 'vitest'
import { freePort } from '../../embedded/children/free-port.ts'
import { databaseUrl } from '../../embedded/postgres/databases.ts'
import { startPostgres } from '../../embedded/postgres/start-postgres.ts'

const environment: Readonly<Record<string, string>> = {
  PLATFORM_DATABASE_PASSWORD: "it's one",
  VAULT_DATABASE_PASSWORD: 'two',
}

/** The statements of the file with its variables replaced, as psql does it. */
async function statements(): Promise<string[]> {
  const script = await readFile(new URL('../../docker-compose.postgres.sql', import.meta.url), 'utf8')
  const variables = new Map(
    [...script.matchAll(/^\\getenv (\w+) (\w+)$/gm)].map(([, name = '', from = '']) => [name, environment[from] ?? '']),
  )
  const sql = script
    .replaceAll(/^(?:\\|--).*$/gm, '')
    .replaceAll(/:'(\w+)'/g, (_, name: string) => escapeLiteral(variables.get(name) ?? ''))
  return sql
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

async function answer(url: string, statement: string): Promise<unknown> {
  const client = new Client({ connectionString: url })
  try {
    await client.connect()
    return (await client.query<Record<string, unknown>>(statement)).rows[0]
  } finally {
    await client.end()
  }
}

test('each role of the Compose file owns one database and reaches no other', async ({ onTestFinished }) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'compose-postgres-'))
  const port = await freePort()
  const server = await startPostgres({ dataDir, port, password: 'of the superuser', databases: [], durable: false })
  onTestFinished(async () => {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  for (const statement of await statements()) await answer(server.url('postgres'), statement)

  const platform = (database: string) =>
    databaseUrl(port, environment['PLATFORM_DATABASE_PASSWORD'] ?? '', database, 'platform')
  const vault = (database: string) => databaseUrl(port, environment['VAULT_DATABASE_PASSWORD'] ?? '', database, 'vault')
  const who =
    'select current_database() as database, pg_get_userbyid(datdba) as owner from pg_database where datname = current_database()'
  expect(await answer(platform('platform'), who)).toEqual({ database: 'platform', owner: 'platform' })
  expect(await answer(vault('vault'), who)).toEqual({ database: 'vault', owner: 'vault' })
  await answer(platform('platform'), 'create schema of_a_read_model')
  await expect(answer(platform('vault'), who)).rejects.toThrow('permission denied for database "vault"')
  await expect(answer(vault('platform'), who)).rejects.toThrow('permission denied for database "platform"')
})
