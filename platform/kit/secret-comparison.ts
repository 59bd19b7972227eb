import { createHash, timingSafeEqual } from 'node:crypto'

/** Digests are compared, so that neither content nor length shows in the time it takes. */
export function areEqualSecrets(given: string, expected: string): boolean {
  return timingSafeEqual(createHash('sha256').update(given).digest(), createHash('sha256').update(expected).digest())
}
