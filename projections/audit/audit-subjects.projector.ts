import { Type, type Static } from 'typebox'
import { isOwnedStream, parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { defineProjector, defineTable, type Handler } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, upsertRow } from '../../engine/projections/row-changes.ts'
import { categoryOf } from '../../engine/store/catalogue.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import { noOrganisation, tenantOfFact, type TenantId } from '../../platform/kit/tenants.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { SubjectKind } from '../../streams/types.ts'

/** An organisation has the streams of its texts: consent types and templates. It has no timeline. */
const IndexedKind = Type.Enum([...SubjectKind.enum, 'organisation'])
type IndexedKind = Static<typeof IndexedKind>

/** The streams of each subject of a timeline. An organisation's subject has rows of this organisation only. */
export const subjectStreamsTable = defineTable({
  name: 'subject_streams',
  columns: {
    kind: { type: 'text', values: IndexedKind.enum },
    subject_id: 'uuid',
    // The nil UUID: a user or a client that belongs to no organisation.
    org_id: 'uuid',
    stream: 'text',
  },
  primaryKey: ['kind', 'subject_id', 'org_id', 'stream'],
})

/** The first and the last event of each stream above. */
export const streamEndsTable = defineTable({
  name: 'stream_ends',
  columns: {
    stream: 'text',
    first_commit: 'bigint',
    first_prepare: 'bigint',
    first_at: 'timestamptz',
    last_commit: 'bigint',
    last_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['stream'],
  // The newest beginning of a stream before an instant is near the place of the instant in the log.
  indexes: [{ columns: ['first_at', 'first_commit'] }],
})

/** Streams that name another record only. They have the patient and the case of its stream. */
export const followersTable = defineTable({
  name: 'followers',
  columns: { followed: 'text', stream: 'text' },
  primaryKey: ['followed', 'stream'],
})

/** The events of shared streams, by the subject that they name. */
export const mentionsTable = defineTable({
  name: 'mentions',
  columns: {
    kind: { type: 'text', values: IndexedKind.enum },
    subject_id: 'uuid',
    org_id: 'uuid',
    stream: 'text',
    stream_revision: 'bigint',
    commit_position: 'bigint',
    recorded_at: 'timestamptz',
  },
  primaryKey: ['kind', 'subject_id', 'org_id', 'stream', 'stream_revision'],
  indexes: [{ columns: ['kind', 'subject_id', 'org_id', 'commit_position'] }],
})

type Members = Readonly<Record<string, unknown>>

/** The subject whose own stream a stream of this category is, by the member of its events that contains the id. */
const ownStreams: Readonly<Record<string, readonly [IndexedKind, string]>> = {
  patient: ['patient', 'patientId'],
  case: ['case', 'caseId'],
  assessment: ['assessment', 'assessmentId'],
  ai_review: ['ai_review', 'aiReviewId'],
  humanreviewtask: ['task', 'taskId'],
  workflow_instance: ['workflow_instance', 'workflowInstanceId'],
  notification: ['notification', 'notificationId'],
  user: ['user', 'userId'],
  notificationpreferences: ['user', 'userId'],
  oauth_client: ['client', 'clientId'],
  notificationsubscription: ['subscription', 'subscriptionId'],
}

/** Streams without a subject of their own, about a patient or a case. */
const furtherStreams = [
  'consent',
  'image',
  'ai_review_slot',
  'ai_review_access',
  'webhook_delivery',
  'foreign_event',
  'audit_export',
  'patient_erasure',
]

/** Streams of texts, which belong to their organisation, or to the platform. */
const textStreams = ['consent_type', 'notificationtemplate']

/** The subjects in the streams of an organisation or the platform that many subjects share. */
const sharedStreams: Readonly<Record<string, (event: RecordedEvent, data: Members) => Subject | undefined>> = {
  webhook_subscriptions: (_, { subscriptionId }) => subject('subscription', subscriptionId),
  role: (_, { userId }) => subject('user', userId),
  reservation: (_, { ownerStream, ownerId }) => {
    const owner = typeof ownerStream === 'string' ? ownStreams[categoryOf(ownerStream)] : undefined
    return owner && subject(owner[0], ownerId)
  },
}

interface Subject {
  readonly kind: IndexedKind
  readonly subjectId: string
}

function subject(kind: IndexedKind, id: unknown): Subject | undefined {
  return typeof id === 'string' ? { kind, subjectId: id } : undefined
}

/** The organisations under which the subjects of an event are found. */
function organisationsOf({ stream, type }: RecordedEvent, data: Members): readonly TenantId[] {
  if (isOwnedStream(stream)) return [parseOwnedStream(stream).orgId]
  const { orgId, organisationId, organisationIds } = data
  const named =
    type === 'ForeignEventReceived' && Array.isArray(organisationIds)
      ? [orgId, ...organisationIds]
      : [orgId, organisationId]
  const known = named.filter((id) => typeof id === 'string').map(tenantOfFact)
  return known.length === 0 ? [noOrganisation] : [...new Set(known)]
}

/** The patient and the case that an event names. */
function namedIn({ type }: RecordedEvent, data: Members): readonly (Subject | undefined)[] {
  const { patientId, caseId, phiSubject, phiKeyOwner, notificationId, foreignEventId } = data
  const isAboutPatient =
    type === 'ForeignEventReceived'
      ? phiSubject !== foreignEventId
      : phiKeyOwner === 'organisation' && phiSubject !== notificationId
  return [
    subject('patient', patientId),
    subject('case', caseId),
    isAboutPatient ? subject('patient', phiSubject) : undefined,
  ]
}

/** The stream of the record that a stream without a patient of its own is about. */
function followedBy({ type, stream }: RecordedEvent, { assessmentId, aiReviewId }: Members): string | undefined {
  if (!isOwnedStream(stream)) return undefined
  const { orgId } = parseOwnedStream(stream)
  if (type === 'WebhookDeliveryScheduled' && typeof assessmentId === 'string')
    return assessments.of(orgId, assessmentId).stream
  if ((type === 'HumanReviewNotSelected' || type === 'AiReviewRawRead') && typeof aiReviewId === 'string')
    return aiReviews.of(orgId, aiReviewId).stream
  return undefined
}

const ofStream: Handler = (event) => {
  const { stream, revision, position, recordedAt } = event
  const data: Members = Object(event.data)
  const own = ownStreams[categoryOf(stream)]
  const isText = textStreams.includes(categoryOf(stream))
  const texts = isText ? [subject('organisation', parseOwnedStream(stream).orgId)] : []
  const subjects = [...texts, ...(own === undefined ? [] : [subject(own[0], data[own[1]])]), ...namedIn(event, data)]
  const followed = followedBy(event, data)
  const last = { stream, lastCommit: position.commit, lastAt: recordedAt, streamRevision: revision }
  return [
    revision === 0n
      ? insertRow(streamEndsTable, {
          ...last,
          firstCommit: position.commit,
          firstPrepare: position.prepare,
          firstAt: recordedAt,
        })
      : patchRow(streamEndsTable, last),
    ...subjects.flatMap((named) =>
      named === undefined
        ? []
        : organisationsOf(event, data).map((orgId) => upsertRow(subjectStreamsTable, { ...named, orgId, stream })),
    ),
    ...(followed === undefined ? [] : [upsertRow(followersTable, { followed, stream })]),
  ]
}

const ofSharedStream: Handler = (event) => {
  const { stream, revision, position, recordedAt } = event
  const data: Members = Object(event.data)
  const named = sharedStreams[categoryOf(stream)]?.(event, data)
  if (named === undefined) return []
  const place = { stream, streamRevision: revision, commitPosition: position.commit, recordedAt }
  return [insertRow(mentionsTable, { ...named, ...place, orgId: organisationOfShared(stream) })]
}

/** `<category>-<orgId>` or `<category>-<orgId>-<id>`. */
function organisationOfShared(stream: string): TenantId {
  return isOwnedStream(stream) ? parseOwnedStream(stream).orgId : tenantOfFact(stream.slice(stream.indexOf('-') + 1))
}

function handlersOf(categories: readonly string[], handler: Handler): [string, Handler][] {
  const types = catalogue.types.filter((type) => categories.includes(catalogue.entry(type)?.category ?? ''))
  return types.map((type) => [type, handler])
}

/** Where the events of a subject are. It has a row for each stream and subject, and none for each event of a stream. */
export const auditSubjectsProjector = defineProjector()({
  name: 'audit_subjects',
  version: 1,
  tables: [subjectStreamsTable, streamEndsTable, followersTable, mentionsTable],
  handlers: Object.fromEntries([
    ...handlersOf([...Object.keys(ownStreams), ...furtherStreams, ...textStreams], ofStream),
    ...handlersOf(Object.keys(sharedStreams), ofSharedStream),
  ]),
})
