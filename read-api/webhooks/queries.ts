import type { Pool } from '../../platform/database/database.ts'
import type { CursorPlace } from '../../platform/http/cursors.ts'
import type { WebhookSubscriptionView } from '../../contracts/webhooks/subscription.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { rowOf, rowsOf } from '../rows.ts'

export interface SubscriptionRow {
  subscription_id: string
  url: string
  event_types: WebhookSubscriptionView['eventTypes']
  status: WebhookSubscriptionView['status']
  description: string | null
  payload_mode: WebhookSubscriptionView['payloadMode']
  signature_schemes: WebhookSubscriptionView['signatureSchemes']
  public_key_id: string | null
  public_key: string | null
  disabled_reason: WebhookSubscriptionView['disabledReason']
  disabled_at: Date | null
  created_at: Date
  updated_at: Date
  stream_revision: string
}

export function viewOfSubscription(row: SubscriptionRow): WebhookSubscriptionView {
  const { public_key_id: kid, public_key: x } = row
  return {
    subscriptionId: row.subscription_id,
    url: row.url,
    eventTypes: row.event_types,
    status: row.status,
    description: row.description,
    payloadMode: row.payload_mode,
    signatureSchemes: row.signature_schemes,
    publicKey: kid === null || x === null ? null : { kid, x },
    disabledReason: row.disabled_reason,
    disabledAt: row.disabled_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

/** Oldest first. */
export async function listSubscriptions(
  pool: Pool,
  org: TenantId,
  after: CursorPlace | null,
  limit: number,
): Promise<SubscriptionRow[]> {
  return rowsOf<SubscriptionRow>(
    pool,
    `select * from webhook_subscriptions.webhook_subscriptions
     where org_id = $1 and ($2::timestamptz is null or (created_at, subscription_id) > ($2::timestamptz, $3::uuid))
     order by created_at, subscription_id limit $4`,
    [org, after?.[0] ?? null, after?.[1] ?? null, limit],
  )
}

export async function getSubscription(pool: Pool, org: TenantId, id: string): Promise<SubscriptionRow> {
  return rowOf<SubscriptionRow>(
    pool,
    'select * from webhook_subscriptions.webhook_subscriptions where org_id = $1 and subscription_id = $2',
    [org, id],
  )
}
