import type { Pool, QueryResult, QueryResultRow } from 'pg'
import { prepared } from '../../platform/database/prepared.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import type { Projector } from '../../projections/runtime/projector.ts'
import { quoted } from '../../projections/runtime/row-statements.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { dueByLane, laneValues, nextDueByLane } from './lane-claims.ts'
import type { LaneShares } from './lanes.ts'
import type { TodoRow } from './process.ts'

/** A due row that this worker may work off. */
export interface Claimed {
  readonly todo: TodoRow
  /** Of a list with lanes. */
  readonly lane?: string | undefined
  /** Times in a row that the step has thrown. */
  readonly failures: number
}

/** How a claim ends. `fence`: not claimable again before the list has passed it. */
export interface Completion {
  readonly key: string
  readonly step: string
  readonly notBefore: Date
  readonly fence: Position | undefined
  readonly failures: number
}

interface ClaimedRow {
  key: string
  step: string
  org_id: string | null
  due_ms: number
  payload: unknown
  lane?: string
  failures: number
}

/**
 * Whether a lease `c` has ended. One that ends later than any may was given by a clock that has been set back since: whoever
 * holds it is done or gone before it ends. A step that is begun twice for that is one step: its facts and calls have their ids.
 */
function isOver(now: string): string {
  return `(c.lease_until <= ${now}::timestamptz or c.lease_until > ${now}::timestamptz + interval '2 minutes')`
}

/** The condition under which the row of a claim `c`, if there is one, may be claimed. */
const claimable = `(c.key is null or (${isOver('$3')} and c.not_before <= $3
  and (c.fence_commit, c.fence_prepare) <= (list.commit_position, list.prepare_position)))`

function oldestDue(todo: string): string {
  return `due as (
    select t.key, t.step, t.org_id, t.payload, (extract(epoch from t.due_at) * 1000)::float8 as due_ms, c.key is not null as has_claim
    from list, ${todo} t
    left join runtime.claims c on c.process = $2::text and c.key = t.key and c.step = t.step
    where t.due_at <= $3::timestamptz and t.step = any($4) and ${claimable}
    order by t.due_at limit $5
    for update of t skip locked
  )`
}

function query<Row extends QueryResultRow>(
  via: Pick<Pool, 'query'>,
  text: string,
  values: readonly unknown[],
): Promise<QueryResult<Row>> {
  return via.query<Row>(prepared(text, values))
}

/**
 * The claims of one process: who is at which row of its to-do list. They stand outside the list's schema, so that a list
 * that is filled anew forgets none of them. A list of another version than ours is left alone: its rows may say other things.
 */
export class Claims {
  readonly #pool: Pool
  readonly #process: string
  readonly #list: string
  readonly #version: number
  readonly #steps: readonly string[]
  readonly #worker: string

  constructor(
    pool: Pool,
    process: {
      readonly name: string
      readonly list: Pick<Projector, 'name' | 'version'>
      readonly steps: readonly string[]
    },
    worker: string,
  ) {
    this.#pool = pool
    this.#process = process.name
    this.#list = process.list.name
    this.#version = process.list.version
    this.#steps = process.steps
    this.#worker = worker
  }

  /**
   * Takes up to `limit` due rows, of each lane no more than its share where the list has lanes. The conditions stand
   * twice: against what this statement sees, and, in the conflict clause, against a claim that another worker committed
   * after it began. A claim whose lease is over and which its worker is just giving back is passed over: two who wait for
   * each other's, and have given back their own in the same transaction, would wait for ever.
   */
  async claim(limit: number, now: Date, leaseUntil: Date, lanes?: LaneShares): Promise<Claimed[]> {
    return this.completeAndClaim([], limit, now, leaseUntil, lanes)
  }

  /** The same after giving other rows back, for lists with lanes in one transaction. */
  async completeAndClaim(
    completions: readonly Completion[],
    limit: number,
    now: Date,
    leaseUntil: Date,
    lanes?: LaneShares,
  ): Promise<Claimed[]> {
    const claiming = (via: Pick<Pool, 'query'>) => this.#claim(via, limit, now, leaseUntil, lanes)
    if (lanes === undefined) {
      await this.settle(completions)
      return claiming(this.#pool)
    }
    return inTransaction(this.#pool, async (client) => {
      await this.settle(completions, client)
      return claiming(client)
    })
  }

  async #claim(
    via: Pick<Pool, 'query'>,
    limit: number,
    now: Date,
    leaseUntil: Date,
    lanes?: LaneShares,
  ): Promise<Claimed[]> {
    const text = `with recursive list as (
        select commit_position, prepare_position from runtime.projectors where name = $1 and version = $8 and status = 'running'
      ), ${lanes === undefined ? oldestDue(this.#todo) : dueByLane(this.#todo, claimable)}, unheld as (
        select c.key, c.step from due join runtime.claims c on c.process = $2::text and c.key = due.key and c.step = due.step
        where due.has_claim for update of c skip locked
      ), claimed as (
        insert into runtime.claims as c (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures)
        select $2::text, key, step, $6::text, $7::timestamptz, '-infinity', 0, 0, 0 from due
        where not has_claim or (key, step) in (select key, step from unheld)
        on conflict (process, key, step) do update set worker = excluded.worker, lease_until = excluded.lease_until
        where ${isOver('$3')} and c.not_before <= $3
          and (c.fence_commit, c.fence_prepare) <= (select commit_position, prepare_position from list)
        returning key, step, failures
      )
      select due.*, claimed.failures from claimed join due using (key, step) order by due.due_ms`
    const values = [this.#list, this.#process, now, this.#steps, limit, this.#worker, leaseUntil, this.#version]
    const { rows } = await query<ClaimedRow>(
      via,
      text,
      lanes === undefined ? values : [...values, ...laneValues(lanes), lanes.unhealthy],
    )
    return rows.map(({ key, step, org_id, due_ms, payload, lane, failures }) => ({
      todo: { key, step, orgId: org_id, dueAt: new Date(due_ms), payload },
      lane,
      failures,
    }))
  }

  /** Makes a lease longer; false where the claim is not this worker's any more, or not under that lease. */
  async prolong({ key, step }: Pick<TodoRow, 'key' | 'step'>, from: Date, to: Date): Promise<boolean> {
    const { rowCount } = await query(
      this.#pool,
      'update runtime.claims set lease_until = $6 where process = $1 and worker = $2 and key = $3 and step = $4 and lease_until = $5',
      [this.#process, this.#worker, key, step, from, to],
    )
    return rowCount === 1
  }

  /**
   * Gives rows back, unless somebody else has taken them over meanwhile. A claim whose list has passed its fence
   * says nothing any more, and is forgotten.
   */
  async settle(completions: readonly Completion[], via: Pick<Pool, 'query'> = this.#pool): Promise<void> {
    if (completions.length === 0) return
    const rows = completions.map(({ key, step, notBefore, fence, failures }) => ({
      key,
      step,
      not_before: notBefore,
      fence_commit: fence?.commit.toString() ?? null,
      fence_prepare: fence?.prepare.toString() ?? null,
      failures,
    }))
    await query(
      via,
      `with x as (
         select * from json_to_recordset($3::json) as x(key text, step text, not_before timestamptz, fence_commit numeric, fence_prepare numeric, failures integer)
       ), seen as (
         select x.key, x.step from x, runtime.projectors p
         where p.name = $4 and p.version = $5 and p.status = 'running' and x.failures = 0
           and (x.fence_commit, x.fence_prepare) <= (p.commit_position, p.prepare_position)
       ), forgotten as (
         delete from runtime.claims c using seen where c.process = $1 and c.worker = $2 and c.key = seen.key and c.step = seen.step
       )
       update runtime.claims c set lease_until = '-infinity', not_before = x.not_before, failures = x.failures,
         fence_commit = coalesce(x.fence_commit, c.fence_commit), fence_prepare = coalesce(x.fence_prepare, c.fence_prepare)
       from x
       where c.process = $1 and c.worker = $2 and c.key = x.key and c.step = x.step
         and not exists (select from seen where seen.key = x.key and seen.step = x.step)`,
      [this.#process, this.#worker, JSON.stringify(rows), this.#list, this.#version],
    )
  }

  /**
   * When the next row that is not claimable yet may become so, by time alone; undefined when none waits for a time, or the
   * list is of another version.
   */
  async nextDue(now: Date): Promise<Date | undefined> {
    const { rows } = await query<{ next_ms: number | null }>(
      this.#pool,
      `select (extract(epoch from least(
         (select t.due_at from ${this.#todo} t where t.due_at > $3 and t.step = any($2) order by t.due_at limit 1),
         (select min(greatest(c.not_before, c.lease_until)) from runtime.claims c join ${this.#todo} t on t.key = c.key and t.step = c.step
          where c.process = $1 and c.step = any($2) and greatest(c.not_before, c.lease_until) > $3 and t.due_at <= $3)
       )) * 1000)::float8 as next_ms
       from runtime.projectors where name = $4 and version = $5`,
      [this.#process, this.#steps, now, this.#list, this.#version],
    )
    const next = rows[0]?.next_ms ?? undefined
    return next === undefined ? undefined : new Date(next)
  }

  /**
   * The same for a list with lanes, of the lanes with room and without looking at claims: whoever put a row off knows
   * until when.
   */
  async nextDueByLane(now: Date, lanes: LaneShares): Promise<Date | undefined> {
    const values = [this.#list, this.#steps, now, this.#version, ...laneValues(lanes)]
    const { rows } = await query<{ next_ms: number | null }>(this.#pool, nextDueByLane(this.#todo), values)
    const next = rows[0]?.next_ms ?? undefined
    return next === undefined ? undefined : new Date(next)
  }

  /** Forgets claims whose rows the list has taken away. */
  async sweep(now: Date): Promise<void> {
    await query(
      this.#pool,
      `with forgotten as (
         select c.process, c.key, c.step from runtime.claims c, runtime.projectors p
         where c.process = $1 and p.name = $2 and p.version = $4 and p.status = 'running' and ${isOver('$3')}
           and (c.fence_commit, c.fence_prepare) <= (p.commit_position, p.prepare_position)
           and not exists (select from ${this.#todo} t where t.key = c.key and t.step = c.step)
         for update of c skip locked
       )
       delete from runtime.claims c using forgotten f where c.process = f.process and c.key = f.key and c.step = f.step`,
      [this.#process, this.#list, now, this.#version],
    )
  }

  get #todo(): string {
    return `${quoted(this.#list)}.todo`
  }
}
