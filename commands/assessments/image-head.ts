import { imageSize } from 'image-size'

/** Enough for the segments between the metadata of a JPEG and its frame header. */
const keptBytes = 64 * 1024
const empty: Buffer = Buffer.alloc(0)

/** Keeps the beginning of a streamed image, without the metadata of a JPEG, which may have megabytes. */
export interface ImageHead {
  push(chunk: Buffer): void
  /** Dimensions in pixels, from the header. Null without them, or for another type (named as `image-size` names it). */
  measure(type: string): { readonly width: number; readonly height: number } | null
}

export function createImageHead(): ImageHead {
  let kept = empty
  /** New bytes, neither kept nor skipped yet. Between two chunks: at most the first bytes of a segment. */
  let pending = empty
  let skip = 0
  let isSkippingMetadata = true

  function keep(length: number): void {
    kept = Buffer.concat([kept, pending.subarray(0, length)])
    pending = pending.subarray(length)
  }

  /**
   * Keeps or skips the available part of one segment of `pending`. False if it needs more bytes, or metadata has ended.
   */
  function advance(): boolean {
    if (skip > 0) {
      const length = Math.min(skip, pending.length)
      pending = pending.subarray(length)
      skip -= length
    } else if (kept.length === 0) {
      if (pending.length < 2) return false
      if (pending.readUInt16BE() === 0xffd8) keep(2)
      else isSkippingMetadata = false
    } else {
      if (pending.length < 4) return false
      const marker = pending.readUInt16BE()
      const isMetadata = (marker >= 0xffe0 && marker <= 0xffef) || marker === 0xfffe
      if (isMetadata) skip = 2 + pending.readUInt16BE(2)
      else isSkippingMetadata = false
    }
    return isSkippingMetadata && pending.length > 0
  }

  return {
    push(chunk) {
      if (kept.length >= keptBytes) return
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
      while (isSkippingMetadata && advance());
      if (isSkippingMetadata) return
      keep(keptBytes - kept.length)
      pending = empty
    },
    measure(type) {
      try {
        const size = imageSize(Buffer.concat([kept, pending]))
        return size.type === type ? { width: size.width, height: size.height } : null
      } catch {
        return null
      }
    },
  }
}
