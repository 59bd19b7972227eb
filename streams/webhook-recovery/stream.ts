import { ownedStream } from '../stream-name.ts'

export const category = 'webhook_recovery'

/** One stream per recovery: the deliveries that it names are no burden to the stream of the subscriptions. */
export function webhookRecoveryStream(orgId: string, recoveryId: string): string {
  return ownedStream(category, orgId, recoveryId)
}
