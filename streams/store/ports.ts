/** What the codec needs from the vault; implemented by `platform/vault`. Keys never stand in the event store. */
export interface KeyVault {
  /**
   * The subject's data key (32 bytes), made and durable before this resolves when there is none yet.
   * `'destroyed'` when the subject was erased.
   */
  subjectKeyForWriting(orgId: string, subjectId: string): Promise<Uint8Array | 'destroyed'>
  /** The subject's data key, `'destroyed'` when erased; rejects when a key that must exist is missing. */
  subjectKeyForReading(orgId: string, subjectId: string): Promise<Uint8Array | 'destroyed'>
  /** Key of the HMAC that signs each event's metadata (32 bytes). */
  eventSigningKey(): Promise<Uint8Array>
}
