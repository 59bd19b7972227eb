import type { Overview } from '../../contracts/operations/record.ts'
import type { RuntimeTables } from '../../engine/projections/schema.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { latencyAt, type Rates } from './minute-rates.ts'
import { repeat, type Repeating } from './repeating.ts'

/** What each process counted in each minute. */
export const rateTables: RuntimeTables = {
  created: `
    create table if not exists runtime.rates (
      minute integer not null,
      process_id uuid not null,
      requests integer not null,
      errors integer not null,
      latencies integer[] not null,
      assessments integer not null,
      assessments_failed integer not null,
      deliveries integer not null,
      deliveries_failed integer not null,
      notifications integer not null,
      notifications_failed integer not null,
      primary key (minute, process_id)
    )
  `,
}

/** In milliseconds. */
const storeEveryMs = 5_000
const shownMinutes = 60

/** Stores what this process counts, and removes minutes that are not shown any more. */
export function storeRates(options: {
  readonly id: string
  readonly rates: Rates
  readonly pool: Pool
  readonly logger: Logger
  readonly everyMs?: number
}): Repeating {
  const { id, rates, pool, logger, everyMs = storeEveryMs } = options
  const store = async (): Promise<void> => {
    const rows = rates.minutes().map(({ minute, requests, errors, latencies, ...counts }) => ({
      minute,
      process_id: id,
      requests,
      errors,
      latencies,
      assessments: counts.assessments,
      assessments_failed: counts.assessmentsFailed,
      deliveries: counts.deliveries,
      deliveries_failed: counts.deliveriesFailed,
      notifications: counts.notifications,
      notifications_failed: counts.notificationsFailed,
    }))
    if (rows.length === 0) return
    await pool.query(
      `insert into runtime.rates select * from json_populate_recordset(null::runtime.rates, $1::json)
       on conflict (minute, process_id) do update set requests = excluded.requests, errors = excluded.errors,
         latencies = excluded.latencies, assessments = excluded.assessments, assessments_failed = excluded.assessments_failed,
         deliveries = excluded.deliveries, deliveries_failed = excluded.deliveries_failed,
         notifications = excluded.notifications, notifications_failed = excluded.notifications_failed`,
      [JSON.stringify(rows)],
    )
    rates.stored()
    await pool.query(
      `delete from runtime.rates where minute < extract(epoch from clock_timestamp()) / 60 - ${2 * shownMinutes}`,
    )
  }
  return repeat({ everyMs, work: store, last: store, logger, component: 'rates' })
}

interface RateRow {
  readonly minute: number
  readonly requests: number
  readonly errors: number
  readonly latencies: number[] | null
  readonly assessments: number
  readonly assessments_failed: number
  readonly deliveries: number
  readonly deliveries_failed: number
  readonly notifications: number
  readonly notifications_failed: number
}

const counted = [
  'requests',
  'errors',
  'assessments',
  'assessments_failed',
  'deliveries',
  'deliveries_failed',
  'notifications',
  'notifications_failed',
] as const

/** Of all processes together, the oldest minute first. The last one is the minute of `at`, which is not over. */
export async function readRates(pool: Pool, at: Date): Promise<Overview['rates']> {
  const present = Math.floor(at.getTime() / 60_000)
  const { rows } = await pool.query<RateRow>(
    `select m.minute, ${counted.map((name) => `coalesce(sum(r.${name}), 0)::integer as ${name}`).join(', ')},
       (select array_agg(s.total order by s.place) from (
          select l.place, sum(l.count)::integer as total
          from runtime.rates x cross join lateral unnest(x.latencies) with ordinality as l (count, place)
          where x.minute = m.minute group by l.place) s) as latencies
     from generate_series($1::integer - ${shownMinutes - 1}, $1::integer) as m (minute)
     left join runtime.rates r on r.minute = m.minute group by m.minute order by m.minute`,
    [present],
  )
  return rows.map(({ minute, latencies, ...counts }) => ({
    minute: new Date(minute * 60_000).toISOString(),
    requests: counts.requests,
    errors: counts.errors,
    p50_ms: latencyAt(latencies ?? [], 0.5),
    p99_ms: latencyAt(latencies ?? [], 0.99),
    assessments: counts.assessments,
    assessments_failed: counts.assessments_failed,
    deliveries: counts.deliveries,
    deliveries_failed: counts.deliveries_failed,
    notifications: counts.notifications,
    notifications_failed: counts.notifications_failed,
  }))
}
