import type { TenantId } from '../../platform/tenants.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'

export interface RecoveryPeriod {
  /** RFC 3339; what happened then is in. */
  readonly since: string
  /** RFC 3339; what happened then is not. */
  readonly until: string
}

/**
 * Deliveries of events of the period that failed or were cancelled, oldest first.
 *
 * @throws Problem `read-model-behind` where that cannot be told for now
 */
export type DeliveriesToRecover = (
  org: TenantId,
  subscriptionId: string,
  period: RecoveryPeriod,
  limit: number,
) => Promise<readonly { readonly deliveryId: string; readonly eventId: string }[]>

export interface DeliveryRouteDependencies extends CommandDependencies {
  readonly deliveriesToRecover: DeliveriesToRecover
}
