import type { Pool } from '../../platform/database/database.ts'
import type { CursorPlace } from '../../platform/http/cursors.ts'
import type { DeliveryAttemptView, WebhookDeliveryView } from '../../contracts/webhooks/delivery.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { rowOf, rowsOf, type Found } from '../rows.ts'

interface DeliveryRow {
  delivery_id: string
  event_type: WebhookDeliveryView['eventType']
  assessment_id: string | null
  status: WebhookDeliveryView['status']
  attempts: (Omit<DeliveryAttemptView, 'at'> & { at: string })[]
  next_attempt_at: Date | null
  created_at: Date
  stream_revision: string
}

/** A delivery and its attempts in one statement, so that both are of the same moment. */
const withAttempts = `d.*, (
    select coalesce(jsonb_agg(jsonb_build_object('at', a.at, 'statusCode', a.status_code, 'durationMs', a.duration_ms, 'errorClass', a.error_class)
                              order by a.attempt), '[]')
    from webhook_deliveries.attempts a where a.delivery_id = d.delivery_id and a.duration_ms is not null) as attempts`

/** Whether the delivery was neither attempted nor cancelled yet: it waits for a worker, or for the end of a pause of its endpoint. */
function isUntouched({ stream_revision: revision }: Pick<DeliveryRow, 'stream_revision'>): boolean {
  return revision === '-1'
}

/** @param firstDelayMs before the first attempt, which a table filled from events alone does not contain */
function viewOfDelivery(row: DeliveryRow, firstDelayMs: number): Found<WebhookDeliveryView> {
  const delayMs = isUntouched(row) ? firstDelayMs : 0
  return {
    deliveryId: row.delivery_id,
    eventType: row.event_type,
    assessmentId: row.assessment_id,
    status: row.status,
    attempts: row.attempts.map((attempt) => ({ ...attempt, at: new Date(attempt.at).toISOString() })),
    nextAttemptAt:
      row.next_attempt_at === null ? null : new Date(row.next_attempt_at.getTime() + delayMs).toISOString(),
    createdAt: row.created_at.toISOString(),
    // The stream begins with what this row shows: its revision 0 is the same version of the record.
    revision: isUntouched(row) ? 0n : BigInt(row.stream_revision),
  }
}

export interface DeliveryFilters {
  readonly status?: string | undefined
  readonly eventType?: string | undefined
}

/** Newest first. */
export async function listDeliveries(
  pool: Pool,
  org: TenantId,
  subscriptionId: string,
  { status, eventType }: DeliveryFilters,
  {
    after,
    limit,
    firstDelayMs,
  }: { readonly after: CursorPlace | null; readonly limit: number; readonly firstDelayMs: number },
): Promise<WebhookDeliveryView[]> {
  const rows = await rowsOf<DeliveryRow>(
    pool,
    `select ${withAttempts} from webhook_deliveries.deliveries d
     where org_id = $1 and subscription_id = $2 and ($3::text is null or status = $3::text) and ($4::text is null or event_type = $4::text)
       and ($5::timestamptz is null or (created_at, delivery_id) < ($5::timestamptz, $6::uuid))
     order by created_at desc, delivery_id desc limit $7`,
    [org, subscriptionId, status ?? null, eventType ?? null, after?.[0] ?? null, after?.[1] ?? null, limit],
  )
  return rows.map((row) => viewOfDelivery(row, firstDelayMs))
}

export function placeOfDelivery({ createdAt, deliveryId }: WebhookDeliveryView): CursorPlace {
  return [createdAt, deliveryId]
}

export async function getDelivery(
  pool: Pool,
  org: TenantId,
  subscriptionId: string,
  id: string,
  firstDelayMs: number,
): Promise<Found<WebhookDeliveryView>> {
  const row = await rowOf<DeliveryRow>(
    pool,
    `select ${withAttempts} from webhook_deliveries.deliveries d
     where org_id = $1 and subscription_id = $2 and delivery_id = $3`,
    [org, subscriptionId, id],
  )
  return viewOfDelivery(row, firstDelayMs)
}

interface DueRow extends Pick<DeliveryRow, 'created_at' | 'stream_revision'> {
  readonly event_id: string
  readonly event_type: 'assessment.completed' | 'assessment.failed'
  readonly assessment_id: string
}

/**
 * A delivery whose stream has not begun; null where it has.
 *
 * @throws Problem `not-found`
 */
export async function getDueDelivery(
  pool: Pool,
  org: TenantId,
  subscriptionId: string,
  id: string,
  firstDelayMs: number,
) {
  const row = await rowOf<DueRow>(
    pool,
    `select event_id, event_type, assessment_id, created_at, stream_revision from webhook_deliveries.deliveries
     where org_id = $1 and subscription_id = $2 and delivery_id = $3`,
    [org, subscriptionId, id],
  )
  if (!isUntouched(row)) return null
  const { event_id: eventId, event_type: eventType, assessment_id: assessmentId, created_at: createdAt } = row
  const dueAt = new Date(createdAt.getTime() + firstDelayMs).toISOString()
  return { eventId, eventType, assessmentId, occurredAt: createdAt.toISOString(), dueAt }
}

export interface UndeliveredPeriod {
  /** RFC 3339; what happened then is in. */
  readonly since: string
  /** RFC 3339; what happened then is not. */
  readonly until: string
}

/** What was told of an event of the period and never taken, oldest first. */
export async function listUndelivered(
  pool: Pool,
  org: TenantId,
  subscriptionId: string,
  { since, until }: UndeliveredPeriod,
  limit: number,
): Promise<{ readonly deliveryId: string; readonly eventId: string }[]> {
  return rowsOf<{ deliveryId: string; eventId: string }>(
    pool,
    `select found.delivery_id as "deliveryId", found.event_id as "eventId"
     from unnest(array['failed', 'cancelled']) as ended(status)
     cross join lateral (
       select delivery_id, event_id, created_at from webhook_deliveries.deliveries
       where org_id = $1 and subscription_id = $2 and status = ended.status and origin = 'event'
         and created_at >= $3::timestamptz and created_at < $4::timestamptz
       order by created_at, delivery_id limit $5
     ) as found
     order by found.created_at, found.delivery_id limit $5`,
    [org, subscriptionId, since, until, limit],
  )
}
