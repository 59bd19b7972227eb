import { v5 } from 'uuid'
import type { WorkFilter } from '../../contracts/operations/operations.ts'
import type { FailureGroup, WorkItem, WorkKind, WorkState } from '../../contracts/operations/record.ts'
import type { PageRequest, PageRows } from '../../platform/http/cursors.ts'
import type { FailureOfWork } from '../../streams/operations/events.ts'
import { retriedGroups, type EmptiedGroup } from './retries.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { ErrorSummary } from '../../platform/outbound/error-of.ts'
import { attemptFailed, stateOfWork, workRelation, type WorkSource } from './work-relation.ts'

/** Name space of failure groups. Never changed: a group keeps its id over restarts. */
const groupNames = 'b4a7b5c8-3f0e-5d55-8f1b-0a6d1b1f4c22'
const mostGroups = 1_000
/** Work beyond the largest groups is one group. */
export const otherGroup = v5('other', groupNames)
/** Of a group. */
const mostVersions = 20

interface Failing {
  readonly kind: WorkKind
  readonly process: string
  readonly step: string
  readonly error_class: string | null
  readonly error_code: string | null
  readonly error_host: string | null
}

interface WorkRow extends Failing {
  readonly id: string
  readonly key: string
  readonly state: WorkState
  readonly org_id: string | null
  readonly due_at: Date
  readonly due_text: string
  readonly next_try_at: Date | null
  readonly lease_until: Date | null
  readonly failures: number
  readonly first_failed_at: Date | null
  readonly last_failed_at: Date | null
  readonly version: string | null
  readonly correlation_id: string | null
}

/** The same in every process and after a restart. */
export function groupIdOf({ kind, process, step, error_class, error_code, error_host }: Failing): string {
  return v5(JSON.stringify([kind, process, step, error_class, error_code, error_host]), groupNames)
}

function errorOfRow({ error_class, error_code, error_host }: Failing): ErrorSummary | null {
  return error_class === null ? null : { class: error_class, code: error_code, host: error_host }
}

/** A caller makes a new assessment instead. A step of a review that threw may be tried again. */
export function isRetryable(kind: WorkKind, errorClass: string | null): boolean {
  return errorClass !== null && !(kind === 'ai_review' && errorClass === attemptFailed)
}

/** The kind of record that the keys of a process name. */
const subjects: Readonly<Record<string, string>> = {
  ai_review: 'ai_review',
  assessments: 'assessment',
  'assessments.follow-opened-task': 'task',
  'assessments.follow-ended-task': 'task',
  clinical: 'ai_review',
  exports: 'export',
  human_review: 'task',
  'notifications.deliver': 'notification',
  users: 'user',
  webhooks: 'subscription',
  'webhooks.deliver': 'delivery',
  workflows: 'workflow_instance',
}
const uuid = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/

function subjectOf({ kind, process, step, key, id }: WorkRow): WorkItem['subject'] {
  const named = subjects[`${process}.${step}`] ?? subjects[process]
  const found = kind === 'step' ? uuid.exec(key)?.[0] : id
  return named === undefined || found === undefined ? null : { kind: named, id: found }
}

function itemOf(row: WorkRow): WorkItem {
  const text = (at: Date | null) => (at === null ? null : at.toISOString())
  const error = errorOfRow(row)
  return {
    id: row.id,
    kind: row.kind,
    process: row.process,
    step: row.step,
    org_id: row.org_id,
    subject: subjectOf(row),
    state: row.state,
    failures: error === null && row.state !== 'failed' ? 0 : row.failures,
    first_failed_at: text(row.first_failed_at),
    last_failed_at: text(row.last_failed_at),
    due_at: row.due_at.toISOString(),
    next_try_at: text(row.next_try_at),
    lease_until: text(row.lease_until),
    error,
    version: row.version,
    group_id: error === null ? null : groupIdOf(row),
    correlation_id: row.correlation_id,
    retryable: isRetryable(row.kind, row.error_class),
  }
}

const selected = `select w.*, ${stateOfWork} as state, due_at::text as due_text`

/** Work, the oldest first. */
export async function listWork(source: WorkSource, filter: WorkFilter, page: PageRequest): Promise<PageRows<WorkItem>> {
  const group = filter.failingWith === undefined ? undefined : await findGroup(source, filter.failingWith)
  if (filter.failingWith !== undefined && group === undefined) return { rows: [], hasMore: false }
  const conditions: string[] = []
  const values: unknown[] = []
  const where = (condition: (parameter: string) => string, value: unknown) => {
    if (value === undefined || value === null) return
    values.push(value)
    conditions.push(condition(`$${values.length}`))
  }
  const equals = (column: string, value: unknown) => where((parameter) => `${column} = ${parameter}`, value)
  equals('org_id', filter.orgId)
  equals('kind', filter.kind)
  equals('process', filter.process)
  equals('step', filter.step)
  where((parameter) => `${stateOfWork} = any(${parameter})`, filter.states)
  if (group !== undefined)
    for (const [column, value] of Object.entries(group)) {
      if (value === null) conditions.push(`${column} is null`)
      else equals(column, value)
    }
  if (page.after !== null) {
    const [dueAt, id] = page.after
    values.push(dueAt, id)
    conditions.push(`(due_at, id) > ($${values.length - 1}::timestamptz, $${values.length}::uuid)`)
  }
  const { rows } = await source.pool.query<WorkRow>(
    `${selected} from (${await workRelation(source)}) w ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
     order by due_at, id limit ${page.limit + 1}`,
    values,
  )
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  return {
    rows: shown.map(itemOf),
    hasMore: rows.length > page.limit,
    // The text has microseconds.
    reached: last === undefined ? undefined : [last.due_text, last.id],
  }
}

export async function findWork(source: WorkSource, orgId: TenantId | null, id: string): Promise<WorkItem | undefined> {
  const { rows } = await source.pool.query<WorkRow>(
    `${selected} from (${await workRelation(source)}) w where id = $1 and ($2::text is null or org_id = $2) limit 1`,
    [id, orgId],
  )
  return rows.map(itemOf)[0]
}

const mostOfSubject = 20

/** What is due under these keys, the oldest first. */
export async function workUnder(source: WorkSource, keys: readonly string[]): Promise<readonly WorkItem[]> {
  const { rows } = await source.pool.query<WorkRow>(
    `${selected} from (${await workRelation(source)}) w where key = any($1) order by due_at, id limit ${mostOfSubject}`,
    [keys],
  )
  return rows.map(itemOf)
}

/** How a piece of work fails. Null if it does not. Undefined for an unknown id. */
export async function failureOfWork(
  source: WorkSource,
  orgId: TenantId | null,
  id: string,
): Promise<FailureOfWork | null | undefined> {
  const found = await findWork(source, orgId, id)
  if (found === undefined || found.error === null) return found === undefined ? undefined : null
  const { kind, process, step, error } = found
  return { kind, process, step, errorClass: error.class, errorCode: error.code, errorHost: error.host }
}

/** How the work of a group fails. A group without items does not. */
export async function failureOfGroup(source: WorkSource, id: string): Promise<FailureOfWork | null | undefined> {
  const found = await findGroup(source, id)
  if (found?.error_class === null || found === undefined)
    return (await retriedGroups(source.pool)).has(id) ? null : undefined
  const { kind, process, step, error_class: errorClass, error_code: errorCode, error_host: errorHost } = found
  return { kind, process, step, errorClass, errorCode, errorHost }
}

/** A group that a retry emptied. */
export function withoutItems(
  id: string,
  { failure, firstFailedAt, lastFailedAt, versions }: EmptiedGroup,
): Omit<FailureGroup, 'retry'> {
  const { kind, process, step, errorClass, errorCode, errorHost } = failure
  return {
    id,
    kind,
    process,
    step,
    error: { class: errorClass, code: errorCode, host: errorHost },
    count: 0,
    states: { failing: 0, parked: 0, failed: 0 },
    organisations: 0,
    first_failed_at: firstFailedAt.toISOString(),
    last_failed_at: lastFailedAt.toISOString(),
    versions: [...versions],
    retryable: false,
    example: null,
  }
}

async function findGroup(source: WorkSource, id: string): Promise<Failing | undefined> {
  const { rows } = await source.pool.query<Failing>(
    `select distinct kind, process, step, error_class, error_code, error_host from (${await workRelation(source)}) w where error_class is not null`,
  )
  return rows.find((row) => groupIdOf(row) === id)
}

/** What counts of a group, also of the one for all other work. */
interface CountedWork {
  readonly count: number
  readonly parked: number
  readonly failed: number
  readonly organisations: number
  readonly since: Date
  readonly until: Date
  readonly versions: string[]
  readonly example: string
}

function statesOf({ count, parked, failed }: CountedWork): FailureGroup['states'] {
  return { failing: count - parked - failed, parked, failed }
}

interface GroupRow extends Failing, CountedWork {
  readonly error_class: string
}

/** Items that fail in the same way, the largest group first. An item that is tried right now stays in its group. */
export async function listGroups(
  source: WorkSource,
  orgId: TenantId | null,
): Promise<readonly Omit<FailureGroup, 'retry'>[]> {
  const relation = await workRelation(source)
  const groups = await largestGroups(source, relation, orgId)
  if (groups.length < mostGroups) return groups
  return [...groups, ...(await otherWork(source, relation, orgId, groups))]
}

/** The failing work that is in none of the groups, as one group. */
async function otherWork(
  source: WorkSource,
  relation: string,
  orgId: TenantId | null,
  groups: readonly Omit<FailureGroup, 'retry'>[],
): Promise<readonly Omit<FailureGroup, 'retry'>[]> {
  const known = groups.map(({ kind, process, step, error }) => [
    kind,
    process,
    step,
    error.class,
    error.code,
    error.host,
  ])
  const { rows } = await source.pool.query<CountedWork>(
    `select count(*)::integer as count, count(*) filter (where is_parked)::integer as parked, count(*) filter (where is_ended)::integer as failed, count(distinct org_id)::integer as organisations, min(first_failed_at) as since,
       max(last_failed_at) as until, (array_remove(array_agg(distinct version), null))[1:${mostVersions}] as versions,
       (array_agg(id::text order by first_failed_at, id))[1] as example
     from (${relation}) w where error_class is not null and ($1::text is null or org_id = $1)
       and jsonb_build_array(kind, process, step, error_class, error_code, error_host) not in (select jsonb_array_elements($2::jsonb))
     having count(*) > 0`,
    [orgId, JSON.stringify(known)],
  )
  const [row] = rows
  const example = row === undefined ? undefined : await findWork(source, null, row.example)
  if (row === undefined || example === undefined) return []
  return [
    {
      id: otherGroup,
      kind: 'step',
      process: 'other',
      step: 'other',
      error: { class: 'other', code: null, host: null },
      count: row.count,
      states: statesOf(row),
      organisations: row.organisations,
      first_failed_at: row.since.toISOString(),
      last_failed_at: row.until.toISOString(),
      versions: row.versions,
      retryable: false,
      example,
    },
  ]
}

async function largestGroups(
  source: WorkSource,
  relation: string,
  orgId: TenantId | null,
): Promise<readonly Omit<FailureGroup, 'retry'>[]> {
  const { rows } = await source.pool.query<GroupRow>(
    `select kind, process, step, error_class, error_code, error_host, count(*)::integer as count,
       count(*) filter (where is_parked)::integer as parked, count(*) filter (where is_ended)::integer as failed, count(distinct org_id)::integer as organisations, min(first_failed_at) as since, max(last_failed_at) as until,
       (array_remove(array_agg(distinct version), null))[1:${mostVersions}] as versions, (array_agg(id::text order by first_failed_at, id))[1] as example
     from (${relation}) w where error_class is not null and ($1::text is null or org_id = $1)
     group by 1, 2, 3, 4, 5, 6 order by count desc, since, process, step limit ${mostGroups}`,
    [orgId],
  )
  if (rows.length === 0) return []
  const { rows: examples } = await source.pool.query<WorkRow>(
    `${selected} from (${relation}) w where id = any($1::uuid[])`,
    [rows.map(({ example }) => example)],
  )
  const items = new Map(examples.map((row) => [row.id, itemOf(row)]))
  return rows.flatMap((row): Omit<FailureGroup, 'retry'>[] => {
    const example = items.get(row.example)
    // It has succeeded meanwhile.
    if (example === undefined) return []
    const { kind, process, step, count, organisations, since, until, versions } = row
    const error = { class: row.error_class, code: row.error_code, host: row.error_host }
    return [
      {
        id: groupIdOf(row),
        kind,
        process,
        step,
        error,
        count,
        states: statesOf(row),
        organisations,
        first_failed_at: since.toISOString(),
        last_failed_at: until.toISOString(),
        versions,
        retryable: isRetryable(kind, row.error_class),
        example,
      },
    ]
  })
}

export interface WorkCounts {
  readonly kind: WorkKind
  readonly process: string
  readonly step: string
  readonly state: WorkState
  readonly count: number
  /** The earliest instant since which a row of these has been due. */
  readonly oldestDueAt: Date
  /** Of the rows that fail and are tried again, with the group. */
  readonly failure: { readonly groupId: string; readonly since: Date; readonly count: number } | null
}

interface CountRow extends Failing {
  readonly state: WorkState
  readonly count: number
  readonly oldest: Date
  readonly since: Date | null
}

/** Counts of all work by process, step, state and failure, in one query. */
export async function countWork(source: WorkSource): Promise<readonly WorkCounts[]> {
  const { rows } = await source.pool.query<CountRow>(
    `select kind, process, step, error_class, error_code, error_host, state, count(*)::integer as count,
       min(due_at) as oldest, min(first_failed_at) as since
     from (${selected} from (${await workRelation(source)}) w) s group by 1, 2, 3, 4, 5, 6, 7`,
  )
  return rows.map((row) => ({
    kind: row.kind,
    process: row.process,
    step: row.step,
    state: row.state,
    count: row.count,
    oldestDueAt: row.oldest,
    failure:
      row.since === null || row.state === 'failed'
        ? null
        : { groupId: groupIdOf(row), since: row.since, count: row.count },
  }))
}
