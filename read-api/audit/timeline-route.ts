import { Type } from 'typebox'
import type { AuditRecords, LogPlace, StoredRecord } from '../../contracts/audit/records-in-order.ts'
import {
  categoryOfType,
  concernsOrganisation,
  personOf,
  SubjectKind,
  subjectParameters,
  TimelineItem,
  timelineItemOf,
} from '../../contracts/audit/timeline.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import type { ReadDependencies } from '../../engine/reads/read-route.ts'
import { requireGranted } from '../../platform/http/access.ts'
import { greatestPageBytes, type CursorPlace, type PageRows } from '../../platform/http/cursors.ts'
import { Instant, Uuid } from '../../platform/http/members.ts'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { auditSubjectsProjector } from '../../projections/audit/audit-subjects.projector.ts'
import { requirePeriod } from './period.ts'
import { isSubject, partsOf, type AuditSubject } from './subject-queries.ts'

export interface AuditRouteDependencies extends Pick<ReadDependencies, 'pool' | 'cursors'> {
  readonly records: AuditRecords
}

/** Events that one page looks at. A page whose filters match few of them ends earlier. */
const mostExamined = 5_000

const subjectQuery = Object.fromEntries(subjectParameters.map((name) => [name, Type.Optional(Uuid)]))

/** What happened: the events of a subject, in the order of the log. */
export function timelineRoute(app: ServiceApp, deps: AuditRouteDependencies): void {
  const { pool, records } = deps

  listRoute(app, deps, {
    path: '/timeline',
    operationId: 'readTimeline',
    summary: 'The events of a subject, in the order of the log',
    description: `Exactly one of ${subjectParameters.map((name) => `\`${name}\``).join(', ')}. A patient has the events of everything about it. A case has those of its images, assessment, reviews, tasks, workflow instances and deliveries. Public events are left out, because they repeat facts.`,
    query: {
      ...subjectQuery,
      from: Type.Optional(Type.String({ ...Instant, description: 'Events recorded at this instant or later' })),
      to: Type.Optional(Type.String({ ...Instant, description: 'Events recorded before this instant' })),
      types: Type.Optional(
        Type.String({ minLength: 1, maxLength: 4_000, description: 'Event types, separated by commas' }),
      ),
      order: Type.Optional(Type.Enum(['asc', 'desc'], { default: 'asc' })),
      with_phi: Type.Optional(
        Type.Boolean({ default: false, description: 'Decrypts personal members. Needs the scope `audit:read-phi`' }),
      ),
    },
    access: { scopes: ['audit:read'], alsoOfActor: true },
    tenancy: 'optional',
    servedBy: [auditSubjectsProjector],
    problems: ['one-subject-required', 'org-required'],
    showsErased: true,
    list: 'timeline',
    sort: 'position',
    pageName: 'TimelineItemPage',
    item: TimelineItem,
    rows: async ({ tenant, query, caller }, { after, limit }) => {
      const subject = subjectOf(query, tenant)
      const types = typesOf(query.types)
      requirePeriod(query)
      const isOpened = query.with_phi === true
      if (isOpened) requireGranted(caller, ['audit:read-phi'])
      if (!(await isSubject(pool, subject))) throw problem('not-found')
      const question = {
        order: query.order ?? 'asc',
        after: after === null ? undefined : placeFrom(after),
        from: instantOf(query.from),
        to: instantOf(query.to),
        categories: types && [...new Set(types.values())],
      }
      const isShown = (record: StoredRecord) =>
        (types === undefined || types.has(record.type)) &&
        (question.from === undefined || record.recordedAt >= question.from) &&
        (question.to === undefined || record.recordedAt < question.to) &&
        (tenant === null || subject.kind !== 'user' || concernsOrganisation(record, tenant))
      const found = records.inOrder(partsOf(pool, subject, question), { ...question, isOpened })
      const page = await pageOf(found, isShown, limit)
      return { ...page, rows: page.rows.map((record) => ({ record, tenant })) }
    },
    placeOf: ({ record }) => placeOf(record),
    toItem: ({ record, tenant }) => timelineItemOf(record, tenant),
    shows: ({ record }) => personOf(record),
  })
}

/** @throws Problem `one-subject-required`, `org-required` */
function subjectOf(query: Readonly<Record<string, unknown>>, tenant: TenantId | null): AuditSubject {
  const named = SubjectKind.enum.flatMap((kind) => {
    const id = query[`${kind}_id`]
    return typeof id === 'string' ? [{ kind, id, tenant }] : []
  })
  const [subject] = named
  if (subject === undefined || named.length > 1) throw problem('one-subject-required')
  // Only users and clients may belong to no organisation.
  if (tenant === null && subject.kind !== 'user' && subject.kind !== 'client') throw problem('org-required')
  return subject
}

/** The wanted types with their categories. @throws Problem `validation-failed` */
function typesOf(given: string | undefined): ReadonlyMap<string, string> | undefined {
  if (given === undefined) return undefined
  const wanted = new Map<string, string>()
  for (const type of given.split(',').map((each) => each.trim())) {
    const category = categoryOfType(type)
    if (category === undefined)
      throw invalidMember(
        '/types',
        `names ${JSON.stringify(type.slice(0, 80))}, which is no type of event`,
        'unknown-event-type',
      )
    wanted.set(type, category)
  }
  return wanted
}

/** In the form of `recordedAt`. */
function instantOf(given: string | undefined): string | undefined {
  return given === undefined ? undefined : new Date(given).toISOString()
}

function placeOf({ position, revision }: StoredRecord): CursorPlace {
  return [String(position.commit), String(revision)]
}

function placeFrom([commit, revision]: CursorPlace): LogPlace {
  return { commit: BigInt(commit ?? 0), revision: BigInt(revision ?? 0) }
}

/** Events up to the limit and the bytes of a page, of as many as one page looks at. */
async function pageOf(
  found: AsyncGenerator<StoredRecord, void, undefined>,
  isShown: (record: StoredRecord) => boolean,
  limit: number,
): Promise<PageRows<StoredRecord>> {
  const rows: StoredRecord[] = []
  let [examined, bytes] = [0, 0]
  let last: StoredRecord | undefined
  for await (const record of found) {
    const isFull = rows.length === limit || bytes > greatestPageBytes
    if (isFull && isShown(record)) return { rows, hasMore: true }
    if (examined === mostExamined && last !== undefined) return { rows, hasMore: true, reached: placeOf(last) }
    examined += 1
    last = record
    if (!isShown(record)) continue
    rows.push(record)
    bytes += Buffer.byteLength(JSON.stringify(record.data))
  }
  return { rows, hasMore: false }
}
