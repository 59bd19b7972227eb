import { problem } from '../platform/http/problems.ts'
import type { ReadDependencies } from './dependencies.ts'

/**
 * For answers on which something is decided: current, or none at all.
 * @throws Problem `read-model-behind` (503, Retry-After)
 */
export async function requireCurrent(
  { isCurrent }: Pick<ReadDependencies, 'isCurrent'>,
  ...projectors: string[]
): Promise<void> {
  for (const projector of projectors) {
    if (!(await isCurrent(projector))) throw problem('read-model-behind', { retryAfterSeconds: 1 })
  }
}

/** True for `Cache-Control: no-cache` (RFC 9111, 5.2.1.4): the caller wants no answer that may be stale. */
export function wantsCurrent(cacheControl: string | undefined): boolean {
  return (cacheControl ?? '').split(',').some((directive) => directive.trim().toLowerCase() === 'no-cache')
}
