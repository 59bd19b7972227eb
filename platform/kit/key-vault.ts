/** The codec's view of the vault; `platform/vault/` implements it. The event store never contains keys. */
export interface KeyVault {
  /**
   * The subject's data key (32 bytes). A missing key is created and durable before this resolves. `'destroyed'` if the
   * subject was erased.
   */
  subjectKeyForWriting(orgId: string, subjectId: string): Promise<Uint8Array | 'destroyed'>
  /** The subject's data key, `'destroyed'` if erased. Rejects with `MissingKeyError` if a required key is missing. */
  subjectKeyForReading(orgId: string, subjectId: string): Promise<Uint8Array | 'destroyed'>
  /** The result of `subjectKeyForReading` if it is known without the database. Keeps decoding synchronous. */
  cachedSubjectKey?(orgId: string, subjectId: string): Uint8Array | 'destroyed' | undefined
  /** Key of the HMAC that signs each event's metadata (32 bytes). */
  eventSigningKey(): Promise<Uint8Array>
}

/** A required key is not in the vault. This never counts as an erasure: only a destroyed key does. */
export class MissingKeyError extends Error {
  override readonly name = 'MissingKeyError'
  readonly code = 'missing-key'

  constructor(kind: string, id: string) {
    super(`the vault holds no ${kind} key ${id}`)
  }
}

/** The tokens that a key pair of the vault signs. Keys of one purpose never verify tokens of another. */
export const signingPurposes = ['token', 'receipt', 'actor-context'] as const
export type SigningPurpose = (typeof signingPurposes)[number]
