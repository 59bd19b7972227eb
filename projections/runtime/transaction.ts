import type { Pool, PoolClient } from 'pg'

/** Runs `work` in one transaction; a connection that failed in it is closed, not put back. */
export async function inTransaction<Result>(pool: Pool, work: (client: PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect()
  // A connection that is cut between two statements tells it as an event, which unheard would end the program; the next
  // statement on it fails anyway.
  client.on('error', heard)
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    client.off('error', heard)
    client.release()
    return result
  } catch (error) {
    const isUsable = await client.query('rollback').then(
      () => true,
      () => false,
    )
    if (isUsable) client.off('error', heard)
    client.release(!isUsable)
    throw error
  }
}

function heard(): void {}
