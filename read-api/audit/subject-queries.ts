import type { LogPlace, StreamPart } from '../../contracts/audit/records-in-order.ts'
import type { SubjectKind } from '../../contracts/audit/timeline.ts'
import type { Pool } from '../../platform/database/database.ts'
import { noOrganisation, type TenantId } from '../../platform/kit/tenants.ts'
import {
  auditSubjectsProjector as projector,
  followersTable,
  mentionsTable,
  streamEndsTable,
  subjectStreamsTable,
} from '../../projections/audit/audit-subjects.projector.ts'
import {
  computed,
  rowsFrom,
  rowsOf,
  tableOf,
  viewsOf,
  type Computed,
  type Rows,
} from '../../engine/reads/tenant-rows.ts'

const s = tableOf(projector, subjectStreamsTable, 's')
const f = tableOf(projector, followersTable, 'f')
const e = tableOf(projector, streamEndsTable, 'e')
const m = tableOf(projector, mentionsTable, 'm')

export interface AuditSubject {
  readonly kind: SubjectKind | 'organisation'
  readonly id: string
  /** Null: of every organisation, and of none. */
  readonly tenant: TenantId | null
}

/**
 * Which parts of a subject's streams may have an event of the answer. The clock of the event store may step back: then an
 * event in the middle of a stream is younger than its last one. So parts of a day before and behind the period come too.
 */
export interface PartsQuestion {
  readonly order: 'asc' | 'desc'
  readonly after: LogPlace | undefined
  readonly from: string | undefined
  readonly to: string | undefined
  /** Undefined: of all categories. */
  readonly categories: readonly string[] | undefined
}

/** Whether the subject exists for the organisation. */
export async function isSubject(pool: Pool, { kind, id, tenant }: AuditSubject): Promise<boolean> {
  const streams = rowsOf(s, { found: s.stream }).where(s.kind, kind).where(s.subjectId, id)
  const mentions = rowsOf(m, { found: m.stream }).where(m.kind, kind).where(m.subjectId, id)
  if (tenant !== null) {
    streams.where(s.orgId, tenant)
    mentions.where(m.orgId, tenant)
  }
  const found = await Promise.all([streams, mentions].map((rows) => viewsOf(pool, rows.limit(1))))
  return found.some((rows) => rows.length > 0)
}

/** Parts of one query. */
const chunk = 200

/** The parts of a subject, in the order of their nearer ends. */
export async function* partsOf(
  pool: Pool,
  subject: AuditSubject,
  question: PartsQuestion,
): AsyncGenerator<StreamPart, void, undefined> {
  const [streams, mentions] = [streamsOf(subject), mentionsOf(subject)]
  if (question.order === 'asc') {
    yield* inChunks(pool, computed('(? union all ?) as parts', [streams, mentions]), question)
    return
  }
  // A stream that goes on moves to another place of this order. So one query has to read all of them. Mentions do not move.
  // A busy user has many of them, and few streams.
  const rest = await viewsOf(
    pool,
    rowsAsked(computed('? as parts', [streams]), question).orderByRaw('"lastCommit" desc', []),
  )
  const newest = rest.map(partFrom).toReversed()
  for await (const mention of inChunks(pool, computed('? as parts', [mentions]), question)) {
    for (let next = newest.at(-1); next !== undefined && next.lastCommit > mention.lastCommit; next = newest.at(-1)) {
      newest.pop()
      yield next
    }
    yield mention
  }
  yield* newest.toReversed()
}

/** By the nearer end, which does not move meanwhile. */
async function* inChunks(
  pool: Pool,
  source: Computed<PartView>,
  question: PartsQuestion,
): AsyncGenerator<StreamPart, void, undefined> {
  const [comparison, direction] = question.order === 'asc' ? (['>', 'asc'] as const) : (['<', 'desc'] as const)
  let last: PartView | undefined
  do {
    const rows = rowsAsked(source, question)
    if (last !== undefined)
      rows.whereRaw(`("firstCommit", "stream", "firstRevision") ${comparison} (?, ?, ?)`, [
        last.firstCommit,
        last.stream,
        last.firstRevision,
      ])
    rows.orderByRaw(`"firstCommit" ${direction}, "stream" ${direction}, "firstRevision" ${direction}`, []).limit(chunk)
    const found = await viewsOf(pool, rows)
    yield* found.map(partFrom)
    last = found.length < chunk ? undefined : found.at(-1)
  } while (last !== undefined)
}

function rowsAsked(source: Computed<PartView>, { order, after, from, to, categories }: PartsQuestion): Rows<PartView> {
  const rows = rowsFrom(source, 'parts.*')
  if (after !== undefined)
    rows.whereRaw(order === 'asc' ? '"lastCommit" >= ?' : '"firstCommit" <= ?', [String(after.commit)])
  if (from !== undefined) rows.whereRaw(`"lastAt" >= ?::timestamptz - interval '1 day'`, [from])
  if (to !== undefined) rows.whereRaw(`"firstAt" < ?::timestamptz + interval '1 day'`, [to])
  if (categories !== undefined) rows.whereRaw(`split_part("stream", '-', 1) = any(?)`, [categories])
  return rows
}

function partFrom({ stream, ...ends }: PartView): StreamPart {
  return {
    stream,
    firstCommit: BigInt(ends.firstCommit),
    lastCommit: BigInt(ends.lastCommit),
    firstRevision: BigInt(ends.firstRevision),
    lastRevision: BigInt(ends.lastRevision),
  }
}

interface PartView {
  readonly stream: string
  readonly firstCommit: string
  readonly lastCommit: string
  readonly firstRevision: string
  readonly lastRevision: string
  readonly firstAt: string
  readonly lastAt: string
}

/** The streams of the subject, and those that follow them. */
function streamsOf({ kind, id, tenant }: AuditSubject) {
  const own = rowsOf(s, { stream: s.stream }).where(s.kind, kind).where(s.subjectId, id)
  // A user belongs to no organisation. The events of its stream do.
  const organisations = kind === 'user' ? [tenant ?? '', noOrganisation] : [tenant ?? '']
  if (tenant !== null) own.whereRaw('?? = any(?::uuid[])', [s.orgId, organisations])
  const followers = rowsOf(f, { stream: f.stream }).whereRaw('?? in (?)', [f.followed, own])
  const rows = rowsOf(e, {
    stream: e.stream,
    firstCommit: e.firstCommit,
    lastCommit: e.lastCommit,
    firstRevision: computed<string>('0::bigint'),
    lastRevision: e.streamRevision,
    firstAt: e.firstAt,
    lastAt: e.lastAt,
  })
  return kind === 'patient' || kind === 'case'
    ? rows.whereRaw('?? in (? union all ?)', [e.stream, own, followers])
    : rows.whereRaw('?? in (?)', [e.stream, own])
}

function mentionsOf({ kind, id, tenant }: AuditSubject) {
  const rows = rowsOf(m, {
    stream: m.stream,
    firstCommit: m.commitPosition,
    lastCommit: m.commitPosition,
    firstRevision: m.streamRevision,
    lastRevision: m.streamRevision,
    firstAt: m.recordedAt,
    lastAt: m.recordedAt,
  })
  rows.where(m.kind, kind).where(m.subjectId, id)
  return tenant === null ? rows : rows.where(m.orgId, tenant)
}
