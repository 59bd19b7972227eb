import type { AuditRecords } from '../../contracts/audit/records-in-order.ts'
import type { FindSubject } from '../../contracts/operations/operations.ts'
import { SubjectKind, type SubjectReference } from '../../contracts/operations/record.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { publicEventId } from '../../engine/relay/envelope.ts'
import type { Pool } from '../../platform/database/database.ts'
import { problem } from '../../platform/http/problems.ts'
import { tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import { channels } from '../../processes/registry.ts'
import { auditSubjectsProjector } from '../../projections/audit/audit-subjects.projector.ts'
import { notificationsProjector } from '../../projections/notifications/notifications.projector.ts'
import { usersProjector } from '../../projections/users/users.projector.ts'
import { webhookDeliveriesProjector } from '../../projections/webhooks/webhook-deliveries.projector.ts'
import { webhookSubscriptionsProjector } from '../../projections/webhooks/webhook-subscriptions.projector.ts'
import { partsOf, type AuditSubject } from '../../read-api/audit/subject-queries.ts'
import type { Subjects } from '../../read-api/operations/routes.ts'
import { deliveryIdOf } from '../../streams/webhook-delivery/aggregate.ts'
import { filledLists } from './filled-lists.ts'
import {
  assessmentPassage,
  casePassage,
  reviewPassage,
  sendingPassage,
  taskPassage,
  textOf,
  type Fact,
  type Passage,
  type Sending,
} from './subject-stages.ts'
import { hostOfUrl, type WorkSource } from './work-relation.ts'
import { workUnder } from './work.ts'

interface SubjectSources extends WorkSource {
  readonly records: AuditRecords
  /** Whether the erasure of a patient has begun. */
  readonly isErased: (orgId: TenantId, patientId: string) => boolean
}

const servedBy = [
  auditSubjectsProjector,
  notificationsProjector,
  usersProjector,
  webhookDeliveriesProjector,
  webhookSubscriptionsProjector,
] as const

/** Of a longer history the oldest and the newest so many count: they have the beginnings and the ends. */
const mostFacts = 1_000
const mostRelated = 100
/** No organisation may have more webhook subscriptions. A bound for the query alone. */
const mostRecipients = 1_000

/** The records whose events have streams that the index of audit knows. */
const indexed = ['assessment', 'case', 'ai_review', 'task', 'notification'] as const
type IndexedKind = (typeof indexed)[number]

/** The subject that a member of an event names. */
const namedBy: Readonly<Record<string, SubjectReference['kind']>> = {
  assessmentId: 'assessment',
  caseId: 'case',
  aiReviewId: 'ai_review',
  taskId: 'task',
}

export function createSubjects(sources: SubjectSources): Subjects {
  return { servedBy, find: finderOf(sources) }
}

function finderOf({ records, isErased, ...source }: SubjectSources): FindSubject {
  const { pool } = source
  async function factsOf(subject: AuditSubject, order: 'asc' | 'desc'): Promise<Fact[]> {
    const parts = partsOf(pool, subject, { ...everything, order })
    const facts: Fact[] = []
    for await (const fact of records.inOrder(parts, { order, after: undefined, isOpened: false })) {
      facts.push(fact)
      if (facts.length === mostFacts) break
    }
    return facts
  }

  async function factsAbout(kind: IndexedKind, id: string, tenant: TenantId | null): Promise<readonly Fact[]> {
    const subject = { kind, id, tenant }
    const oldest = await factsOf(subject, 'asc')
    if (oldest.length < mostFacts) return oldest
    const known = new Set(oldest.map((fact) => fact.id))
    const newest = (await factsOf(subject, 'desc')).filter((fact) => !known.has(fact.id))
    return [...oldest, ...newest.toReversed()]
  }

  async function requireLiving(orgId: TenantId, facts: readonly Fact[]): Promise<void> {
    for (const { data } of facts) {
      const { patientId, phiSubject, phiKeyOwner } = data
      const ofPatient = [patientId, phiKeyOwner === 'organisation' ? phiSubject : undefined]
      if (ofPatient.some((id) => typeof id === 'string' && isErased(orgId, id))) throw problem('subject-erased')
    }
    const users = facts.flatMap(({ data }) => (data['phiKeyOwner'] === 'platform' ? [String(data['phiSubject'])] : []))
    const { rowCount } = await pool.query(`select from users.users where user_id = any($1) and status = 'erased'`, [
      users,
    ])
    if (rowCount !== 0) throw problem('user-erased')
  }

  return async (tenant, id) => {
    const isFilled = await filledLists(pool)
    if (!servedBy.every(isFilled)) return undefined
    const delivery = (await readDeliveries(pool, [id], tenant))[0]
    if (delivery !== undefined) {
      const { org_id: orgId, assessment_id: assessmentId } = delivery
      if (assessmentId !== null) await requireLiving(orgId, await factsAbout('assessment', assessmentId, orgId))
      const keys = [keyOfDelivery(delivery)]
      const related = assessmentId === null ? [] : [{ kind: 'assessment' as const, id: assessmentId }]
      return stateOf({ kind: 'delivery', id }, orgId, sendingPassage(sendingOf(delivery)), keys, related)
    }
    const found = await indexedSubject(pool, tenant, id)
    if (found === undefined) return undefined
    const { kind, orgId } = found
    const own = await factsAbout(kind, id, orgId)
    await requireLiving(orgId, own)
    if (kind === 'notification') {
      const [notification] = await readNotifications(pool, [id])
      if (notification === undefined) return undefined
      return stateOf({ kind, id }, orgId, sendingPassage(notification), [id], [])
    }
    const caseId =
      kind === 'assessment' ? own.map((fact) => textOf(fact, 'caseId')).find((each) => each !== null) : null
    const facts = typeof caseId === 'string' ? await factsAbout('case', caseId, orgId) : own
    const concerned = kind === 'assessment' ? concerning(facts, id) : facts
    const sent = kind === 'assessment' || kind === 'case' ? await sendingsAfter(pool, orgId, concerned) : noSendings
    const references = [...relatedIn(concerned), ...sent.sendings.map((one) => ({ kind: one.kind, id: one.id }))]
    const related = distinct(references).filter((one) => one.id !== id)
    const keys = [id, ...related.map((one) => one.id), ...publishedFrom(concerned), ...sent.keys]
    const isHumanReviewDue = (await workUnder(source, keys)).some(({ process }) => process === 'human_review')
    return stateOf({ kind, id }, orgId, passageOf(kind, id, concerned, sent.sendings, isHumanReviewDue), keys, related)
  }

  async function stateOf(
    reference: SubjectReference,
    orgId: TenantId,
    passage: Passage | undefined,
    keys: readonly string[],
    related: readonly SubjectReference[],
  ) {
    if (passage === undefined) return undefined
    const { status, errorCode, createdAt, endedAt, stages } = passage
    return {
      ...reference,
      org_id: orgId,
      status,
      error_code: errorCode,
      created_at: createdAt,
      ended_at: endedAt,
      stages: [...stages],
      work: [...(await workUnder(source, keys))],
      related: related.slice(0, mostRelated),
    }
  }
}

const everything = { after: undefined, from: undefined, to: undefined, categories: undefined } as const
const noSendings: Sent = { sendings: [], keys: [] }

interface Sent {
  readonly sendings: readonly Sending[]
  /** Of the rows that are due for them. */
  readonly keys: readonly string[]
}

function passageOf(
  kind: Exclude<IndexedKind, 'notification'>,
  id: string,
  facts: readonly Fact[],
  sendings: readonly Sending[],
  isHumanReviewDue: boolean,
): Passage | undefined {
  switch (kind) {
    case 'assessment':
      return assessmentPassage({ id, facts, sendings, isHumanReviewDue })
    case 'case':
      return casePassage(facts, isHumanReviewDue)
    case 'ai_review':
      return reviewPassage(facts)
    case 'task':
      return taskPassage(facts)
  }
}

/** Which record has this id. No two have the same one. */
async function indexedSubject(pool: Pool, tenant: TenantId | null, id: string) {
  const { rows } = await pool.query<{ kind: IndexedKind; stream: string }>(
    `select kind, stream from audit_subjects.subject_streams where kind = any($1) and subject_id = $2
       and ($3::uuid is null or org_id = $3) order by array_position($1, kind), stream limit 1`,
    [indexed, id, tenant],
  )
  return rows.map(({ kind, stream }) => ({ kind, orgId: parseOwnedStream(stream).orgId }))[0]
}

/** A case may have several assessments, each for its product. */
function concerning(facts: readonly Fact[], assessmentId: string): Fact[] {
  const others = new Set(
    facts.flatMap((fact) =>
      fact.type === 'AssessmentRequested' && textOf(fact, 'assessmentId') !== assessmentId
        ? [textOf(fact, 'assessmentId')]
        : [],
    ),
  )
  const requested = facts.find(
    (fact) => fact.type === 'AssessmentRequested' && textOf(fact, 'assessmentId') === assessmentId,
  )
  const productId = textOf(requested, 'productId')
  const otherReviews = new Set(
    facts.flatMap((fact) =>
      fact.type === 'AiReviewRequested' && textOf(fact, 'productId') !== productId ? [textOf(fact, 'aiReviewId')] : [],
    ),
  )
  const isOther = (ids: ReadonlySet<string | null>, fact: Fact, member: string) => {
    const named = textOf(fact, member)
    return named !== null && ids.has(named)
  }
  return facts.filter((fact) => !isOther(others, fact, 'assessmentId') && !isOther(otherReviews, fact, 'aiReviewId'))
}

/** A review that no rule selected has no task, though the event names one. */
function relatedIn(facts: readonly Fact[]): SubjectReference[] {
  return facts.flatMap((fact) =>
    fact.type === 'HumanReviewNotSelected'
      ? []
      : Object.entries(namedBy).flatMap(([member, kind]) => {
          const id = textOf(fact, member)
          return id === null ? [] : [{ kind, id }]
        }),
  )
}

function distinct(references: readonly SubjectReference[]): SubjectReference[] {
  const order = SubjectKind.enum
  const known = new Map(references.map((one) => [one.id, one]))
  return [...known.values()].toSorted((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind))
}

/** Ids of the public events that these become. An event becomes two at most. */
function publishedFrom(facts: readonly Fact[]): string[] {
  return facts.flatMap(({ id, type }) =>
    channels.flatMap(({ stream, translate }) =>
      type in translate ? [publicEventId(stream, id, 0), publicEventId(stream, id, 1)] : [],
    ),
  )
}

/** The webhooks and notifications that follow from these events. */
async function sendingsAfter(pool: Pool, orgId: TenantId, facts: readonly Fact[]): Promise<Sent> {
  const recipients = await pool.query<{ id: string }>(
    `select subscription_id as id from webhook_deliveries.recipients where org_id = $1 limit ${mostRecipients}`,
    [orgId],
  )
  const ends = facts.filter(({ type }) => deliveredTypes.includes(type))
  const due = ends.flatMap((event) => recipients.rows.map((recipient) => deliveryIdOf(recipient.id, event.id)))
  // Of a subscription that was deleted since.
  const begun = facts.flatMap((fact) => (fact.type === 'WebhookDeliveryScheduled' ? [textOf(fact, 'deliveryId')] : []))
  const deliveries = await readDeliveries(pool, [...due, ...begun.filter((id) => id !== null)], orgId)
  const { rows: matched } = await pool.query<{ id: string }>(
    `select notification_id as id from notifications.matched_rules
     where event_id = any($1) and org_id = $2 and discard_reason is null limit ${mostRelated}`,
    [publishedFrom(facts), orgId],
  )
  const notifications = await readNotifications(
    pool,
    matched.map((one) => one.id),
  )
  return { sendings: [...deliveries.map(sendingOf), ...notifications], keys: deliveries.map(keyOfDelivery) }
}

/** Events that webhooks deliver. */
const deliveredTypes: readonly string[] = ['AssessmentCompleted', 'AssessmentFailed', 'AssessmentHumanReviewDecided']

interface DeliveryRow {
  readonly id: string
  readonly org_id: TenantId
  readonly subscription_id: string
  readonly event_id: string
  readonly assessment_id: string | null
  readonly status: string
  readonly created_at: Date
  readonly attempts: number
  readonly last_at: Date | null
  readonly error_code: string | null
  readonly host: string | null
}

async function readDeliveries(pool: Pool, ids: readonly string[], tenant: TenantId | null): Promise<DeliveryRow[]> {
  const { rows } = await pool.query<DeliveryRow>(
    `select d.delivery_id as id, d.org_id, d.subscription_id, d.event_id, d.assessment_id, d.status, d.created_at, x.attempts, x.last_at,
       x.error_code, (select ${hostOfUrl('s.url')} from webhook_subscriptions.webhook_subscriptions s where s.subscription_id = d.subscription_id) as host
     from webhook_deliveries.deliveries d cross join lateral (
       select count(*)::integer as attempts, max(a.at) as last_at,
         (array_agg(coalesce(a.status_code::text, a.error_class) order by a.attempt desc) filter (where a.error_class is not null))[1] as error_code
       from webhook_deliveries.attempts a where a.delivery_id = d.delivery_id) x
     where d.delivery_id = any($1) and ($2::uuid is null or d.org_id = $2) order by d.created_at, d.delivery_id limit ${mostRelated}`,
    [ids, tenant],
  )
  return rows.map((row) => ({ ...row, org_id: tenantOfFact(row.org_id) }))
}

function keyOfDelivery({ subscription_id: subscriptionId, event_id: eventId }: DeliveryRow): string {
  return `${subscriptionId}.${eventId}`
}

function sendingOf(row: DeliveryRow): Sending {
  const isOpen = row.status === 'pending'
  const hasError = row.status !== 'delivered' && row.error_code !== null
  return {
    kind: 'delivery',
    id: row.id,
    status: row.status,
    createdAt: row.created_at.toISOString(),
    endedAt: isOpen || row.last_at === null ? null : row.last_at.toISOString(),
    attempts: row.attempts,
    error: hasError ? { class: 'attempt_failed', code: row.error_code, host: row.host } : null,
  }
}

async function readNotifications(pool: Pool, ids: readonly string[]): Promise<Sending[]> {
  const { rows } = await pool.query<{
    id: string
    status: string
    created_at: Date
    updated_at: Date
    attempts: number
    error_code: string | null
  }>(
    `select notification_id as id, status, created_at, updated_at, attempts, error_code from notifications.notifications
     where notification_id = any($1) order by created_at, notification_id`,
    [ids],
  )
  return rows.map(({ id, status, attempts, error_code: code, ...at }) => ({
    kind: 'notification',
    id,
    status,
    createdAt: at.created_at.toISOString(),
    endedAt: ['pending', 'queued', 'sending'].includes(status) ? null : at.updated_at.toISOString(),
    attempts,
    error: code === null ? null : { class: 'attempt_failed', code, host: null },
  }))
}
