import { defineTable } from '../runtime/projector.ts'

/** Subscriptions as they stand at an event's place in `$all`: an event is due to those that are active and name its type. */
export const webhookRecipients = defineTable({
  name: 'recipients',
  columns: { subscription_id: 'uuid', org_id: 'uuid', status: 'text', event_types: 'jsonb' },
  primaryKey: ['subscription_id'],
  indexes: [{ columns: ['org_id'] }],
})

export const webhookDeliveries = defineTable({
  name: 'deliveries',
  columns: {
    delivery_id: 'uuid',
    org_id: 'uuid',
    subscription_id: 'uuid',
    event_id: 'uuid',
    event_type: 'text',
    assessment_id: { type: 'uuid', nullable: true },
    /** `event` or `test`: only what tells of an event is recovered. */
    origin: 'text',
    status: 'text',
    /** When what is told happened. */
    created_at: 'timestamptz',
    next_attempt_at: { type: 'timestamptz', nullable: true },
    /** -1 until the first attempt, or a cancellation, begins the stream. */
    stream_revision: 'bigint',
  },
  primaryKey: ['delivery_id'],
  indexes: [
    { columns: ['org_id', 'subscription_id', 'created_at', 'delivery_id'] },
    { columns: ['org_id', 'subscription_id', 'status', 'created_at', 'delivery_id'] },
  ],
})

/** An attempt that somebody may still be at has no duration. */
export const webhookAttempts = defineTable({
  name: 'attempts',
  columns: {
    delivery_id: 'uuid',
    attempt: 'integer',
    at: 'timestamptz',
    status_code: { type: 'integer', nullable: true },
    duration_ms: { type: 'integer', nullable: true },
    error_class: { type: 'text', nullable: true },
  },
  primaryKey: ['delivery_id', 'attempt'],
})
