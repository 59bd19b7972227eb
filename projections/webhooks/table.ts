import { defineTable } from '../runtime/projector.ts'

export const webhookSubscriptions = defineTable({
  name: 'webhook_subscriptions',
  columns: {
    subscription_id: 'uuid',
    org_id: 'uuid',
    url: 'text',
    event_types: 'jsonb',
    description: { type: 'text', nullable: true },
    payload_mode: 'text',
    created_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['subscription_id'],
  indexes: [{ columns: ['org_id', 'created_at', 'subscription_id'] }],
})
