import type { LaneShares } from './lanes.ts'

/**
 * Every lane of a list, by jumps from one to the next in its index: the cost is the number of lanes, not of rows. `known`
 * says how many rows of which lane may be taken.
 */
function lanesOf(todo: string, known: string): string {
  return `lanes (lane) as (
      (select t.lane from ${todo} t order by t.lane limit 1)
      union all
      select (select t.lane from ${todo} t where t.lane > lanes.lane order by t.lane limit 1) from lanes where lanes.lane is not null
    ), known as (
      select * from unnest(${known}) with ordinality as known (lane, room, is_unhealthy, in_hand, turn)
    )`
}

/**
 * The part of a claim that chooses rows: of each lane its oldest ones, as many as it may have, and of those first the ones
 * whose lane then has the fewest under way: receivers that are slow must not have every worker that comes free.
 * Rows beyond are not looked at, so that a lane that stands still costs the same whatever it has piled up. Ill lanes take
 * turns: by age, those that have piled up most would have the whole share of all of them, and none else would get well.
 * That a row is due is asked again of the row that is locked: its list may have moved it after the statement began.
 * `claimable` is the condition on `c`, the claim of a row `t`. Parameters: $3 now, $4 steps, $5 limit, from $9 `laneValues`, $14 the share
 * of all unhealthy lanes.
 */
export function dueByLane(todo: string, claimable: string): string {
  return `${lanesOf(todo, '$9::text[], $10::integer[], $11::boolean[], $12::integer[]')}, offered as (
      select due.*, coalesce(known.is_unhealthy, false) as is_unhealthy, known.turn,
        coalesce(known.in_hand, 0) + row_number() over (partition by lanes.lane order by due.due_at) as load
      from list cross join lanes left join known on known.lane = lanes.lane cross join lateral (
        select t.key, t.step, t.due_at, c.key is not null as has_claim from ${todo} t
        left join runtime.claims c on c.process = $2::text and c.key = t.key and c.step = t.step
        where t.lane = lanes.lane and t.due_at <= $3::timestamptz and t.step = any($4) and ${claimable}
        order by t.due_at limit coalesce(known.room, $13::integer)
      ) due
    ), admitted as (
      select key, step, has_claim from (select offered.*, row_number() over (partition by is_unhealthy order by turn, due_at, key, step) as place from offered) ranked
      where not is_unhealthy or place <= $14::integer
      order by load, due_at limit $5
    ), due as (
      select t.key, t.step, t.org_id, t.payload, t.lane, (extract(epoch from t.due_at) * 1000)::float8 as due_ms, admitted.has_claim
      from admitted join ${todo} t on t.key = admitted.key and t.step = admitted.step
      where t.due_at <= $3::timestamptz
      for update of t skip locked
    )`
}

/** The first instant after $3 at which a row of a lane with room is due. Parameters: $1 list, $2 steps, $4 version, from $5 `laneValues`. */
export function nextDueByLane(todo: string): string {
  return `with recursive ${lanesOf(todo, '$5::text[], $6::integer[], $7::boolean[], $8::integer[]')}
    select (extract(epoch from min(next.due_at)) * 1000)::float8 as next_ms
    from lanes left join known on known.lane = lanes.lane cross join lateral (
      select t.due_at from ${todo} t where t.lane = lanes.lane and t.due_at > $3::timestamptz and t.step = any($2)
      order by t.due_at limit 1
    ) next
    where coalesce(known.room, $9::integer) > 0
      and exists (select from runtime.projectors where name = $1 and version = $4)`
}

/** Five parameters that both statements take. */
export function laneValues({ known, others }: LaneShares): unknown[] {
  return [
    known.map(({ lane }) => lane),
    known.map(({ room }) => room),
    known.map(({ isUnhealthy }) => isUnhealthy),
    known.map(({ inHand }) => inHand),
    others,
  ]
}
