/** What the codec needs from the vault; implemented by `platform/vault`. Keys never stand in the event store. */
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

/** Names, codes and counts, never event data; a logger that keeps members by a list must have these on it. */
export interface StoreLogFields {
  readonly category?: string
  readonly subscription?: string
  readonly attempt?: number
  readonly reason?: string
}

/** The part of a pino logger that the store uses. */
export interface StoreLogger {
  warn(fields: StoreLogFields, message: string): void
  error(fields: StoreLogFields, message: string): void
}
