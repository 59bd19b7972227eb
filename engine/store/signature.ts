import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'

/** Identity and place of an event. A moved, repeated or renamed event has another place. */
export interface SignedPlace {
  readonly stream: string
  readonly revision: bigint
  readonly id: string
  readonly type: string
}

export interface Signer {
  /** @returns the metadata with its signature as the last member. `metadata` is the text of a JSON object with members. */
  readonly sign: (place: SignedPlace, data: string, metadata: string) => string
  /** Whether the signature of these stored bytes is valid for this place. */
  readonly isSigned: (place: SignedPlace, data: Uint8Array, metadata: Uint8Array) => boolean
}

const beforeDigest = ',"signature":"'
const afterDigest = '"}'
const tailBytes = beforeDigest.length + 43 + afterDigest.length

/**
 * HMAC-SHA-256 over the place, the stored data and the stored metadata without its last member. The place is a JSON
 * list, so its end is unambiguous. It contains the length of the data. So no two events have the same input.
 */
export function createSigner(key: KeyObject): Signer {
  const tail = (
    { stream, revision, id, type }: SignedPlace,
    dataBytes: number,
    data: string | Uint8Array,
    metadata: string | Uint8Array,
  ): string => {
    const place = JSON.stringify([stream, String(revision), id, type, dataBytes])
    const digest = createHmac('sha256', key).update(place).update(data).update(metadata).digest('base64url')
    return `${beforeDigest}${digest}${afterDigest}`
  }
  return {
    sign(place, data, metadata) {
      const begun = metadata.slice(0, -1)
      return begun + tail(place, Buffer.byteLength(data), data, begun)
    },
    isSigned(place, data, metadata) {
      if (metadata.length < tailBytes) return false
      const end = metadata.length - tailBytes
      return timingSafeEqual(
        metadata.subarray(end),
        Buffer.from(tail(place, data.length, data, metadata.subarray(0, end))),
      )
    },
  }
}
