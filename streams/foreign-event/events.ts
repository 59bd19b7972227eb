import { Type, type Static } from 'typebox'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'

/**
 * Why an event was skipped. `own-domain`: its type begins with a domain of the platform. `organisation`: a member for the
 * organisation is no UUID. `organisation-not-trusted`: the channel is not trusted for that organisation. `malformed`: the
 * data breaks the schema of its type. `erased`: the data was received, but its key was destroyed before the platform acted
 * on it.
 */
export const RejectionReason = Type.Enum([
  'type',
  'own-domain',
  'not-json',
  'too-large',
  'too-deep',
  'organisation',
  'organisation-not-trusted',
  'malformed',
  'erased',
])
export type RejectionReason = Static<typeof RejectionReason>

const place = {
  foreignEventId: Id,
  /** Name of the foreign stream. */
  channel: Type.String(),
  channelRevision: Type.String({ pattern: '^\\d+$' }),
  /** Id and type that the other writer gave the event. */
  eventId: Id,
  eventType: Type.String({ maxLength: 200 }),
  /** When the event store stored it on the foreign channel, by the clock of the event store. */
  publishedAt: Instant,
  /** When the platform read it, by the clock of the platform. */
  receivedAt: Instant,
}

export const foreignEventEvents = {
  ForeignEventReceived: defineEvent(
    'ForeignEventReceived',
    Type.Object({
      ...place,
      /** The organisation, if the event names exactly one. */
      orgId: Nullable(OrgId),
      organisationIds: Type.Array(OrgId),
      /** The patient whose key encrypts the data, else the record itself. */
      phiSubject: Id,
      /** JSON text of an object, as it was received. */
      data: Phi(Type.String()),
    }),
    { subject: 'phiSubject' },
  ),
  ForeignEventRejected: defineEvent(
    'ForeignEventRejected',
    Type.Object({
      ...place,
      reason: RejectionReason,
      /** The member that breaks the schema, as a JSON pointer. Null for other reasons. */
      pointer: Nullable(Type.String({ maxLength: 200 })),
    }),
  ),
} as const

export type ForeignEvent = EventOf<typeof foreignEventEvents>
