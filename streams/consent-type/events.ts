import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Fingerprint, Id, Instant, Nullable, Sha256, OrgId } from '../../engine/aggregates/types.ts'

export const consentTypeEvents = {
  ConsentTypeCreated: defineEvent(
    'ConsentTypeCreated',
    Type.Object({
      consentTypeId: Id,
      organisationId: OrgId,
      code: Type.String(),
      displayName: Type.String(),
      description: Nullable(Type.String()),
      legalBasis: Type.String(),
      required: Type.Boolean(),
      fingerprint: Fingerprint,
      createdAt: Instant,
    }),
  ),
  ConsentTextVersionPublished: defineEvent(
    'ConsentTextVersionPublished',
    Type.Object({
      consentTypeId: Id,
      textVersionId: Id,
      locale: Type.String(),
      text: Type.String(),
      contentHash: Sha256,
      effectiveFrom: Instant,
      createdAt: Instant,
      fingerprint: Fingerprint,
    }),
  ),
  /** The first decision was recorded. From now on the type cannot be deleted. */
  ConsentTypeUsed: defineEvent('ConsentTypeUsed', Type.Object({ consentTypeId: Id, usedAt: Instant })),
  /** The whole description after the change. Unchanged members are included. */
  ConsentTypeUpdated: defineEvent(
    'ConsentTypeUpdated',
    Type.Object({
      consentTypeId: Id,
      displayName: Type.String(),
      description: Nullable(Type.String()),
      required: Type.Boolean(),
      updatedAt: Instant,
    }),
  ),
  /** Possible only before the first decision. The code stays reserved. */
  ConsentTypeDeleted: defineEvent('ConsentTypeDeleted', Type.Object({ consentTypeId: Id, deletedAt: Instant })),
} as const

export type ConsentTypeEvent = EventOf<typeof consentTypeEvents>
