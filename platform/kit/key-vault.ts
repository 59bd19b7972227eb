/** What the codec needs from the vault; `platform/vault/` implements it. Keys never stand in the event store. */
export interface KeyVault {
  /**
   * The subject's data key (32 bytes), made and durable before this resolves when there is none yet.
   * `'destroyed'` when the subject was erased.
   */
  subjectKeyForWriting(orgId: string, subjectId: string): Promise<Uint8Array | 'destroyed'>
  /** The subject's data key, `'destroyed'` when erased; rejects with `MissingKeyError` when a key that must exist is missing. */
  subjectKeyForReading(orgId: string, subjectId: string): Promise<Uint8Array | 'destroyed'>
  /** What `subjectKeyForReading` would resolve to, when that is known without asking the database. Keeps decoding synchronous. */
  cachedSubjectKey?(orgId: string, subjectId: string): Uint8Array | 'destroyed' | undefined
  /** Key of the HMAC that signs each event's metadata (32 bytes). */
  eventSigningKey(): Promise<Uint8Array>
}

/** A key that must exist is not in the vault. Never read as an erasure: only a destroyed key is one. */
export class MissingKeyError extends Error {
  override readonly name = 'MissingKeyError'
  readonly code = 'missing-key'

  constructor(kind: string, id: string) {
    super(`the vault holds no ${kind} key ${id}`)
  }
}
