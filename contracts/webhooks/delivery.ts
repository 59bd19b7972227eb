import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'

export const DeliveryStatus = Type.Enum(['pending', 'delivered', 'failed', 'cancelled'])
export const DeliveredEventType = Type.Enum(['assessment.completed', 'assessment.failed', 'webhook.test'])
const ErrorClass = Type.Enum([
  'http_status',
  'redirect',
  'timeout',
  'connect',
  'dns',
  'tls',
  'address_forbidden',
  'connection_failed',
  'body_too_large',
  'aborted',
])

/** Contract section 3, line 102: what became of each attempt that is over, and nothing that the receiver said. */
export const WebhookDeliveryRecord = Type.Object(
  {
    id: Uuid,
    event_type: DeliveredEventType,
    assessment_id: Nullable(Uuid),
    status: DeliveryStatus,
    attempts: Type.Array(
      Type.Object({
        at: Instant,
        status_code: Nullable(Type.Integer()),
        duration_ms: Type.Integer(),
        error_class: Nullable(ErrorClass),
      }),
    ),
    next_attempt_at: Nullable(
      Type.String({
        format: 'date-time',
        description:
          'When the next attempt is due; past while it waits for a worker or the end of a pause of the endpoint; null once it has ended',
      }),
    ),
    created_at: Instant,
  },
  {
    $id: 'WebhookDeliveryRecord',
    description: '`id` is the webhook-id of every attempt; `created_at` is when what is told happened',
  },
)
export type WebhookDeliveryRecord = Static<typeof WebhookDeliveryRecord>

export interface DeliveryAttemptView {
  readonly at: string
  readonly statusCode: number | null
  readonly durationMs: number
  readonly errorClass: WebhookDeliveryRecord['attempts'][number]['error_class']
}

export interface WebhookDeliveryView {
  readonly deliveryId: string
  readonly eventType: WebhookDeliveryRecord['event_type']
  readonly assessmentId: string | null
  readonly status: WebhookDeliveryRecord['status']
  /** Those that are over, in their order. */
  readonly attempts: readonly DeliveryAttemptView[]
  readonly nextAttemptAt: string | null
  readonly createdAt: string
}

export function toWebhookDeliveryRecord(view: WebhookDeliveryView): WebhookDeliveryRecord {
  return {
    id: view.deliveryId,
    event_type: view.eventType,
    assessment_id: view.assessmentId,
    status: view.status,
    attempts: view.attempts.map(({ at, statusCode, durationMs, errorClass }) => ({
      at,
      status_code: statusCode,
      duration_ms: durationMs,
      error_class: errorClass,
    })),
    next_attempt_at: view.nextAttemptAt,
    created_at: view.createdAt,
  }
}
