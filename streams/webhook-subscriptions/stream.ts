export const category = 'webhook_subscriptions'

/** One stream per organisation, so that it decides the limit and the duplicates. */
export function webhookSubscriptionsStream(orgId: string): string {
  return `${category}-${orgId}`
}
