import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares digests, so the duration shows neither content nor length. */
export function areEqualSecrets(given: string, expected: string): boolean {
  return timingSafeEqual(createHash('sha256').update(given).digest(), createHash('sha256').update(expected).digest())
}
