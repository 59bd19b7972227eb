import type { EndpointState } from '../../contracts/operations/record.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { PageRequest, PageRows } from '../../platform/http/cursors.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { webhookDeliveriesProjector } from '../../projections/webhooks/webhook-deliveries.projector.ts'
import { webhookSubscriptionsProjector } from '../../projections/webhooks/webhook-subscriptions.projector.ts'
import { webhooksProcess } from '../../processes/webhooks/webhooks.process.ts'
import { filledLists } from './filled-lists.ts'
import { hostOfUrl } from './work-relation.ts'

/** More deliveries of an endpoint are counted as so many: a receiver may have left millions. */
const mostCounted = 10_000

interface EndpointRow {
  id: string
  org_id: string
  host: string
  status: EndpointState['status']
  disabled_reason: EndpointState['disabled_reason']
  failing_since: Date | null
  last_success_at: Date | null
  pending: number
  failed: number
}

/** The receivers of webhooks, in the order of their ids. */
export async function listEndpoints(
  pool: Pool,
  orgId: TenantId | null,
  page: PageRequest,
): Promise<PageRows<EndpointState>> {
  if (!(await areFilled(pool))) return { rows: [], hasMore: false }
  const countOf = (status: string) =>
    `(select count(*)::integer from (select from webhook_deliveries.deliveries d where d.org_id = s.org_id
        and d.subscription_id = s.subscription_id and d.status = '${status}' limit ${mostCounted}) x)`
  const { rows } = await pool.query<EndpointRow>(
    `select s.subscription_id as id, s.org_id, ${hostOfUrl('s.url')} as host, s.status, s.disabled_reason, e.failing_since,
       ${countOf('pending')} as pending, ${countOf('failed')} as failed,
       (select max(a.at) from webhook_deliveries.attempts a where a.error_class is null and a.duration_ms is not null and a.delivery_id = (
         select d.delivery_id from webhook_deliveries.deliveries d where d.org_id = s.org_id and d.subscription_id = s.subscription_id
           and d.status = 'delivered' order by d.created_at desc, d.delivery_id desc limit 1)) as last_success_at
     from webhook_subscriptions.webhook_subscriptions s
     left join webhooks_todo.endpoints e on e.subscription_id = s.subscription_id::text
     where ($1::uuid is null or s.org_id = $1) and ($2::uuid is null or s.subscription_id > $2)
     order by s.subscription_id limit ${page.limit + 1}`,
    [orgId, page.after?.[0] ?? null],
  )
  const shown = rows.slice(0, page.limit).map((row) => ({
    ...row,
    failing_since: row.failing_since?.toISOString() ?? null,
    last_success_at: row.last_success_at?.toISOString() ?? null,
  }))
  return { rows: shown, hasMore: rows.length > page.limit }
}

export interface DisabledEndpoint {
  readonly id: string
  readonly since: Date
}

/** The overview names at most so many. */
const mostShown = 100

/** Endpoints that the platform disabled because they failed, the newest first. */
export async function disabledEndpoints(pool: Pool): Promise<readonly DisabledEndpoint[]> {
  if (!(await areFilled(pool))) return []
  const { rows } = await pool.query<{ id: string; since: Date }>(
    `select subscription_id as id, disabled_at as since from webhook_subscriptions.webhook_subscriptions
     where status = 'disabled' and disabled_reason <> 'requested' and disabled_at is not null
     order by disabled_at desc, subscription_id limit ${mostShown}`,
  )
  return rows
}

async function areFilled(pool: Pool): Promise<boolean> {
  const isFilled = await filledLists(pool)
  return [webhookSubscriptionsProjector, webhookDeliveriesProjector, webhooksProcess.list].every(isFilled)
}
