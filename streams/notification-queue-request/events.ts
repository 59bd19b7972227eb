import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Count, Fingerprint, Id, Instant, OrgId } from '../../engine/aggregates/types.ts'

/** Most notifications of one request. */
export const mostRequeued = 1000

export const notificationQueueRequestEvents = {
  /** An operator queued several notifications again. A repeat of the request gets the same answer. */
  NotificationQueueRequestAnswered: defineEvent(
    'NotificationQueueRequestAnswered',
    Type.Object({
      requestId: Id,
      organisationId: OrgId,
      action: Type.Enum(['retry_failed', 're_enqueue_stuck']),
      notificationIds: Type.Array(Id, { maxItems: mostRequeued }),
      /** Notifications beyond the limit, and those that had changed meanwhile. */
      skipped: Count,
      hasMore: Type.Boolean(),
      answeredAt: Instant,
      fingerprint: Fingerprint,
    }),
  ),
} as const

export type NotificationQueueRequestEvent = EventOf<typeof notificationQueueRequestEvents>
