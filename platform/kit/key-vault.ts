import type { KeyObject } from 'node:crypto'

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
  /** Key of the HMAC that signs each event's metadata (32 bytes). */
  eventSigningKey(): Promise<KeyObject>
}

/** A required key is not in the vault. This never counts as an erasure: only a destroyed key does. */
export class MissingKeyError extends Error {
  override readonly name = 'MissingKeyError'
  readonly code = 'missing-key'

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
