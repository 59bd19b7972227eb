import { isDatabaseUnavailable, type Pool, type PoolClient } from './database.ts'

/**
 * Runs `work` in one transaction. A connection that failed in it is closed, not reused. `begin` may set local settings.
 */
export async function inTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
  begin = 'begin',
): Promise<Result> {
  const client = await pool.connect()
  try {
    await client.query(begin)
    const result = await work(client)
    await client.query('commit')
    client.release()
    return result
  } catch (error) {
    // A server that did not answer will not answer the rollback either. It rolls back when the connection ends.
    const isUsable = !isDatabaseUnavailable(error) && (await rolledBack(client))
    client.release(!isUsable)
    throw error
  }
}

function rolledBack(client: PoolClient): Promise<boolean> {
  return client.query('rollback').then(
    () => true,
    () => false,
  )
}
