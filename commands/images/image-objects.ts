import type { ImageState } from '../../streams/image/aggregate.ts'

/** The key of the stored bytes that an image names: whatever else was stored for it may be removed. */
export function keysOfImage(state: ImageState): ReadonlySet<string> {
  return new Set(state.status === 'received' ? [state.object.key] : [])
}
