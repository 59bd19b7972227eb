import { Type, type Static } from 'typebox'
import type { StoredRecord } from '../../engine/store/decoding.ts'
import { categoryOf } from '../../engine/store/catalogue.ts'
import type { EventMetadata } from '../../engine/store/events.ts'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import type { Persons } from '../../platform/http/shown-content.ts'
import { formatPosition } from '../../platform/kit/positions.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { SubjectKind } from '../../streams/types.ts'

export { SubjectKind }

/** The parameter of a timeline for each kind of subject: `patient_id`. */
export const subjectParameters = SubjectKind.enum.map((kind) => `${kind}_id` as const)

const ActorKind = Type.Enum(['client', 'user', 'process', 'bootstrap'])

const AuditActor = Type.Object({
  kind: ActorKind,
  client_id: Nullable(Type.String()),
  user_id: Nullable(Type.String({ description: 'The user behind the client' })),
  process: Nullable(Type.String({ description: 'The process of the platform. Null in older events' })),
})

/** An event of a timeline, as it is stored. */
export const TimelineItem = Type.Object(
  {
    event_id: Uuid,
    type: Type.String(),
    stream: Type.String(),
    revision: Type.Integer({ minimum: 0 }),
    position: Type.String({ description: 'In the form of X-Commit-Position' }),
    occurred_at: Type.String({ format: 'date-time', description: 'The instant that the event names for the fact' }),
    recorded_at: Instant,
    actor: AuditActor,
    request_id: Nullable(Type.String()),
    correlation_id: Type.String(),
    causation_id: Nullable(Type.String()),
    data: Type.Record(Type.String(), Type.Unknown(), {
      ...personal('timeline'),
      description: 'The stored members. Hashes of secrets and of requests are left out',
    }),
    sealed_members: Type.Array(Type.String(), {
      description: 'Members of `data` that are null here, because they are stored encrypted',
    }),
  },
  { $id: 'TimelineItem' },
)

/** The program itself, at its start or by a command of its operator. */
const ownClients: readonly string[] = ['bootstrap', 'platform']

function actorOf({ clientId, userId, process }: EventMetadata): Static<typeof AuditActor> {
  const kind =
    clientId === undefined
      ? 'process'
      : ownClients.includes(clientId)
        ? 'bootstrap'
        : userId === undefined
          ? 'client'
          : 'user'
  return { kind, client_id: clientId ?? null, user_id: userId ?? null, process: process ?? null }
}

/** For a caller of one organisation an event names no other one. */
export function timelineItemOf(record: StoredRecord, tenant: TenantId | null): Static<typeof TimelineItem> {
  const { metadata, data, stream } = record
  const organisationIds = data['organisationIds']
  const isNarrowed = tenant !== null && Array.isArray(organisationIds)
  return {
    event_id: record.id,
    type: record.type,
    // The name of such a stream is a hash of a personal identifier.
    stream: categoryOf(stream) === 'reservation' ? 'reservation' : stream,
    revision: Number(record.revision),
    position: formatPosition(record.position),
    occurred_at: record.occurredAt,
    recorded_at: record.recordedAt,
    actor: actorOf(metadata),
    request_id: metadata.requestId ?? null,
    correlation_id: metadata.$correlationId,
    causation_id: metadata.$causationId ?? null,
    data: isNarrowed ? { ...data, organisationIds: organisationIds.filter((id) => id === tenant) } : { ...data },
    sealed_members: [...record.sealedMembers],
  }
}

/** The person whose content an event shows decrypted. */
export function personOf({ data, openedBy }: StoredRecord): Persons {
  const id = openedBy === undefined ? undefined : data[openedBy]
  if (typeof id !== 'string') return {}
  if (openedBy === 'userId') return { userId: id }
  const isOfPatient = openedBy === 'patientId' || data['phiKeyOwner'] === 'organisation' || 'foreignEventId' in data
  // Without a patient, the content is sealed with a key of its own record.
  const isOfItself = id === data['notificationId'] || id === data['foreignEventId']
  return isOfPatient && !isOfItself ? { patientId: id } : {}
}

/**
 * Whether an organisation may see an event of a stream that belongs to none: a user's stream has the facts of all
 * organisations of the user.
 */
export function concernsOrganisation({ metadata, data }: StoredRecord, tenant: TenantId): boolean {
  const { organisationId, orgId, organisationIds } = data
  const named = [metadata.orgId, organisationId, orgId, ...(Array.isArray(organisationIds) ? organisationIds : [])]
  return named.includes(tenant)
}

/** The category of the streams that contain events of this type. Undefined for an unknown type, and for public events. */
export function categoryOfType(type: string): string | undefined {
  const category = catalogue.entry(type)?.category
  return category?.includes('.') === true ? undefined : category
}
