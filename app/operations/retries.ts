import type { PoolClient } from 'pg'
import type { RequestedRetry, RetryOrder } from '../../contracts/operations/operations.ts'
import type { Retry, WorkKind } from '../../contracts/operations/record.ts'
import type { RuntimeTables } from '../../engine/projections/schema.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Pool } from '../../platform/database/database.ts'
import { inTransaction } from '../../platform/database/transaction.ts'
import { Problem, problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { FailureOfWork, OperatorActor } from '../../streams/operations/events.ts'
import { recordAction } from './record-action.ts'
import { workRelation, type WorkSource } from './work-relation.ts'

/** The retries that operators requested, and the work of each. */
export const retryTables: RuntimeTables = {
  created: `
    create table if not exists runtime.retries (
      id uuid primary key,
      target_kind text not null check (target_kind in ('step', 'group')),
      target_id uuid not null,
      actor_kind text not null,
      actor_id text,
      reason text,
      requested_at timestamptz not null,
      kind text not null,
      process text not null,
      step text not null,
      error_class text not null,
      error_code text,
      error_host text,
      first_failed_at timestamptz not null,
      last_failed_at timestamptz not null,
      versions text[] not null,
      total integer not null,
      ended_at timestamptz
    );
    create index if not exists retries_target on runtime.retries (target_id, requested_at);
    create table if not exists runtime.retried_work (
      retry_id uuid not null references runtime.retries on delete cascade,
      process text not null,
      key text not null,
      step text not null,
      kind text not null,
      work_id uuid not null,
      org_id text,
      failed_at timestamptz not null,
      is_begun boolean not null default false,
      outcome text check (outcome in ('done', 'failed')),
      primary key (retry_id, process, key, step)
    )
  `,
  /** Null: the work of every organisation. */
  laterColumns: { retries: { org_id: 'text' } },
}

/** Separates the locks of retries from others in the same database. */
const lockClass = 7_306

export interface Taken {
  readonly id: string
  readonly target: RetryOrder['target']
  readonly orgId: TenantId | null
  readonly actor: OperatorActor
  readonly reason: string | null
  readonly requestedAt: Date
}

interface RetryRow {
  readonly id: string
  readonly target_kind: RetryOrder['target']['kind']
  readonly target_id: string
  readonly actor_kind: OperatorActor['kind']
  readonly actor_id: string | null
  readonly reason: string | null
  readonly requested_at: Date
  readonly total: number
  readonly done: number
  readonly failed_again: number
  readonly ended_at: Date | null
}

/** A retry with its counts. */
const selected = `select r.*, coalesce(x.done, 0) as done, coalesce(x.failed_again, 0) as failed_again from runtime.retries r
  left join lateral (select count(*) filter (where outcome = 'done')::integer as done,
    count(*) filter (where outcome = 'failed')::integer as failed_again from runtime.retried_work w where w.retry_id = r.id) x on true`

function retryOf(row: RetryRow): Retry {
  const { id, reason, total, done, failed_again, ended_at: endedAt } = row
  return {
    id,
    requested_at: row.requested_at.toISOString(),
    actor: { kind: row.actor_kind, id: row.actor_id },
    reason,
    total,
    waiting: total - done - failed_again,
    done,
    failed_again,
    ended_at: endedAt === null ? null : endedAt.toISOString(),
  }
}

export async function readRetry(pool: Pool, id: string): Promise<Retry | undefined> {
  const { rows } = await pool.query<RetryRow>(`select s.* from (${selected}) s where id = $1`, [id])
  return rows.map(retryOf)[0]
}

/** The newest retry of each of the targets. */
export async function newestRetries(pool: Pool, targets: readonly string[]): Promise<ReadonlyMap<string, Retry>> {
  if (targets.length === 0) return new Map()
  const { rows } = await pool.query<RetryRow>(
    `select distinct on (s.target_id) s.* from (${selected}) s where target_id = any($1::uuid[])
     order by s.target_id, s.requested_at desc, s.id`,
    [targets],
  )
  return new Map(rows.map((row) => [row.target_id, retryOf(row)]))
}

/**
 * Takes the work that fails now, and records the request. One transaction holds the lock of the target, so two requests
 * at the same time begin one retry. The event comes before the commit. If the process dies between them, a processor
 * finds the event and takes the work (`takeLostRetries`).
 *
 * A repeat gets its retry, whatever has become of the work since.
 * @param failure how the work fails, or why another request is refused
 */
export async function requestRetry(
  { store, now, ...source }: WorkSource & { readonly store: () => Promise<EventStore>; readonly now: () => Date },
  failure: FailureOfWork | Problem,
  { id, target, orgId, reason, actor, context }: RetryOrder,
): Promise<RequestedRetry> {
  const relation = await workRelation(source)
  return inTransaction(source.pool, async (client) => {
    const known = await lockedRetry(client, { target, id, orgId })
    if (known?.id === id) {
      const isSame = known.target_id === target.id && known.target_kind === target.kind && known.reason === reason
      if (!isSame) throw problem('idempotency-key-reused')
      return { retry: retryOf(known), recorded: undefined }
    }
    if (failure instanceof Problem) throw failure
    if (known !== undefined) return { retry: retryOf(known), recorded: undefined }
    const requestedAt = now()
    const total = await takeWork(client, relation, failure, { id, target, orgId, actor, reason, requestedAt })
    if (total === 0) throw problem('step-not-failing')
    const recorded = await recordAction(
      await store(),
      {
        actionId: id,
        action: `${target.kind}.retry`,
        actor,
        subject: target,
        reason,
        count: total,
        retried: { failure, orgId },
        projection: null,
        at: requestedAt.toISOString(),
      },
      context,
    )
    const counts = { total, waiting: total, done: 0, failed_again: 0, ended_at: null }
    return { retry: { id, requested_at: requestedAt.toISOString(), actor, reason, ...counts }, recorded }
  })
}

/**
 * The retry with this id, or the one that runs for the target and this organisation, or for all. Nobody else takes work for the
 * target until the commit.
 */
export async function lockedRetry(
  client: PoolClient,
  { target, id, orgId }: Pick<Taken, 'target' | 'id' | 'orgId'>,
): Promise<RetryRow | undefined> {
  await client.query('select pg_advisory_xact_lock($1, hashtext($2))', [lockClass, `${target.kind} ${target.id}`])
  const { rows } = await client.query<RetryRow>(
    `select s.* from (${selected}) s where s.id = $1
       or (target_kind = $2 and target_id = $3 and ended_at is null and (org_id is null or org_id = $4))
     order by (s.id = $1) desc limit 1`,
    [id, target.kind, target.id, orgId],
  )
  return rows[0]
}

/** Returns the number of items. Without any, it writes nothing. */
export async function takeWork(
  client: PoolClient,
  relation: string,
  { kind, process, step, errorClass, errorCode, errorHost }: FailureOfWork,
  { id, target, orgId, actor, reason, requestedAt }: Taken,
): Promise<number> {
  const { rows } = await client.query<{ total: number }>(
    `with items as (
       select process, key, step, kind, id as work_id, org_id, first_failed_at, last_failed_at, version from (${relation}) w
       where kind = $8 and process = $9 and step = $10 and error_class = $11
         and error_code is not distinct from $12 and error_host is not distinct from $13
         and ($14::text is null or org_id = $14) and ($2 = 'group' or id = $3)
     ), retry as (
       insert into runtime.retries (id, target_kind, target_id, actor_kind, actor_id, reason, requested_at,
         kind, process, step, error_class, error_code, error_host, org_id, first_failed_at, last_failed_at, versions, total)
       select $1::uuid, $2::text, $3::uuid, $4::text, $5::text, $6::text, $7::timestamptz, $8::text, $9::text, $10::text, $11::text, $12::text, $13::text,
         $14::text, min(first_failed_at), max(last_failed_at), (array_remove(array_agg(distinct version), null))[1:20], count(*)
       from items having count(*) > 0
       returning id, total
     ), taken as (
       insert into runtime.retried_work (retry_id, process, key, step, kind, work_id, org_id, failed_at)
       select retry.id, items.process, items.key, items.step, items.kind, items.work_id, items.org_id, items.last_failed_at from items, retry
     )
     select total from retry`,
    [
      id,
      target.kind,
      target.id,
      actor.kind,
      actor.id,
      reason,
      requestedAt,
      kind,
      process,
      step,
      errorClass,
      errorCode,
      errorHost,
      orgId,
    ],
  )
  return rows[0]?.total ?? 0
}

/** What a group was that has no item any more. */
export interface EmptiedGroup {
  readonly failure: FailureOfWork
  readonly firstFailedAt: Date
  readonly lastFailedAt: Date
  readonly versions: readonly string[]
}

/** Groups whose retry runs, or ended less than an hour ago, by their ids. */
export async function retriedGroups(pool: Pool): Promise<ReadonlyMap<string, EmptiedGroup>> {
  const { rows } = await pool.query<{
    target_id: string
    kind: WorkKind
    process: string
    step: string
    error_class: string
    error_code: string | null
    error_host: string | null
    first_failed_at: Date
    last_failed_at: Date
    versions: string[]
  }>(
    `select distinct on (target_id) * from runtime.retries
     where target_kind = 'group' and (ended_at is null or ended_at > now() - interval '1 hour')
     order by target_id, requested_at desc limit 1000`,
  )
  return new Map(
    rows.map(({ target_id: id, kind, process, step, ...row }) => {
      const { error_class: errorClass, error_code: errorCode, error_host: errorHost } = row
      const failure = { kind, process, step, errorClass, errorCode, errorHost }
      const { first_failed_at: firstFailedAt, last_failed_at: lastFailedAt, versions } = row
      return [id, { failure, firstFailedAt, lastFailedAt, versions }]
    }),
  )
}
