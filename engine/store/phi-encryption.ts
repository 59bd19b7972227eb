import type { KeyObject } from 'node:crypto'
import { readJsonText } from '../../platform/kit/json-reading.ts'
import { openBytes, sealBytes } from '../../platform/kit/sealed-bytes.ts'

/** Stored form of an encrypted member: base64url of the sealed JSON. */
export interface SealedMember {
  readonly $phi: string
}

/** Binds a ciphertext to its place, so that it cannot be moved to another stream, event type or member. */
export function memberPlace(stream: string, type: string, member: string): string {
  return `${stream}\n${type}\n${member}`
}

/** Encrypts one JSON value. */
export function sealMember(key: KeyObject, place: string, value: unknown): SealedMember {
  const sealed = sealBytes(key, place, Buffer.from(JSON.stringify(value), 'utf8'))
  return { $phi: sealed.toString('base64url') }
}

/** Reverses `sealMember`. Throws if the key differs, or if the ciphertext was changed or moved. */
export function openMember(key: KeyObject, place: string, sealed: SealedMember): unknown {
  return readJsonText(openBytes(key, place, bytesOf(sealed)).toString('utf8'))
}

export function bytesOf(sealed: SealedMember): Buffer {
  return Buffer.from(sealed.$phi, 'base64url')
}

export function isSealed(value: unknown): value is SealedMember {
  return typeof value === 'object' && value !== null && '$phi' in value && typeof value.$phi === 'string'
}
