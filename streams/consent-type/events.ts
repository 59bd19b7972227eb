import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../store/schema.ts'
import { Fingerprint, Id, Instant, Nullable, Sha256, OrgId } from '../types.ts'

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
  /** The first decision was recorded: from here on the type cannot be deleted. */
  ConsentTypeUsed: defineEvent('ConsentTypeUsed', Type.Object({ consentTypeId: Id, usedAt: Instant })),
  /** How the type is described from here on: what was not changed stands here as it was. */
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
  /** Only before its first decision; the code stays taken. */
  ConsentTypeDeleted: defineEvent('ConsentTypeDeleted', Type.Object({ consentTypeId: Id, deletedAt: Instant })),
} as const

export type ConsentTypeEvent = EventOf<typeof consentTypeEvents>
