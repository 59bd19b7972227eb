import { hash, timingSafeEqual, type KeyObject } from 'node:crypto'
import { firstEventKey } from '../../platform/kit/key-vault.ts'

/** Identity and place of an event. A moved, repeated or renamed event has another place. */
export interface SignedPlace {
  readonly stream: string
  readonly revision: bigint
  readonly id: string
  readonly type: string
}

export interface Signer {
  /**
   * @returns the metadata with the id of the key, unless it is the first one, and the signature as its last members.
   * `metadata` is the text of a JSON object with members
   */
  readonly sign: (place: SignedPlace, data: string, metadata: string) => string
  /** Whether the signature of these stored bytes is valid for this place. */
  readonly isSigned: (place: SignedPlace, data: Uint8Array, metadata: Uint8Array) => boolean
}

const beforeDigest = ',"signature":"'
const afterDigest = '"}'
const tailBytes = beforeDigest.length + 43 + afterDigest.length

const beforeKey = ',"key":"'
const afterKey = '"'
const keyCharacters = 8
const keyBytes = beforeKey.length + keyCharacters + afterKey.length
const quote = afterKey.charCodeAt(0)

/** The id of the key that the stored metadata names: the member before the signature. Parses nothing. */
export function namedKey(metadata: Uint8Array): string {
  const end = metadata.length - tailBytes
  const start = end - keyBytes
  // Metadata without it ends with a number.
  if (start < 0 || metadata[end - 1] !== quote) return firstEventKey
  const member = Buffer.from(metadata.subarray(start, end)).toString('latin1')
  return member.startsWith(beforeKey) ? member.slice(beforeKey.length, -afterKey.length) : firstEventKey
}

/**
 * HMAC-SHA-256 over the place, the stored data and the stored metadata without its last member. The place is a JSON
 * list, so its end is unambiguous. It contains the length of the data. So no two events have the same input.
 */
export function createSigner(key: KeyObject, id = firstEventKey): Signer {
  const authenticate = hmacSha256(key)
  const keyMember = id === firstEventKey ? '' : `${beforeKey}${id}${afterKey}`
  const tail = (
    { stream, revision, id, type }: SignedPlace,
    dataBytes: number,
    data: string | Uint8Array,
    metadata: string | Uint8Array,
  ): string => {
    const place = JSON.stringify([stream, String(revision), id, type, dataBytes])
    return `${beforeDigest}${authenticate([place, data, metadata])}${afterDigest}`
  }
  return {
    sign(place, data, metadata) {
      const begun = metadata.slice(0, -1) + keyMember
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

/** Bytes of a block of SHA-256. */
const blockBytes = 64

/**
 * HMAC-SHA-256 (RFC 2104) in base64url. Two one-shot hashes take half of the time of `createHmac`, which every read event
 * would need.
 */
function hmacSha256(key: KeyObject): (parts: readonly (string | Uint8Array)[]) => string {
  const secret = key.export()
  if (secret.length > blockBytes) throw new RangeError('the key of signatures is longer than a block')
  const padded = (byte: number): Buffer => {
    const pad = Buffer.alloc(blockBytes, byte)
    for (const [at, value] of secret.entries()) pad[at] = byte ^ value
    return pad
  }
  const [inner, outer] = [padded(0x36), padded(0x5c)]
  return (parts) => {
    const message = parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))
    const digest = Buffer.from(hash('sha256', Buffer.concat([inner, ...message]), 'hex'), 'hex')
    return hash('sha256', Buffer.concat([outer, digest]), 'base64url')
  }
}
