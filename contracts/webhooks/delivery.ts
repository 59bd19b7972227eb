import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { DeliveredEventType, DeliveryErrorClass, DeliveryStatus } from '../../streams/webhook-delivery/events.ts'
import { mostAttempts } from '../../streams/webhook-delivery/aggregate.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

/** The newest of the ended attempts are in the record. */
export const attemptsOfRecord = mostAttempts

const Attempt = Type.Object({
  at: Instant,
  status_code: Nullable(Type.Integer()),
  duration_ms: Type.Integer(),
  error_class: Nullable(DeliveryErrorClass),
})

/** Specification 2.3: the outcomes of attempts that have ended, without the receiver's answer. */
export const WebhookDeliveryRecord = Type.Object(
  {
    id: Uuid,
    event_type: DeliveredEventType,
    assessment_id: Nullable(Uuid),
    status: DeliveryStatus,
    attempts: Type.Array(Attempt, { description: `The newest ${attemptsOfRecord} that have ended, in order` }),
    next_attempt_at: Nullable(
      Type.String({
        format: 'date-time',
        description:
          'When the next attempt is due. In the past while it waits for a worker or for the end of a pause of the endpoint. Null after the delivery has ended',
      }),
    ),
    created_at: Instant,
  },
  {
    $id: 'WebhookDeliveryRecord',
    description: '`id` is the webhook-id of every attempt. `created_at` is the time of the event',
  },
)
export type WebhookDeliveryRecord = Static<typeof WebhookDeliveryRecord>

export type WebhookDeliveryView = Omit<ValuesOf<typeof WebhookDeliveryRecord>, 'id' | 'attempts'> & {
  readonly deliveryId: string
  /** The newest ended attempts, in order. */
  readonly attempts: readonly ValuesOf<typeof Attempt>[]
}

export function toWebhookDeliveryRecord(delivery: WebhookDeliveryView): WebhookDeliveryRecord {
  const attempts = delivery.attempts.map((attempt) => toRecord(Attempt, attempt))
  return toRecord(WebhookDeliveryRecord, { ...delivery, id: delivery.deliveryId, attempts })
}
