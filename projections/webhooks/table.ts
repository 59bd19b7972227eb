import { defineTable } from '../runtime/projector.ts'

export const webhookSubscriptions = defineTable({
  name: 'webhook_subscriptions',
  columns: {
    subscription_id: 'uuid',
    org_id: 'uuid',
    url: 'text',
    event_types: 'jsonb',
    status: 'text',
    description: { type: 'text', nullable: true },
    payload_mode: 'text',
    signature_schemes: 'jsonb',
    public_key_id: { type: 'text', nullable: true },
    public_key: { type: 'text', nullable: true },
    disabled_reason: { type: 'text', nullable: true },
    disabled_at: { type: 'timestamptz', nullable: true },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['subscription_id'],
  indexes: [{ columns: ['org_id', 'created_at', 'subscription_id'] }],
})

/** Public halves of what signs deliveries by `v1a`, and since when each is replaced. */
export const webhookKeys = defineTable({
  name: 'webhook_keys',
  columns: {
    subscription_id: 'uuid',
    kid: 'text',
    x: 'text',
    created_at: 'timestamptz',
    retired_at: { type: 'timestamptz', nullable: true },
  },
  primaryKey: ['subscription_id', 'kid'],
  indexes: [{ columns: ['kid'] }, { columns: ['created_at', 'kid'] }],
})
