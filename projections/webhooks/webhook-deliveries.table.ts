import { defineTable } from '../runtime/projector.ts'

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
