import type { KeyObject } from 'node:crypto'
import type { Position } from './positions.ts'

/** The data key of a subject (32 bytes), or `'destroyed'` after its erasure. */
export type SubjectKey = KeyObject | 'destroyed'

/** The codec's view of the vault; `platform/vault/` implements it. The event store never contains keys. */
export interface KeyVault {
  /** The subject's data key. A missing key is created and durable before this resolves. */
  subjectKeyForWriting(orgId: string, subjectId: string): Promise<SubjectKey>
  /** The subject's data key. Rejects with `MissingKeyError` if a required key is missing. */
  subjectKeyForReading(orgId: string, subjectId: string): Promise<SubjectKey>
  /** The result of `subjectKeyForReading` if it is known without the database. Keeps decoding synchronous. */
  cachedSubjectKey?(orgId: string, subjectId: string): SubjectKey | undefined
  /** The keys that sign events, as the database has them now. The newest one comes first, and signs. */
  eventKeys(): Promise<readonly EventKey[]>
}

/** A key of the HMAC that signs events. */
export interface EventKey {
  /** `firstEventKey`, or eight characters of base64url. */
  readonly id: string
  /** 32 bytes. */
  readonly key: KeyObject
  /** Undefined of the newest key, and of an older one while its rotation is not complete. */
  readonly end: EventKeyEnd | undefined
}

/** Where a newer key was in use everywhere. What the older one signed later does not count, but for a minute. */
export interface EventKeyEnd {
  readonly position: Position
  /** By the clock of the event store. */
  readonly at: Date
}

/** Events do not name it. Those of later keys have the member `key`. */
export const firstEventKey = 'first'

/** The only key of an installation that never rotated it. */
export function onlyEventKey(key: KeyObject): readonly EventKey[] {
  return [{ id: firstEventKey, key, end: undefined }]
}

/** A required key is not in the vault. This never counts as an erasure: only a destroyed key does. */
export class MissingKeyError extends Error {
  override readonly name = 'MissingKeyError'
  readonly code = 'key-missing'

  constructor(kind: string, id: string) {
    super(`the vault holds no ${kind} key ${id}`)
  }
}

/** What a key pair of the vault signs. Keys of one purpose never verify what those of another signed. */
export const signingPurposes = ['token', 'receipt', 'actor-context', 'provenance'] as const
export type SigningPurpose = (typeof signingPurposes)[number]

/** Kinds of secrets of which the newest one writes and all others still read. */
export const turningKinds = ['unsubscribe'] as const
export type TurningKind = (typeof turningKinds)[number]

/** Purposes whose signatures are checked years later. All their keys stay published. */
export const lastingPurposes: readonly SigningPurpose[] = ['receipt', 'provenance']
