import { ownedStream } from '../stream-name.ts'

export const category = 'reservation'

/** `keyHash` is an HMAC of the reserved key (contract section 1): no personal data stands in a stream name. */
export function reservationStream(orgId: string, keyHash: string): string {
  return ownedStream(category, orgId, keyHash)
}
