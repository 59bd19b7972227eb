import { createHash } from 'node:crypto'
import { ownedStream } from '../stream-name.ts'

export const category = 'webhook_delivery'

/**
 * The id of the delivery of an event to a subscription; every attempt carries it as `webhook-id`. It is a UUID of version 8
 * from SHA-256 (RFC 9562, B.2): Postgres computes the same one without an extension (decision 0020).
 */
export function deliveryIdOf(subscriptionId: string, eventId: string): string {
  const hash = createHash('sha256')
    .update(Buffer.from(subscriptionId.replaceAll('-', ''), 'hex'))
    .update(eventId)
    .digest()
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x80
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

export function webhookDeliveryStream(orgId: string, deliveryId: string): string {
  return ownedStream(category, orgId, deliveryId)
}
