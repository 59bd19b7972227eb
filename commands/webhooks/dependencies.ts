import type { TenantId } from '../../platform/kit/tenants.ts'
import type { WebhookEventType } from '../../streams/webhook-subscriptions/events.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'

interface RecoveryPeriod {
  /** RFC 3339, inclusive. */
  readonly since: string
  /** RFC 3339, exclusive. */
  readonly until: string
}

/**
 * Finds the failed and cancelled deliveries of events of the period, oldest first.
 *
 * @throws Problem `read-model-behind` if the read model may lack some
 */
export type DeliveriesToRecover = (
  org: TenantId,
  subscriptionId: string,
  period: RecoveryPeriod,
  limit: number,
) => Promise<readonly { readonly deliveryId: string; readonly eventId: string }[]>

/** A due delivery of a subscription, without a stream yet. */
interface DueDelivery {
  readonly eventId: string
  readonly eventType: WebhookEventType
  readonly assessmentId: string
  /** RFC 3339: when the event happened. */
  readonly occurredAt: string
  /** RFC 3339. */
  readonly dueAt: string
}

/**
 * Finds a due delivery by its id. Null if its stream has begun.
 *
 * @throws Problem `not-found`, or `read-model-behind` if the read model may lack it
 */
export type FindDueDelivery = (org: TenantId, subscriptionId: string, deliveryId: string) => Promise<DueDelivery | null>

export interface DeliveryRouteDependencies extends CommandDependencies {
  readonly findDueDelivery: FindDueDelivery
  readonly deliveriesToRecover: DeliveriesToRecover
}
