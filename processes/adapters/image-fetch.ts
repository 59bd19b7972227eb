import type { Readable } from 'node:stream'
import type { Egress } from '../../platform/outbound/egress.ts'
import { EgressError } from '../../platform/outbound/egress-error.ts'

export type FetchedImage =
  | { readonly kind: 'image'; readonly body: Readable; readonly contentType: string; readonly bytes: number | null }
  /** Expired or refused. A repeat would not help. */
  | { readonly kind: 'refused'; readonly status: number | null }
  | { readonly kind: 'unavailable'; readonly status: number | null }

/** Opens the bytes at a presigned address. They are streamed and not stored. */
export interface ImageFetch {
  open(presignedUrl: string, timeoutMs: number, signal: AbortSignal): Promise<FetchedImage>
}

const mostBytes = 64 * 1024 * 1024

export function createImageFetch(egress: Egress): ImageFetch {
  return {
    async open(presignedUrl, timeoutMs, signal) {
      try {
        const response = await egress.request(presignedUrl, {
          purpose: 'image',
          timeoutMs,
          maxBytes: mostBytes,
          signal,
        })
        if (response.status === 200) {
          const length = Number(response.headers['content-length'])
          const type = response.headers['content-type']
          return {
            kind: 'image',
            body: response.body,
            contentType: typeof type === 'string' ? type : 'application/octet-stream',
            bytes: Number.isSafeInteger(length) ? length : null,
          }
        }
        await response.discard()
        const isPassing = response.status >= 500 || response.status === 429
        return { kind: isPassing ? 'unavailable' : 'refused', status: response.status }
      } catch (error) {
        if (!(error instanceof EgressError) || error.code === 'circuit_open') throw error
        return { kind: error.code === 'address_forbidden' ? 'refused' : 'unavailable', status: null }
      }
    },
  }
}
