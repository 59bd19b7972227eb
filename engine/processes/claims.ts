import type { Pool, QueryResult, QueryResultRow } from 'pg'
import { prepared } from '../../platform/database/prepared.ts'
import { contractVersion } from '../../platform/http/common-headers.ts'
import type { ErrorSummary } from '../../platform/outbound/error-of.ts'
import { quoted } from '../projections/row-statements.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { claimStatement, isOver, nextDueStatement } from './claim-statements.ts'
import type { KeyQuotas } from './concurrency-keys.ts'
import type { BoundProcess, TodoRow } from './process.ts'

/** A due row that this worker may work off. */
export interface Claimed {
  readonly todo: TodoRow
  readonly concurrencyKey: string
  /** How often in a row the step has thrown. */
  readonly failures: number
  /** Its last run threw or was put off. */
  readonly isFailing: boolean
  /** Ends of leases of dead workers of this instance, RFC 3339, since the row was last done. */
  readonly endedLeases: readonly string[]
}

/** The end of a claim. With a `fence`, the row cannot be claimed again before its list has passed this position. */
export interface Completion {
  readonly key: string
  readonly step: string
  readonly notBefore: Date
  readonly fence: Position | undefined
  readonly failures: number
  /** The streams contain the result. */
  readonly isDone: boolean
  /** Whether the last run failed or was put off. Undefined if nothing ran, or another attempt runs. */
  readonly isFailed?: boolean
  readonly error?: ErrorSummary
  /** When the run ended. */
  readonly endedAt?: Date
  /** The last run threw, and no server of the platform was away. */
  readonly isThrown?: true
}

/**
 * After `after` runs in a row that threw, a row is parked: it is tried every `retrySeconds`, until a run does not throw. Runs
 * during which a server of the platform was away do not count.
 */
export interface Parking {
  readonly after: number
  readonly retrySeconds: number
}

export const usualParking: Parking = { after: 20, retrySeconds: 3_600 }

type ClaimedRow = Omit<TodoRow, 'dueAt'> &
  Omit<Claimed, 'todo' | 'endedLeases'> & { readonly dueMs: number; readonly endedLeases: readonly Date[] }

/** A row keeps this many ends of leases: a process that dies at each start must not let it grow. */
const mostEndedLeases = 8

/** Each column keeps its value if nothing ran. `$4` is the version of this program. */
const failureColumns = [
  ['error_class', "x.error->>'class'"],
  ['error_code', "x.error->>'code'"],
  ['error_host', "x.error->>'host'"],
  ['first_failed_at', 'case when x."isFailed" then coalesce(c.first_failed_at, x."endedAt") end'],
  ['last_failed_at', 'case when x."isFailed" then x."endedAt" end'],
  ['failed_version', 'case when x."isFailed" then $4::text end'],
  ['thrown', 'case when x."isThrown" then c.thrown + 1 else 0 end'],
  ['is_parked', 'x."isThrown" is true and c.thrown + 1 >= $5::integer'],
]
  .map(([column, value]) => `${column} = case when x."isFailed" is null then c.${column} else ${value} end`)
  .join(', ')

/**
 * Which worker is at which row of the list of a process. Claims outlive a list that is filled again. A list of another
 * version is left alone: its rows may mean other things.
 */
export class Claims {
  readonly #pool: Pick<Pool, 'query'>
  readonly #process: Pick<BoundProcess, 'name' | 'list' | 'steps'>
  readonly #worker: { readonly id: string }
  readonly #parking: Parking
  readonly #todo: string

  constructor(
    pool: Pick<Pool, 'query'>,
    process: Pick<BoundProcess, 'name' | 'list' | 'steps'>,
    worker: { readonly id: string },
    parking = usualParking,
  ) {
    this.#pool = pool
    this.#process = process
    this.#worker = worker
    this.#parking = parking
    this.#todo = `${quoted(process.list.name)}.todo`
  }

  /** Whether the list contains all events up to there. */
  async hasReached({ commit, prepare }: Position): Promise<boolean> {
    const { name, version } = this.#process.list
    const { rowCount } = await this.#query(
      `select from runtime.projectors where name = $1 and version = $2
         and (commit_position, prepare_position) >= ($3::numeric, $4::numeric)`,
      [name, version, commit.toString(), prepare.toString()],
    )
    return rowCount === 1
  }

  /** Takes up to `limit` due rows, up to `failing` of those that fail. With quotas, the list has concurrency keys. */
  async claim(limit: number, now: Date, leaseUntil: Date, quotas?: KeyQuotas, failing = limit): Promise<Claimed[]> {
    const statement = claimStatement(this.#todo, quotas !== undefined)
    const values = this.#values(now, quotas ?? withoutKeys(limit))
    const own = [limit, this.#worker.id, leaseUntil, quotas?.unhealthy ?? 0, failing]
    const { rows } = await this.#query<ClaimedRow>(statement, [...values, ...own])
    return rows.map(({ key, step, orgId, dueMs, payload, endedLeases, ...claim }) => ({
      ...claim,
      todo: { key, step, orgId, dueAt: new Date(dueMs), payload },
      endedLeases: endedLeases.map((end) => end.toISOString()),
    }))
  }

  /** Extends a lease. False if the claim belongs to another worker, or has another lease. */
  async prolong({ key, step }: TodoRow, from: string, to: string): Promise<boolean> {
    const { rowCount } = await this.#query(
      'update runtime.claims set lease_until = $6 where process = $1 and worker = $2 and key = $3 and step = $4 and lease_until = $5',
      [this.#process.name, this.#worker.id, key, step, from, to],
    )
    return rowCount === 1
  }

  /** Gives rows back, unless another worker has taken them over. */
  async complete(completions: readonly Completion[]): Promise<void> {
    const { after, retrySeconds } = this.#parking
    const rows = JSON.stringify(completions, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))
    await this.#query(
      `update runtime.claims c set lease_until = '-infinity', failures = x.failures, ended_leases = case when x."isDone" then '{}' else c.ended_leases end,
         fence_commit = coalesce((x.fence->>'commit')::numeric, c.fence_commit), fence_prepare = coalesce((x.fence->>'prepare')::numeric, c.fence_prepare),
         not_before = case when x."isThrown" and c.thrown + 1 >= $5::integer then x."endedAt" + make_interval(secs => $6::integer) else x."notBefore" end,
         ${failureColumns}
       from json_to_recordset($3::json) as x(key text, step text, "notBefore" timestamptz, fence json, failures integer, "isDone" boolean,
         "isFailed" boolean, error json, "endedAt" timestamptz, "isThrown" boolean)
       where c.process = $1 and c.worker = $2 and c.key = x.key and c.step = x.step`,
      [this.#process.name, this.#worker.id, rows, contractVersion, after, retrySeconds],
    )
  }

  /** When a row may next become claimable by time alone; undefined if none waits for a time. */
  async nextDue(now: Date, quotas?: KeyQuotas): Promise<Date | undefined> {
    const statement = nextDueStatement(this.#todo, quotas !== undefined)
    const values = this.#values(now, quotas ?? withoutKeys(1))
    const { rows } = await this.#query<{ next_ms: number | null }>(statement, values)
    const next = rows[0]?.next_ms ?? undefined
    return next === undefined ? undefined : new Date(next)
  }

  /** Forgets claims whose rows the list has removed. False if no claim of the process is left. */
  async sweep(now: Date): Promise<boolean> {
    const { rows } = await this.#query<{ is_left: boolean }>(
      `with forgotten as (
         select c.process, c.key, c.step from runtime.claims c, runtime.projectors p
         where c.process = $1 and p.name = $2 and p.version = $4 and p.status = 'running' and ${isOver('$3')}
           and (c.fence_commit, c.fence_prepare) <= (p.commit_position, p.prepare_position)
           and not exists (select from ${this.#todo} t where t.key = c.key and t.step = c.step)
         for update of c skip locked
       ), deleted as (
         delete from runtime.claims c using forgotten f where c.process = f.process and c.key = f.key and c.step = f.step
         returning 1
       )
       select (select count(*) from runtime.claims where process = $1) > (select count(*) from deleted) as is_left`,
      [this.#process.name, this.#process.list.name, now, this.#process.list.version],
    )
    return rows[0]?.is_left ?? true
  }

  /** The parameters $1 to $10 of `claimStatement` and `nextDueStatement`. */
  #values(now: Date, { known, others }: KeyQuotas): unknown[] {
    const { name, list, steps } = this.#process
    const quotas = (['key', 'room', 'isUnhealthy', 'inHand'] as const).map((member) => known.map((one) => one[member]))
    return [list.name, name, now, Object.keys(steps), list.version, ...quotas, others]
  }

  #query<Row extends QueryResultRow>(text: string, values: readonly unknown[]): Promise<QueryResult<Row>> {
    return this.#pool.query<Row>(prepared(text, values))
  }
}

function withoutKeys(others: number): KeyQuotas {
  return { others, unhealthy: 0, known: [] }
}

/**
 * Ends the claims of earlier runs of an instance. They have died: only one process at a time has the identity of an
 * instance. The rows keep the ends of the leases, by which a step recognises the attempts of those runs.
 */
export async function endClaimsOf(instance: string, worker: string, pool: Pick<Pool, 'query'>): Promise<void> {
  await pool.query(
    `update runtime.claims set lease_until = '-infinity',
       ended_leases = (ended_leases || lease_until)[greatest(1, cardinality(ended_leases) + 2 - ${mostEndedLeases}):]
     where substring(worker from '^(.*)/[^/]*$') = $1 and worker <> $2 and lease_until > '-infinity'`,
    [instance, worker],
  )
}
