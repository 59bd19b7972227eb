import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomFillSync,
  type KeyObject,
} from 'node:crypto'
import { ConfigurationError } from '../configuration/profile-rules.ts'
import { MasterKeyError, parseMasterKeys } from '../vault/master-keys.ts'

const cipherName = 'aes-256-gcm'
export const nonceBytes = 12
export const tagBytes = 16

/** The bytes are not those that were sealed under this label with this key. */
export class SealedBytesError extends Error {
  override readonly name = 'SealedBytesError'
  readonly code = 'sealed-bytes'
}

/** One key of `BACKUP_KEYS`, as two keys that are derived from it. */
export class BackupKey {
  readonly id: string
  readonly #content: KeyObject
  readonly #names: KeyObject

  constructor(id: string, key: KeyObject) {
    this.id = id
    this.#content = derived(key, 'backup content')
    this.#names = derived(key, 'backup names')
  }

  /**
   * The name of bytes with this SHA-256. Equal bytes have equal names. Without the key a name says nothing about the
   * bytes.
   */
  nameOf(sha256: Uint8Array): string {
    return createHmac('sha256', this.#names).update(sha256).digest('hex')
  }

  /** The label is not stored. So bytes in the place of others do not open. */
  seal(label: string, bytes: Uint8Array): Buffer {
    const sealed = Buffer.alloc(nonceBytes + bytes.length + tagBytes)
    sealed.set(bytes, nonceBytes)
    this.sealInPlace(label, sealed)
    return sealed
  }

  /** The same for bytes that have room for the nonce before them, and for the tag behind them. */
  sealInPlace(label: string, room: Buffer): void {
    const nonce = randomFillSync(room.subarray(0, nonceBytes))
    const cipher = createCipheriv(cipherName, this.#content, nonce).setAAD(Buffer.from(label))
    const end = room.length - tagBytes
    for (const piece of piecesOf(room.subarray(nonceBytes, end))) piece.set(cipher.update(piece))
    cipher.final()
    room.set(cipher.getAuthTag(), end)
  }

  /** Opens bytes in their place. @throws SealedBytesError; then their content is lost */
  open(label: string, sealed: Buffer): Buffer {
    const end = sealed.length - tagBytes
    if (end < nonceBytes) throw new SealedBytesError('the bytes are cut')
    const decipher = createDecipheriv(cipherName, this.#content, sealed.subarray(0, nonceBytes))
    decipher.setAAD(Buffer.from(label)).setAuthTag(sealed.subarray(end))
    const opened = sealed.subarray(nonceBytes, end)
    for (const piece of piecesOf(opened)) piece.set(decipher.update(piece))
    try {
      decipher.final()
    } catch (error) {
      throw new SealedBytesError('the bytes were changed, or belong elsewhere', { cause: error })
    }
    return opened
  }
}

/** Small results of a cipher are cheap: their memory is used again at once. Results of 4 MiB took most of the time. */
const pieceBytes = 64 * 1024

function* piecesOf(bytes: Buffer): Generator<Buffer, void, undefined> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

/** The first key seals. The others open older backups. */
export interface BackupKeys {
  readonly newest: BackupKey
  readonly byId: ReadonlyMap<string, BackupKey>
}

/** @throws ConfigurationError without keys, or if they have another form */
export function readBackupKeys(text: string | undefined): BackupKeys {
  if (text === undefined)
    throw new ConfigurationError(
      'BACKUP_KEYS must be set: backups are encrypted. It has the form of MASTER_KEYS. Keep a copy of it apart from the backups',
    )
  try {
    const ring = parseMasterKeys(text)
    const byId = new Map([...ring.byId].map(([id, { key }]) => [id, new BackupKey(id, key)]))
    return { newest: byId.get(ring.wrapWith.id) ?? new BackupKey(ring.wrapWith.id, ring.wrapWith.key), byId }
  } catch (error) {
    if (error instanceof MasterKeyError) throw new ConfigurationError(`BACKUP_KEYS: ${error.message}`)
    throw error
  }
}

function derived(key: KeyObject, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, 32)))
}
