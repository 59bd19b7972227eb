import { Pool } from 'pg'
import type { JobDone, SelectJob } from './jobs.ts'
import { timed } from './work.ts'

/** Each answer has to be one row. */
export async function runSelectJob({ databaseUrl, sql, ids, count, inFlight }: SelectJob): Promise<JobDone> {
  const pool = new Pool({ connectionString: databaseUrl, max: inFlight })
  try {
    return await timed(count, inFlight, async (number) => {
      const { rowCount } = await pool.query({ name: 'by-key', text: sql, values: [ids[number % ids.length]] })
      if (rowCount !== 1) throw new Error(`${rowCount} rows have one primary key`)
    })
  } finally {
    await pool.end()
  }
}
