import type { Pool } from '../../platform/database/database.ts'
import { quoted } from '../../engine/projections/row-statements.ts'
import { processes } from '../../processes/registry.ts'
import { filledLists } from './filled-lists.ts'
import { aiReviewsProjector } from '../../projections/ai-review/ai-reviews.projector.ts'
import { notificationsProjector } from '../../projections/notifications/notifications.projector.ts'
import { webhookDeliveriesProjector } from '../../projections/webhooks/webhook-deliveries.projector.ts'
import { webhookSubscriptionsProjector } from '../../projections/webhooks/webhook-subscriptions.projector.ts'

/** Read models whose rows show the attempts of work that records its failures itself. */
const readModels = [
  aiReviewsProjector,
  notificationsProjector,
  webhookDeliveriesProjector,
  webhookSubscriptionsProjector,
]

/** The class of the error of work that recorded its failure. */
export const attemptFailed = 'attempt_failed'

/** Where work is read. */
export interface WorkSource {
  readonly pool: Pool
  /** So long after its end a failed record is shown. */
  readonly failedRetentionSeconds: number
}

interface Attempts {
  readonly kind: 'delivery' | 'notification' | 'ai_review'
  readonly id: string
  /** Gives `failures`, `first_at`, `last_at`, `code` and `host` of the failed attempts of a row `t`. */
  readonly from: string
  readonly needs: readonly { readonly name: string }[]
}

/** As `insert-select` computes the id of a delivery. */
const deliveryId = `(select encode(set_byte(set_byte(h, 6, (get_byte(h, 6) & 15) | 128), 8, (get_byte(h, 8) & 63) | 128), 'hex')::uuid
  from (select substring(sha256(uuid_send((t.payload ->> 'subscriptionId')::uuid) || convert_to(t.payload ->> 'eventId', 'UTF8')) from 1 for 16) as h) hashed)`

const deliveryAttempts = (id: string, subscription: string) => `select x.*, (select ${hostOfUrl('s.url')}
    from webhook_subscriptions.webhook_subscriptions s where s.subscription_id = ${subscription}) as host
  from (select count(*)::integer as failures, min(a.at) as first_at, max(a.at) as last_at,
      (array_agg(coalesce(a.status_code::text, a.error_class) order by a.attempt desc))[1] as code
    from webhook_deliveries.attempts a where a.delivery_id = ${id} and a.error_class is not null) x`

const notificationAttempts = (
  id: string,
) => `select count(*)::integer as failures, min(a.created_at) as first_at, max(a.created_at) as last_at,
    (array_agg(a.error_code order by a.attempt_number desc))[1] as code, null::text as host
  from notifications.delivery_attempts a where a.notification_id = ${id} and a.success = false`

/** The host of an address, with a port that is not the usual one. A URL may write its scheme in capitals, with any number of slashes. */
export function hostOfUrl(column: string): string {
  return `lower(regexp_replace(substring(${column} from '^[A-Za-z]+:/*([^/?#]+)'), ':(80|443)$', ''))`
}

const deliveryModels = [webhookDeliveriesProjector, webhookSubscriptionsProjector]

const review: Attempts = {
  kind: 'ai_review',
  id: 't.key::uuid',
  from: `select r.failures, coalesce(r.failing_since, r.last_failed_at) as first_at, r.last_failed_at as last_at, r.failure_code as code, null::text as host
    from ai_reviews.ai_reviews r where r.ai_review_id = t.key::uuid`,
  needs: [aiReviewsProjector],
}

/** By process and step: work that has a record of its own, with its attempts. */
const recorded: Readonly<Record<string, Attempts>> = {
  'webhooks.deliver': {
    kind: 'delivery',
    id: deliveryId,
    from: deliveryAttempts(deliveryId, `(t.payload ->> 'subscriptionId')::uuid`),
    needs: deliveryModels,
  },
  'notifications.deliver': {
    kind: 'notification',
    id: 't.key::uuid',
    from: notificationAttempts('t.key::uuid'),
    needs: [notificationsProjector],
  },
  'ai_review.start': review,
  'ai_review.poll': review,
}

/** Records that ended as failed. No row of a list is due for them any more. */
interface Ended extends Pick<Attempts, 'kind' | 'from' | 'needs'> {
  readonly process: string
  readonly step: string
  /** The table `r` has `org_id` and `failed_at`. */
  readonly table: string
  readonly id: string
  /** As the row of the list had it. */
  readonly key: string
  /** Null: nothing can be tried, so it is in no failure group. */
  readonly errorClass: string
}

const ended: readonly Ended[] = [
  {
    kind: 'delivery',
    process: 'webhooks',
    step: 'deliver',
    table: 'webhook_deliveries.deliveries',
    id: 'r.delivery_id',
    key: `r.subscription_id || '.' || r.event_id`,
    from: deliveryAttempts('r.delivery_id', 'r.subscription_id'),
    errorClass: `(select '${attemptFailed}'::text from webhook_subscriptions.webhook_subscriptions s where s.subscription_id = r.subscription_id and s.status = 'active')`,
    needs: deliveryModels,
  },
  {
    kind: 'notification',
    process: 'notifications',
    step: 'deliver',
    table: 'notifications.notifications',
    id: 'r.notification_id',
    key: 'r.notification_id::text',
    // It may have failed before its first attempt.
    from: `select x.failures, coalesce(x.first_at, r.failed_at) as first_at, r.failed_at as last_at, r.error_code as code, x.host
      from (${notificationAttempts('r.notification_id')}) x`,
    errorClass: `'${attemptFailed}'`,
    needs: [notificationsProjector],
  },
  {
    kind: 'ai_review',
    process: 'ai_review',
    step: 'start',
    table: 'ai_reviews.ai_reviews',
    id: 'r.ai_review_id',
    key: 'r.ai_review_id::text',
    from: `select r.failures, coalesce(r.failing_since, r.failed_at) as first_at, r.failed_at as last_at, r.failure_code as code, null::text as host`,
    errorClass: `'${attemptFailed}'`,
    needs: [aiReviewsProjector],
  },
]

/** A worker cannot hold a lease that ends later: it comes from a clock that was ahead. */
const longestLease = `interval '2 minutes'`

/**
 * All work as one relation, whichever process works it off. A step is identified by the hash of its process, step and key. Lists
 * that no process has filled yet, or that have other tables, are left out.
 */
export async function workRelation({ pool, failedRetentionSeconds }: WorkSource): Promise<string> {
  const isThere = await filledLists(pool)
  const isModelThere = new Set(readModels.filter(isThere).map(({ name }) => name))
  const parts = processes
    .filter(({ list }) => isThere(list))
    .flatMap((process) => {
      const own = Object.keys(process.steps).flatMap((step) => {
        const attempts = recorded[`${process.name}.${step}`]
        const isReadable = attempts?.needs.every(({ name }) => isModelThere.has(name)) === true
        return attempts !== undefined && isReadable ? [{ step, attempts }] : []
      })
      const others = own.map(({ step }) => `'${step}'`)
      const rest = others.length === 0 ? 'true' : `t.step not in (${others.join(', ')})`
      return [part(process, rest), ...own.map(({ step, attempts }) => part(process, `t.step = '${step}'`, attempts))]
    })
  const failed = ended
    .filter(({ needs }) => needs.every(({ name }) => isModelThere.has(name)))
    .map((one) => endedPart(one, failedRetentionSeconds))
  return parts.length === 0 ? part(undefined, 'false') : [...parts, ...failed].join(' union all ')
}

/** The claim's own failure is newer than that of an attempt: a run that records an attempt clears it. */
function part(
  process: { readonly name: string; readonly list: { readonly name: string } } | undefined,
  where: string,
  attempts?: Attempts,
): string {
  const name = process?.name ?? ''
  const todo =
    process === undefined
      ? `(select ''::text as key, ''::text as step, null::text as org_id, now() as due_at, '{}'::jsonb as payload)`
      : `${quoted(process.list.name)}.todo`
  const isTried = attempts === undefined ? 'false' : 'coalesce(a.failures, 0) > 0'
  const either = (ofClaim: string, ofAttempts: string) =>
    `case when c.error_class is not null then ${ofClaim} ${attempts === undefined ? '' : `when ${isTried} then ${ofAttempts}`} end`
  return `select '${attempts?.kind ?? 'step'}'::text as kind, '${name}'::text as process, t.step, t.key, t.org_id, t.due_at,
      ${attempts?.id ?? `md5('${name}' || '.' || t.step || '.' || t.key)::uuid`} as id, t.payload -> 'cause' ->> 'correlationId' as correlation_id,
      greatest(t.due_at, c.not_before) as next_try_at,
      case when c.lease_until > now() and c.lease_until <= now() + ${longestLease} then c.lease_until end as lease_until,
      ${either('c.error_class', `'${attemptFailed}'`)} as error_class, ${either('c.error_code', 'a.code')} as error_code,
      ${either('c.error_host', 'a.host')} as error_host,
      ${either('c.first_failed_at', 'a.first_at')} as first_failed_at, ${either('c.last_failed_at', 'a.last_at')} as last_failed_at,
      coalesce(${either('c.failures', 'a.failures')}, 0) as failures, ${either('c.failed_version', 'null')} as version,
      coalesce(c.is_parked, false) as is_parked, false as is_ended
    from ${todo} t left join runtime.claims c on c.process = '${name}' and c.key = t.key and c.step = t.step
    ${attempts === undefined ? '' : `left join lateral (${attempts.from}) a on true`} where ${where}`
}

function endedPart({ kind, process, step, table, id, key, from, errorClass }: Ended, retentionSeconds: number): string {
  return `select '${kind}'::text, '${process}'::text, '${step}'::text, ${key}, r.org_id::text, r.failed_at, ${id}, null::text, null::timestamptz, null::timestamptz,
      e.error_class, case when e.error_class is not null then a.code end, case when e.error_class is not null then a.host end,
      case when e.error_class is not null then a.first_at end, case when e.error_class is not null then a.last_at end,
      a.failures, null::text, false, true
    from ${table} r cross join lateral (select ${errorClass} as error_class) e left join lateral (${from}) a on true
    where r.failed_at > now() - make_interval(secs => ${retentionSeconds})`
}

/** The state of a row of the relation. */
export const stateOfWork = `case when is_ended then 'failed' when lease_until is not null then 'leased' when error_class is not null and is_parked then 'parked' when error_class is not null then 'failing'
  when next_try_at > now() then 'waiting' else 'due' end`
