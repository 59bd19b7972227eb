import type { RuntimeTables } from '../../engine/projections/schema.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import {
  outsideSystems,
  type OutsideCalls,
  type OutsideSystem,
  type SystemNews,
} from '../../platform/outbound/outside-calls.ts'
import type { ErrorSummary } from '../../platform/outbound/error-of.ts'
import { repeat, type Repeating } from './repeating.ts'

/** What the calls of all processes showed. */
export const outsideSystemTables: RuntimeTables = {
  created: `
    create table if not exists runtime.outside_systems (
      system text primary key,
      last_success_at timestamptz,
      failing_since timestamptz,
      failures integer not null,
      error_class text,
      error_code text,
      error_host text
    )
  `,
}

/** Between two stores, in milliseconds. */
const storeEveryMs = 2_000

/** Stores what the calls of this process showed. Nothing waits for it; news that cannot be stored wait in memory. */
export function storeOutsideCalls(options: {
  readonly calls: OutsideCalls
  readonly pool: Pool
  readonly logger: Logger
  readonly everyMs?: number
}): Repeating {
  const { calls, pool, logger, everyMs = storeEveryMs } = options
  const store = async (): Promise<void> => {
    const news = calls.take()
    if (news.length === 0) return
    try {
      await addNews(pool, news)
    } catch (error) {
      calls.putBack(news)
      throw error
    }
  }
  return repeat({ everyMs, work: store, last: store, logger, component: 'outside calls' })
}

/** After a success of any process, its count of failures begins anew. */
async function addNews(pool: Pool, news: readonly SystemNews[]): Promise<void> {
  const rows = news.map(({ system, lastSuccessAt, failingSince, failures, error }) => ({
    system,
    last_success_at: lastSuccessAt,
    failing_since: failingSince,
    failures,
    error_class: error?.class ?? null,
    error_code: error?.code ?? null,
    error_host: error?.host ?? null,
  }))
  await pool.query(
    `insert into runtime.outside_systems as s select * from json_populate_recordset(null::runtime.outside_systems, $1::json)
     on conflict (system) do update set
       last_success_at = greatest(s.last_success_at, excluded.last_success_at),
       failing_since = case when excluded.last_success_at is null then coalesce(s.failing_since, excluded.failing_since) else excluded.failing_since end,
       failures = least(1000000, excluded.failures + case when excluded.last_success_at is null then s.failures else 0 end),
       error_class = excluded.error_class, error_code = excluded.error_code, error_host = excluded.error_host`,
    [JSON.stringify(rows)],
  )
}

/** Calls in a row that failed, seen by any process, until a system counts as failing. */
const failingAfter = 3

export interface SystemStatus {
  readonly name: OutsideSystem
  readonly status: 'ok' | 'failing' | 'unused'
  readonly lastSuccessAt: Date | null
  readonly failingSince: Date | null
  readonly failures: number
  readonly error: ErrorSummary | null
}

interface SystemRow {
  system: string
  last_success_at: Date | null
  failing_since: Date | null
  failures: number
  error_class: string | null
  error_code: string | null
  error_host: string | null
}

/** All systems, in the order of the contract. One that no process has called is unused. */
export async function readSystems(pool: Pool): Promise<readonly SystemStatus[]> {
  const { rows } = await pool.query<SystemRow>('select * from runtime.outside_systems')
  return outsideSystems.map((name): SystemStatus => {
    const row = rows.find(({ system }) => system === name)
    if (row === undefined)
      return { name, status: 'unused', lastSuccessAt: null, failingSince: null, failures: 0, error: null }
    return {
      name,
      status: row.failures >= failingAfter ? 'failing' : 'ok',
      lastSuccessAt: row.last_success_at,
      failingSince: row.failing_since,
      failures: row.failures,
      error: row.error_class === null ? null : { class: row.error_class, code: row.error_code, host: row.error_host },
    }
  })
}
