import { Type } from 'typebox'
import { ChangedBy } from '../organisation-roles/events.ts'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'
import { Fingerprint, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'
import { NotificationChannel } from '../types.ts'

/** The platform owns the keys, because a suppression of the platform belongs to no organisation. */
const personal = { subject: 'suppressionId', keyOwner: 'platform' } as const

export const suppressionEvents = {
  SuppressionAdded: defineEvent(
    'SuppressionAdded',
    Type.Object({
      suppressionId: Id,
      /** Null: it applies to the notifications of every organisation. */
      orgId: Nullable(OrgId),
      channel: NotificationChannel,
      /** An e-mail address as it was given, or a chat channel. */
      address: Phi(Type.String()),
      reason: Phi(Type.String()),
      addedAt: Instant,
      changedBy: ChangedBy,
      fingerprint: Fingerprint,
    }),
    personal,
  ),
  /** The same address may be added again. */
  SuppressionRemoved: defineEvent(
    'SuppressionRemoved',
    Type.Object({ suppressionId: Id, orgId: Nullable(OrgId), removedAt: Instant, changedBy: ChangedBy }),
  ),
} as const

export type SuppressionEvent = EventOf<typeof suppressionEvents>
