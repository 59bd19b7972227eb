import { Problem } from '../../platform/http/problems.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'

/**
 * Removes objects that no event names. The sweep removes later what cannot be removed now.
 *
 * @param failure what ended the request. If it is a store that is away, the answer does not wait for the store once more
 */
export async function removeUnnamed(
  objects: Pick<ObjectStore, 'remove'>,
  keys: readonly string[],
  failure?: unknown,
): Promise<void> {
  const removing = Promise.allSettled(keys.map((key) => objects.remove(key)))
  if (!(failure instanceof Problem && failure.code === 'object-store-unavailable')) await removing
}
