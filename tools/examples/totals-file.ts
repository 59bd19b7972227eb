import { DatabaseSync } from 'node:sqlite'

/** The tables that the examples fill. */
export interface TotalsFile {
  /** Changes the tables like a fault of the consumer's machine does. */
  change(sql: string): void
  handled(): string[]
  /** The number of counted events of each organisation. */
  counts(): Record<string, number>
  checkpoint(): number | undefined
  /** Whether a consumer is in a transaction. */
  isBeingWritten(): boolean
}

export function readTotals(path: string): TotalsFile {
  function opened<Result>(use: (database: DatabaseSync) => Result, timeout = 10_000): Result {
    const database = new DatabaseSync(path, { timeout })
    try {
      return use(database)
    } finally {
      database.close()
    }
  }
  /** None before the consumer has made its tables. */
  const rows = (table: string, sql: string) =>
    opened((database) => {
      const found = database.prepare('SELECT name FROM sqlite_schema WHERE name = ?').get(table)
      return found === undefined ? [] : database.prepare(sql).all()
    })
  return {
    change: (sql) => opened((database) => database.exec(sql)),
    handled: () => rows('handled', 'SELECT event_id FROM handled').map((row) => String(row['event_id'])),
    counts: () =>
      Object.fromEntries(
        rows('totals', 'SELECT org_id, sum(count) AS count FROM totals GROUP BY org_id').map((row) => [
          String(row['org_id']),
          Number(row['count']),
        ]),
      ),
    checkpoint: () => rows('checkpoint', 'SELECT revision FROM checkpoint').map((row) => Number(row['revision']))[0],
    isBeingWritten: () =>
      opened((database) => {
        try {
          database.exec('BEGIN IMMEDIATE; ROLLBACK')
          return false
        } catch {
          return true
        }
      }, 0),
  }
}
