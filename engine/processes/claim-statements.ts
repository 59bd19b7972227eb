import type { Addition } from '../projections/joined-writes.ts'
import { noConcurrencyKey } from './todo-tables.ts'

/**
 * Whether the lease of a claim `c` has ended. A lease that ends too far in the future came from a clock that has been
 * set back. It counts as ended. A second attempt does no harm: its events and calls have the same ids.
 */
export function isOver(now: string): string {
  return `(c.lease_until <= ${now}::timestamptz or c.lease_until > ${now}::timestamptz + interval '2 minutes')`
}

/** The concurrency key of a row `t`. Without keys, all rows of a list have the same one. */
function keyColumn(isKeyed: boolean): string {
  return isKeyed ? 't.lane' : `'${noConcurrencyKey}'::text`
}

/**
 * Jumps through the index from each concurrency key of a list to the next: the cost is the number of keys, not of rows.
 * `known` contains the quotas of keys.
 */
function lanesOf(todo: string, lane: string): string {
  return `lanes (lane) as (
      (select ${lane} from ${todo} t order by ${lane} limit 1)
      union all
      select (select ${lane} from ${todo} t where ${lane} > lanes.lane order by ${lane} limit 1) from lanes where lanes.lane is not null
    ), known as (
      select * from unnest($6::text[], $7::integer[], $8::boolean[], $9::integer[])
        with ordinality as known (lane, room, is_unhealthy, in_hand, turn)
    )`
}

/**
 * Claims due rows. It reads no more of a key's oldest rows than the key may have, so the queue of a dead receiver costs
 * nothing. Of these rows it takes first those of the keys with the fewest steps: otherwise slow receivers would get
 * every worker that becomes free. Unhealthy keys take turns: by age, the longest queue would keep the others from
 * recovering.
 *
 * The conditions are tested twice. The row may have moved since the statement began, so its due time is tested again on
 * the locked row. Another worker may have committed a claim meanwhile, so the conflict clause tests the claim again. A
 * locked claim is passed over: two workers that give back and claim each other's rows would otherwise wait for ever.
 *
 * Rows that fail come through an index of their claims, in the order of their next tries, and no more of them than their
 * quota. So new rows do not wait behind them: one look at that index passes over all that fail. Within a key, the next try of
 * a row counts as its due time: by age, the rows that fail would come first at each of their tries. The claim of each other
 * row is looked up by its key (`lateral`), because a join would compare each row with each claim.
 *
 * Parameters: $1 list, $2 process, $3 now, $4 steps, $5 version, $6 to $10 the quotas, $11 limit, $12 worker, $13 end
 * of the lease, $14 the quota of all unhealthy keys, $15 that of rows that fail.
 */
export function claimStatement(todo: string, isKeyed: boolean): string {
  const lane = keyColumn(isKeyed)
  const isFree = `${isOver('$3')} and c.not_before <= $3 and (c.fence_commit, c.fence_prepare) <= (list.commit_position, list.prepare_position)`
  return `with recursive list as (
      select commit_position, prepare_position from runtime.projectors where name = $1 and version = $5 and status = 'running'
    ), ${lanesOf(todo, lane)}, waiting as (
      select due.*, lanes.lane, false as is_failing
      from list cross join lanes left join known on known.lane = lanes.lane cross join lateral (
        select t.key, t.step, t.due_at, c.key is not null as has_claim from ${todo} t
        left join lateral (select * from runtime.claims c where c.process = $2::text and c.key = t.key and c.step = t.step limit 1) c on true
        where ${lane} = lanes.lane and t.due_at <= $3::timestamptz and t.step = any($4)
          and (t.key, t.step) not in (select f.key, f.step from runtime.claims f where f.process = $2::text and f.error_class is not null)
          and (c.key is null or ${isFree})
        order by t.due_at limit coalesce(known.room, $10::integer)
      ) due
    ), failing as (
      select t.key, t.step, greatest(t.due_at, c.not_before) as due_at, true as has_claim, ${lane} as lane, true as is_failing
      from list cross join runtime.claims c join ${todo} t on t.key = c.key and t.step = c.step
      where c.process = $2::text and c.error_class is not null and ${isFree} and t.due_at <= $3::timestamptz and t.step = any($4)
        and coalesce((select known.room from known where known.lane = ${lane}), $10::integer) > 0
      order by c.not_before limit $15::integer
    ), offered as (
      select due.*, coalesce(known.is_unhealthy, false) as is_unhealthy, known.turn, coalesce(known.room, $10::integer) as room,
        coalesce(known.in_hand, 0) as in_hand, row_number() over (partition by due.lane order by due.due_at) as rank
      from (select * from waiting union all select * from failing) due left join known on known.lane = due.lane
    ), admitted as (
      select key, step, has_claim, is_failing from (
        select offered.*, row_number() over (partition by is_unhealthy order by turn, due_at, key, step) as place from offered where rank <= room
      ) ranked
      where not is_unhealthy or place <= $14::integer
      order by in_hand + rank, due_at limit $11
    ), due as (
      select t.key, t.step, t.org_id, t.payload, ${lane} as lane, (extract(epoch from t.due_at) * 1000)::float8 as due_ms, admitted.has_claim, admitted.is_failing
      from admitted join ${todo} t on t.key = admitted.key and t.step = admitted.step
      where t.due_at <= $3::timestamptz
      for update of t skip locked
    ), unheld as (
      select c.key, c.step from due join runtime.claims c on c.process = $2::text and c.key = due.key and c.step = due.step
      where due.has_claim for update of c skip locked
    ), claimed as (
      insert into runtime.claims as c (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures)
      select $2::text, key, step, $12::text, $13::timestamptz, '-infinity', 0, 0, 0 from due
      where not has_claim or (key, step) in (select key, step from unheld)
      on conflict (process, key, step) do update set worker = excluded.worker, lease_until = excluded.lease_until
      where ${isOver('$3')} and c.not_before <= $3
        and (c.fence_commit, c.fence_prepare) <= (select commit_position, prepare_position from list)
      returning key, step, failures, ended_leases
    )
    select key, step, org_id as "orgId", due_ms as "dueMs", payload, lane as "concurrencyKey", failures, is_failing as "isFailing", ended_leases as "endedLeases"
    from claimed join due using (key, step) order by due_ms`
}

/**
 * The first instant after $3 at which a row may become claimable by time alone: a row of a key with room becomes due,
 * or a claim of a due row ends. Parameters: $1 to $10 of `claimStatement`.
 */
export function nextDueStatement(todo: string, isKeyed: boolean): string {
  const lane = keyColumn(isKeyed)
  return `with recursive ${lanesOf(todo, lane)}
    select (extract(epoch from least(
      (select min(next.due_at) from lanes left join known on known.lane = lanes.lane cross join lateral (
         select t.due_at from ${todo} t where ${lane} = lanes.lane and t.due_at > $3::timestamptz and t.step = any($4)
         order by t.due_at limit 1
       ) next where coalesce(known.room, $10::integer) > 0),
      (select min(greatest(c.not_before, c.lease_until)) from runtime.claims c join ${todo} t on t.key = c.key and t.step = c.step
       where c.process = $2 and c.step = any($4) and greatest(c.not_before, c.lease_until) > $3 and t.due_at <= $3)
    )) * 1000)::float8 as next_ms
    from runtime.projectors where name = $1 and version = $5`
}

/** A row that the statement that writes it may claim. */
export interface Taking {
  readonly process: string
  readonly key: string
  readonly step: string
  /** RFC 3339. */
  readonly leaseUntil: string
  /** Called once, with whether the row is claimed. Undefined: nobody knows. */
  readonly settle: (isClaimed: boolean | undefined) => void
}

/** A row that has a claim already is left to `claimStatement`. */
export function claimsAddition(worker: string, takings: readonly Taking[]): Addition {
  return {
    columns: [
      ['process', 'text'],
      ['key', 'text'],
      ['step', 'text'],
      ['worker', 'text'],
      ['leaseUntil', 'timestamptz'],
    ],
    rows: takings.map((taking) => ({ ...taking, worker })),
    text: (source) =>
      `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures)
       select x.process, x.key, x.step, x.worker, x."leaseUntil", '-infinity', 0, 0, 0 from ${source}
       on conflict (process, key, step) do nothing returning concat_ws(' ', process, step, key) as added`,
    settle(added) {
      for (const { process, step, key, settle } of takings) settle(added?.includes(`${process} ${step} ${key}`))
    },
  }
}
