import { Client } from 'pg'
import { expect, test } from 'vitest'
import { administratorName, freshDatabase, freshDatabases, postgresAdminUrl } from '../../support/postgres.ts'

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

test('each fresh database is empty, separate from its vault, and gone after drop', async () => {
  const first = await freshDatabases()
  const second = await freshDatabases()
  await query(first.url, 'CREATE TABLE marks (n int)')
  await query(first.url, 'CREATE SCHEMA of_a_projector CREATE TABLE rows (n int)')

  const tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
  expect(await query(first.url, tables)).toEqual([{ tablename: 'marks' }])
  expect(await query(first.vaultUrl, tables)).toEqual([])
  expect(await query(second.url, tables)).toEqual([])

  await first.drop()
  await second.drop()
  await expect(query(first.url, 'SELECT 1')).rejects.toThrow('does not exist')
  const left = await query(
    postgresAdminUrl(),
    `SELECT datname FROM pg_database WHERE datname = '${new URL(second.vaultUrl).pathname.slice(1)}'`,
  )
  expect(left).toEqual([])

  // It is one of the former databases under another name.
  const third = await freshDatabase()
  expect(await query(third.url, tables)).toEqual([])
  expect(await query(third.url, "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' ORDER BY 1")).toEqual(
    [{ nspname: 'information_schema' }, { nspname: 'public' }],
  )
  await third.drop()
})

test('a worker makes and drops databases after its connection to the server broke', async () => {
  await (await freshDatabase()).drop()
  const breakOwn = () =>
    query(
      postgresAdminUrl(),
      `SELECT pg_terminate_backend(pid, 5000) AS ended FROM pg_stat_activity WHERE application_name = '${administratorName}'`,
    )
  expect(await breakOwn()).toContainEqual({ ended: true })
  const database = await freshDatabase()
  expect(await query(database.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }])
  expect(await breakOwn()).toContainEqual({ ended: true })
  await database.drop()
  await expect(query(database.url, 'SELECT 1')).rejects.toThrow('does not exist')
})
